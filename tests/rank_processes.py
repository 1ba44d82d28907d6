"""Several processes of one training run, with or without torchrun."""

import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from processes import Process

TRAIN_EACH = """
import json, sys
from pathlib import Path
from regard.cli.train import _resumed, parse
from regard.tasks import find_task
from regard.training.processes.ranks import joined
from regard.training.report import Silent
from regard.training.run import follow, resume, train_from_files
from regard.training.task import TrainRequest

with joined() as ranks:
    for words in json.loads(sys.argv[1]):
        given = parse(words)
        task = find_task(given.given["model"]["kind"])
        if given.resume:
            out, run = Path(given.resume), _resumed(given.resumed, given.given)
            if ranks.leads:
                resume(task, out, run, Silent(), ranks)
            else:
                follow(task, out, ranks, run)
        elif ranks.leads:
            request = TrainRequest(given.files, given.out, given.dev, given.given, given.preset)
            train_from_files(task, request, Silent(), ranks)
        else:
            follow(task, given.out, ranks)
"""
"""Trains with each of a list of arguments of `regard train`, one after another."""

IN_FLOAT64 = "import torch; torch.set_default_dtype(torch.float64)\n"
"""Before code: networks are float64, and so are their gradients, moments and files."""

REGARD_IN_FLOAT64 = f"{IN_FLOAT64}import sys; from regard.cli import main; sys.exit(main())"
"""`regard` whose networks are float64."""

ATOL = 1e-9
"""How far weights may be apart that float64 computed in another order.

Gradients of these models differ by less than 1e-15 then. Adam divides by at least its eps, 1e-9,
so an update, whose rate is at most 1e-3 here, differs by less than 1e-9 even where the gradient
itself is nothing but rounding, as that of the keys' bias is. Seen are 9e-12. In float32 such a
gradient is 1e-8 and more: then Adam divides it by itself, and its sign is that of the rounding.
"""


def start_ranks(*words, number=2, code=None, cwds=(), **env):
    """Processes with what torchrun gives each: its number and a meeting place."""
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    given = {
        "WORLD_SIZE": str(number),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(store.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        **env,
    }
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


def assert_same_run(one, two):
    """The same updates of two runs in float64: losses, moments of the gradients, and weights."""
    figures = [json.loads((path / "metrics.json").read_text()) for path in (one, two)]
    assert figures[0]["steps"] == figures[1]["steps"]
    if "dev" in figures[0]:
        assert figures[0]["dev"]["loss"] == pytest.approx(figures[1]["dev"]["loss"], abs=1e-6)
    logs = [(path / "metrics.jsonl").read_text().splitlines() for path in (one, two)]
    first, other = (next(json.loads(line) for line in log if '"loss"' in line) for log in logs)
    for figure in ("step", "loss", "norm"):  # of the first update, and of its gradient
        assert first[figure] == pytest.approx(other[figure], rel=1e-12), figure
    moments = [path / "checkpoints" / f"step-{figures[0]['steps']}" for path in (one, two)]
    moments = [path / "tensors.safetensors" for path in moments]
    if all(path.is_file() for path in moments):  # of whole tensors, not of the parts of processes
        averages = [
            {name: tensor for name, tensor in load_file(path).items() if "exp_avg" in name}
            for path in moments
        ]
        assert averages[0] and averages[0].keys() == averages[1].keys()
        for name, tensor in averages[0].items():  # of gradients, which Adam has not divided yet
            torch.testing.assert_close(averages[1][name], tensor, atol=1e-13, rtol=1e-9)
    weights = [load_file(path / "model.safetensors") for path in (one, two)]
    assert weights[0].keys() == weights[1].keys()
    for name, tensor in weights[0].items():
        assert tensor.dtype in (torch.float64, torch.int64, torch.bool), (name, tensor.dtype)
        torch.testing.assert_close(weights[1][name], tensor, atol=ATOL, rtol=ATOL)


def torchrun_command(*words, number=2, flags=(), code=None):
    """The command that starts `regard`, or `python -c CODE`, in processes of torchrun."""
    program = ["--no-python", sys.executable, "-c", code] if code else ["-m", "regard"]
    return [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        str(number),
        "--standalone",
        *flags,
        *program,
        *map(str, words),
    ]


def torchrun(*words, code=None):
    """`regard` in two processes that torchrun starts: exit code and what it wrote to stderr."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        torchrun_command(*words, code=code), capture_output=True, text=True, env=env, timeout=300
    )
    return done.returncode, done.stderr
