"""`regard bench mechanisms`: figures of every mechanism of self-attention on the same shapes.

For each: its error against full attention, and how time and memory grow with the length. Growth is
the slope of log time (log memory) over log length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.attention import Mask, ScaledDot, attend
from regard.attention.mechanisms import MECHANISMS, Mechanism, Ring
from regard.bench import ring
from regard.bench.clock import peak_megabytes, seconds
from regard.bench.decode_steps import DecodeStepCost, decode_step_cost
from regard.bench.row import Row
from regard.errors import InputError

HEADS, WIDTH = 8, 64
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
LONG = 2.0  # seconds above which one run is precise enough
NORMALIZERS = "normalizers"
RING = "ring"  # in one process it is full attention; `regard.bench.ring` runs it over several


@dataclass(frozen=True)
class MechanismFigures:
    """Figures of one mechanism.

    error      ‖context − exact‖ / ‖exact‖ over the given tensors
    lengths    lengths it was timed at
    seconds    forward and backward at each, the median
    megabytes  peak of a new process at each length, less that of a process that does nothing
    growth     exponents of time and memory
    steps      cost of a decoding step at some lengths
    given      seconds over the given tensors, forward and backward
    """

    name: str
    declared: dict[str, Any]
    error: float | None
    lengths: tuple[int, ...] = ()
    seconds: tuple[float, ...] = ()
    megabytes: tuple[float, ...] = ()
    growth: dict[str, float] = field(default_factory=dict)
    steps: DecodeStepCost | None = None
    given: float | None = None


def measure(
    name: str,
    tensors: tuple[Tensor, Tensor, Tensor],
    lengths: Sequence[int],
    repeats: int,
    *,
    causal: bool,
) -> MechanismFigures | None:
    """All figures of one mechanism; None if `causal` and it cannot be."""
    mechanism = MECHANISMS[name](tensors[0].shape[-2], tensors[0].shape[-3], tensors[0].shape[-1])
    declared = mechanism.facts
    if causal and not declared.masks & {"causal", "any"}:
        return None
    plain = {**asdict(declared), "masks": sorted(declared.masks)}
    error = error_against_exact(mechanism, tensors, causal=causal)
    over_given = _time(_runner(mechanism, tensors, causal), repeats)
    times = [_time(_drawn_runner(name, length, causal), repeats) for length in lengths]
    base = peak_megabytes(once, "full", 8)  # torch itself
    memory = [max(1.0, peak_megabytes(once, name, n, causal) - base) for n in lengths]
    steps = decode_step_cost(name) if declared.cache else None
    return MechanismFigures(
        name,
        plain,
        error,
        tuple(lengths),
        tuple(times),
        tuple(memory),
        growth(lengths, times, memory),
        steps,
        over_given,
    )


def ring_mechanism_figures(figures: ring.RingFigures, lengths: Sequence[int]) -> MechanismFigures:
    """The figures of ring attention, from those of its processes."""
    declared = {**asdict(Ring.facts), "masks": sorted(Ring.facts.masks)}
    return MechanismFigures(
        RING,
        declared,
        figures.differences["forward"],
        tuple(lengths),
        tuple(figures.seconds),
        tuple(figures.megabytes),
        growth(lengths, figures.seconds, figures.megabytes),
    )


def growth(
    lengths: Sequence[int], seconds: Sequence[float], megabytes: Sequence[float]
) -> dict[str, float]:
    """Exponents of time and memory; none for a single length."""
    if len(lengths) < 2:
        return {}
    return {"time": slope(lengths, seconds), "memory": slope(lengths, megabytes)}


def error_against_exact(
    mechanism: Mechanism, tensors: tuple[Tensor, Tensor, Tensor], *, causal: bool
) -> float:
    """‖context − exact‖ / ‖exact‖, with keys = queries if the mechanism shares them."""
    query, key, value = tensors
    key = query if mechanism.shares_query else key
    mask = Mask.causal() if causal else None
    mechanism.eval()
    with torch.no_grad():
        compared = _unit(key) if mechanism.shares_query else key
        exact = attend(query, compared, value, score=ScaledDot(), mask=mask).context
        context = mechanism(query, key, value, mask=mask).context
    return float((context - exact).norm() / exact.norm())


def _unit(key: Tensor) -> Tensor:
    """Keys of length √d, as Reformer's are."""
    return torch.nn.functional.normalize(key, dim=-1) * math.sqrt(key.shape[-1])


def slope(lengths: Sequence[int], costs: Sequence[float]) -> float:
    """The exponent p of cost ≈ c · length^p, by least squares over the logarithms.

    >>> round(slope([100, 200, 400], [3.0, 12.0, 48.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(lengths), np.log(costs), 1)[0])


def inputs(length: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value (1, 8, n, 64), with a fixed seed."""
    generator = torch.Generator().manual_seed(0)
    drawn = (
        torch.randn(1, HEADS, length, WIDTH, generator=generator, dtype=dtype) for _ in range(3)
    )
    query, key, value = (x.requires_grad_() for x in drawn)
    return query, key, value


def once(name: str, length: int, causal: bool = False) -> None:
    """Run forward and backward once."""
    _drawn_runner(name, length, causal)()


def read_tensors(path: str | Path) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value from a safetensors file, each ([batch, heads,] n, d).

    A single tensor (of any name) is used for all three.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: cannot read the tensors ({error}).") from error
    names = ("query", "key", "value")
    if len(tensors) == 1:
        tensors = dict.fromkeys(names, next(iter(tensors.values())))
    missing = [name for name in names if name not in tensors]
    if missing:
        listed = ", ".join(sorted(tensors)) or "no tensors"
        raise InputError(
            f"{path}: there is no {missing[0]}, got {listed}; name the tensors query, key and "
            "value, or give one for all three."
        )
    shaped = []
    for name in names:
        x = tensors[name].float()
        if not 2 <= x.ndim <= 4 or not x.numel():
            raise InputError(
                f"{path}: {name} must have shape (n, d), (heads, n, d) or (batch, heads, n, d), "
                f"got {tuple(x.shape)}."
            )
        if not bool(torch.isfinite(x).all()) or not bool(x.any()):
            raise InputError(f"{path}: {name} must be finite and not all zeros.")
        shaped.append(x.reshape(*[1] * (4 - x.ndim), *x.shape))
    query, key, value = shaped
    if query.shape != key.shape or query.shape[:-1] != value.shape[:-1]:
        raise InputError(
            f"{path}: query, key and value must have one length, as in self-attention, "
            f"got {tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}."
        )
    return query, key, value


def bars(measured: Sequence[MechanismFigures]) -> list[Row]:
    """The bars of the figures that were measured."""
    rows = []
    for figures in measured:
        if figures.lengths[:1] == LENGTHS[:1] and figures.lengths[-1] == LENGTHS[-1]:
            if figures.name in ("local", "blockwise", "linear"):
                peak = peak_megabytes(once, figures.name, LENGTHS[-1])
                name = f"{figures.name}, n 16384: peak megabytes of a fresh process"
                rows.append(Row(name, peak, None, None, "<=", 1300.0))
            if figures.name in ("local", "linear"):
                name = f"{figures.name}: exponent of time, n 512 … 16384"
                rows.append(Row(name, figures.growth["time"], None, None, "<=", 1.15))
        if figures.name == "linear" and figures.steps is not None:
            first, last = figures.steps.seconds[0], figures.steps.seconds[-1]
            name = "linear, word by word: seconds at word 10,000 over those at word 100"
            rows.append(Row(name, last, first, last / first, "<=", 1.25))
            first, last = figures.steps.bytes[0], figures.steps.bytes[-1]
            name = "linear, word by word: bytes held at word 10,000 over those at word 100"
            rows.append(Row(name, last, first, last / first, "<=", 1.0))
    return rows


def _time(run: Callable[[], None], repeats: int) -> float:
    first = seconds([run], 1)[0]
    return first if first > LONG else seconds([run], repeats, warm=False)[0]


def _drawn_runner(name: str, length: int, causal: bool) -> Callable[[], None]:
    return _runner(MECHANISMS[name](length, HEADS, WIDTH), inputs(length), causal)


def _runner(
    mechanism: Mechanism, tensors: tuple[Tensor, Tensor, Tensor], causal: bool
) -> Callable[[], None]:
    query, key, value = (x.detach().requires_grad_() for x in tensors)
    mask = Mask.causal() if causal else None
    grad = torch.ones_like(value)

    def run() -> None:
        context = mechanism(query, key, value, mask=mask).context
        torch.autograd.grad(context, (query, key, value), grad, allow_unused=True)

    return run


def select_names(only: str) -> list[str]:
    """The mechanisms whose name contains `only`."""
    names = [name for name in MECHANISMS if only.lower() in name and name != RING]
    if not names and only.lower() not in RING and only.lower() not in NORMALIZERS:
        raise InputError(
            f"no mechanism's name contains {only!r}; choose from {', '.join(MECHANISMS)}."
        )
    return names
