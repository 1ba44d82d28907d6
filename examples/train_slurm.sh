#!/usr/bin/env bash
#SBATCH --job-name=regard
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
#
# Train one model on the hosts of a Slurm job:
#
#   sbatch --nodes 4 --cpus-per-task 16 examples/train_slurm.sh pairs.tsv --languages en-fr --out /shared/model
#
# With GPUs: sbatch --gpus-per-node 4 … (one process for each).
# TERM@120 saves and stops the run two minutes before the time limit. A requeued job has the same number: it
# continues its run. The folder after --out must be the same one on all hosts.
set -euo pipefail
export OMP_NUM_THREADS=1 # a process has one core
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
exec srun --kill-on-bad-exit=1 torchrun \
  --nnodes "$SLURM_NNODES" --nproc-per-node "${SLURM_GPUS_ON_NODE:-$SLURM_CPUS_PER_TASK}" \
  --rdzv-backend c10d --rdzv-endpoint "$head:$((20000 + SLURM_JOB_ID % 20000))" \
  --rdzv-id "slurm-$SLURM_JOB_ID" --max-restarts 3 \
  -m regard train "$@"
