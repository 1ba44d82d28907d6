"""Device and number format of training: whether this machine can multiply in bf16, and gains by it.

Some machines announce instructions (AMX) that they refuse: the first large product then kills the
process. So a process of its own tries it, once, and only if bf16 could be faster; if it dies, once
more without these instructions, which oneDNN reads from the environment at its first product.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path

import torch

_PROBE = """
import time, torch
torch.set_num_threads(1)
pairs = [[torch.randn(shape).to(kind) for shape in ((1024, 512), (512, 1024))]
         for kind in (torch.float32, torch.bfloat16)]
shortest = [float("inf")] * 2
for _ in range(16):
    for n, (a, b) in enumerate(pairs):
        start = time.perf_counter()
        a @ b
        shortest[n] = min(shortest[n], time.perf_counter() - start)
print(shortest[0] / shortest[1])
"""  # in turns and the shortest of each: another process on the core may slow some down

WORTH = 1.5  # bf16 products must be this much faster than fp32 ones to pay for their conversions


WITHOUT_AMX = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}


def bf16_gain(environment: Mapping[str, str]) -> float:
    """Return how many times faster than fp32 a bf16 product is on this CPU; 0 if it fails."""
    probe = subprocess.run(
        [sys.executable, "-c", _PROBE],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    return float(probe.stdout) if probe.returncode == 0 and probe.stdout else 0.0


@cache
def bf16_environment(least: float = WORTH) -> dict[str, str] | None:
    """Return the environment variables with which bf16 gains more than `least`; None if it cannot.

    They must be set before the process computes its first product.
    """
    if not _announced():
        return None
    for environment in ({}, WITHOUT_AMX):
        gain = bf16_gain(environment)
        if gain:
            return environment if gain > least else None
    return None


def choose_device(requested: str) -> torch.device:
    """Return the requested device or, with "auto", the best one there is."""
    if requested != "auto":
        return torch.device(requested)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def choose_precision(requested: str, device: torch.device) -> str:
    """Return fp32 or bf16, as requested or, with "auto", whichever is faster on this device."""
    if requested == "fp32" or device.type == "mps":
        return "fp32"
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    environment = bf16_environment(0.0 if requested == "bf16" else WORTH)
    if environment is None:
        return "fp32"
    os.environ.update(environment)
    return "bf16"


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Return a context in which products are in bf16, if that is the precision."""
    if precision == "bf16":
        return torch.autocast(device.type, torch.bfloat16)
    return nullcontext()


def _announced() -> bool:
    """Whether the CPU announces instructions for bf16."""
    try:
        text = Path("/proc/cpuinfo").read_text("ascii", errors="replace")
    except OSError:
        return False
    return "amx_bf16" in text or "avx512_bf16" in text
