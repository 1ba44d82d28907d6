#!/usr/bin/env bash
# Train one model on several hosts: run this with the same arguments on each of them.
#
#   HOSTS=2 HEAD=host-a:29400 RUN=first examples/train_hosts.sh pairs.tsv --languages en-fr --out /shared/model
#
# HOSTS      number of hosts
# HEAD       one of the hosts and a free port there, where all meet
# RUN        a name, the same on all; the command repeated under it continues its run
# PROCESSES  processes on each host; by default one for each GPU or, without GPUs, for each core
#
# The folder after --out must be the same one on all hosts.
set -euo pipefail
export OMP_NUM_THREADS=1 # a process has one core
exec torchrun \
  --nnodes "${HOSTS:?}" --nproc-per-node "${PROCESSES:-auto}" \
  --rdzv-backend c10d --rdzv-endpoint "${HEAD:?}" --rdzv-id "${RUN:?}" --max-restarts 3 \
  -m regard train "$@"
