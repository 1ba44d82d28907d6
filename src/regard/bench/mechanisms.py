"""`regard bench mechanisms`: every mechanism of self-attention through the same shapes.

Of each: its error against full attention, and how time and memory grow with the length. Growth is
the slope of a straight line through log time (log memory) over log length.
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
from regard.bench.row import Row
from regard.bench.stepping import Stepped, stepped
from regard.errors import InputError

HEADS, WIDTH = 8, 64
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
LONG = 2.0  # seconds above which one run is as telling as several
NORMALIZERS = "normalizers"
ALONE = "ring"  # in one process it is full attention; over several, `regard.bench.ring` runs it


@dataclass(frozen=True)
class Measured:
    """What was found of one mechanism.

    error      ‖context − exact‖ / ‖exact‖ over the given tensors
    lengths    the lengths it was timed at
    seconds    forward and backward at each, the median
    megabytes  peak of a fresh process at each length, without what any such process takes
    growth     exponents of time and memory
    steps      word by word: seconds and bytes at some words
    given      seconds over the given tensors, forward and backward
    """

    name: str
    declared: dict[str, Any]
    error: float | None
    lengths: tuple[int, ...] = ()
    seconds: tuple[float, ...] = ()
    megabytes: tuple[float, ...] = ()
    growth: dict[str, float] = field(default_factory=dict)
    steps: Stepped | None = None
    given: float | None = None

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def measure(
    name: str,
    tensors: tuple[Tensor, Tensor, Tensor],
    lengths: Sequence[int],
    repeats: int,
    *,
    causal: bool,
) -> Measured | None:
    """All figures of one mechanism; None if it cannot be causal and is asked to."""
    mechanism = MECHANISMS[name](tensors[0].shape[-2], tensors[0].shape[-3], tensors[0].shape[-1])
    declared = mechanism.facts
    if causal and not declared.masks & {"causal", "any"}:
        return None
    plain = {**asdict(declared), "masks": sorted(declared.masks)}
    error = error_against_exact(mechanism, tensors, causal=causal)
    over_given = _time(_runner(mechanism, tensors, causal), repeats)
    times = [_time(_drawn_runner(name, length, causal), repeats) for length in lengths]
    base = peak_megabytes(_nothing)
    memory = [max(1.0, peak_megabytes(once, name, n, causal) - base) for n in lengths]
    growth = {}
    if len(lengths) > 1:
        growth = {"time": slope(lengths, times), "memory": slope(lengths, memory)}
    steps = stepped(name) if declared.cache else None
    return Measured(
        name, plain, error, tuple(lengths), tuple(times), tuple(memory), growth, steps, over_given
    )  # fmt: skip


def measure_ring(found: ring.Found, lengths: Sequence[int]) -> Measured:
    """The same of ring attention, as its processes found it."""
    declared = {**asdict(Ring.facts), "masks": sorted(Ring.facts.masks)}
    growth = {}
    if len(lengths) > 1:
        growth = {"time": slope(lengths, found.seconds), "memory": slope(lengths, found.megabytes)}
    error = found.differences["forward"]
    return Measured(
        "ring",
        declared,
        error,
        tuple(lengths),
        tuple(found.seconds),
        tuple(found.megabytes),
        growth,
    )


def error_against_exact(
    mechanism: Mechanism, tensors: tuple[Tensor, Tensor, Tensor], *, causal: bool
) -> float:
    """‖context − exact‖ / ‖exact‖; a mechanism whose keys are its queries is held to just that."""
    query, key, value = tensors
    key = query if mechanism.shares_query else key
    mask = Mask.causal() if causal else None
    mechanism.eval()
    with torch.no_grad():
        compared = _unit(key) if mechanism.shares_query else key
        exact = attend(query, compared, value, score=ScaledDot(), mask=mask).context
        found = mechanism(query, key, value, mask=mask).context
    return float((found - exact).norm() / exact.norm())


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
    """Query, key and value (1, 8, n, 64), drawn alike every time."""
    generator = torch.Generator().manual_seed(0)
    drawn = (
        torch.randn(1, HEADS, length, WIDTH, generator=generator, dtype=dtype) for _ in range(3)
    )
    query, key, value = (x.requires_grad_() for x in drawn)
    return query, key, value


def once(name: str, length: int, causal: bool = False) -> None:
    """Forward and backward, one time."""
    _drawn_runner(name, length, causal)()


def read_tensors(path: str | Path) -> tuple[Tensor, Tensor, Tensor]:
    """The user's query, key and value from a safetensors file, each (…, n, d) with its heads.

    One tensor alone (of any name) stands for all three.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        found = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: the tensors cannot be read ({error}).") from error
    names = ("query", "key", "value")
    if len(found) == 1:
        found = dict.fromkeys(names, next(iter(found.values())))
    missing = [name for name in names if name not in found]
    if missing:
        listed = ", ".join(sorted(found)) or "nothing"
        raise InputError(
            f"{path}: there is no {missing[0]} in it, but {listed}; name the tensors query, key "
            "and value, or give one for all three."
        )
    shaped = []
    for name in names:
        x = found[name].float()
        if not 2 <= x.ndim <= 4 or not x.numel():
            raise InputError(
                f"{path}: {name} must have shape (n, d), (heads, n, d) or (batch, heads, n, d), "
                f"but {tuple(x.shape)} came."
            )
        if not bool(torch.isfinite(x).all()) or not bool(x.any()):
            raise InputError(f"{path}: {name} must hold finite numbers, and not only zeros.")
        shaped.append(x.reshape(*[1] * (4 - x.ndim), *x.shape))
    query, key, value = shaped
    if query.shape != key.shape or query.shape[:-1] != value.shape[:-1]:
        raise InputError(
            f"{path}: query {tuple(query.shape)}, key {tuple(key.shape)} and value "
            f"{tuple(value.shape)} must be of one length, as self-attention's are."
        )
    return query, key, value


def bars(found: Sequence[Measured]) -> list[Row]:
    """What the figures are held against, as far as they were measured."""
    rows = []
    for one in found:
        if one.lengths and one.lengths[-1] == LENGTHS[-1] and one.lengths[0] == LENGTHS[0]:
            if one.name in ("local", "blockwise", "linear"):
                peak = peak_megabytes(once, one.name, LENGTHS[-1])
                name = f"{one.name}, n 16384: peak megabytes of a fresh process"
                rows.append(Row(name, peak, None, None, "<=", 1300.0))
            if one.name in ("local", "linear"):
                name = f"{one.name}: exponent of time, n 512 … 16384"
                rows.append(Row(name, one.growth["time"], None, None, "<=", 1.15))
        if one.name == "linear" and one.steps is not None:
            first, last = one.steps.seconds[0], one.steps.seconds[-1]
            name = "linear, word by word: seconds at word 10,000 over those at word 100"
            rows.append(Row(name, last, first, last / first, "<=", 1.25))
            first, last = one.steps.bytes[0], one.steps.bytes[-1]
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


def _nothing() -> None:
    """What any process takes: torch, and one small product."""
    once("full", 8)


def chosen(only: str) -> list[str]:
    """The mechanisms whose name contains `only`."""
    names = [name for name in MECHANISMS if only.lower() in name and name != ALONE]
    if not names and only.lower() not in ALONE and only.lower() not in NORMALIZERS:
        raise InputError(
            f"no mechanism's name contains {only!r}; there are: {', '.join(MECHANISMS)}."
        )
    return names
