"""Several processes of one training run, with or without torchrun."""

import os
import subprocess
import sys

import torch

from processes import Process

TRAIN_EACH = """
import json, sys
from regard.cli.train import parse
from regard.tasks import find_task
from regard.training.ranks import joined
from regard.training.report import Silent
from regard.training.run import follow, train_from_files
from regard.training.task import TrainRequest

with joined() as ranks:
    for words in json.loads(sys.argv[1]):
        given = parse(words)
        task = find_task(given.given["model"]["kind"])
        if ranks.leads:
            request = TrainRequest(given.files, given.out, given.dev, given.given, given.preset)
            train_from_files(task, request, Silent(), ranks)
        else:
            follow(task, given.out, ranks)
"""
"""Trains with each of a list of arguments of `regard train`, one after another."""


def start_ranks(*words, number=2, code=None, cwds=(), **env):
    """Processes with what torchrun gives each: its number and a meeting place."""
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    given = {
        "WORLD_SIZE": str(number), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True", **env,
    }  # fmt: skip
    ranks = [
        Process(*words, code=code, cwd=cwds[rank] if cwds else ".", RANK=str(rank), **given)
        for rank in range(number)
    ]
    ranks[0].store = store  # which ends with its last user
    return ranks


def ended(ranks):
    """The exit codes of processes, and what each wrote to stderr."""
    errors = [rank.communicate(timeout=120)[1] for rank in ranks]
    return [rank.returncode for rank in ranks], errors


def together(*words, **options):
    """`regard` in two processes: the largest exit code, and all that they wrote to stderr."""
    codes, errors = ended(start_ranks(*words, **options))
    return max(map(abs, codes)), "\n".join(errors)


def torchrun_command(*words, number=2, flags=()):
    """The command that starts `regard` in processes of torchrun."""
    return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(number),
            "--standalone", *flags, "-m", "regard", *map(str, words)]  # fmt: skip


def torchrun(*words):
    """`regard` in two processes that torchrun starts: exit code and what it wrote to stderr."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        torchrun_command(*words), capture_output=True, text=True, env=env, timeout=300
    )
    return done.returncode, done.stderr
