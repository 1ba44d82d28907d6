"""What the next word costs after many: seconds and bytes of a mechanism's cache."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.mechanisms import MECHANISMS

HEADS, WIDTH = 8, 64
AT = (100, 1_000, 10_000)
AROUND = 40  # words timed at each place


@dataclass(frozen=True)
class Stepped:
    """Seconds for one word and bytes held, `at` so many words."""

    at: tuple[int, ...]
    seconds: tuple[float, ...]
    bytes: tuple[int, ...]


def stepped(name: str, at: tuple[int, ...] = AT) -> Stepped:
    """Write word after word, and look at the clock now and then."""
    last = at[-1] + AROUND
    mechanism = MECHANISMS[name](last, HEADS, WIDTH).eval()
    torch.manual_seed(0)
    words = [torch.randn(1, HEADS, 64, WIDTH) for _ in range(3)]
    taken: list[float] = []
    held: list[int] = []
    with torch.inference_mode():
        empty = words[0][..., :0, :]
        cache = mechanism.empty(empty, empty)
        place = 0
        for stop in at:
            if stop - place > 1:  # up to here at once, as a prompt is read
                many = stop - place
                prompt = [torch.randn(1, HEADS, many, WIDTH) for _ in range(3)]
                found = mechanism.decode_step(prompt[0], prompt[1], prompt[2], cache).cache
                assert found is not None
                cache, place = found, stop
            times = []
            for number in range(AROUND):
                query, key, value = (x[..., number : number + 1, :] for x in words)
                start = time.perf_counter()
                found = mechanism.decode_step(query, key, value, cache).cache
                times.append(time.perf_counter() - start)
                assert found is not None
                cache = found
            place += AROUND
            taken.append(statistics.median(times))
            held.append(bytes_of(cache))
    return Stepped(at, tuple(taken), tuple(held))


def bytes_of(held: Any) -> int:
    """Bytes of all tensors in a cache."""
    if isinstance(held, Tensor):
        return held.numel() * held.element_size()
    if is_dataclass(held):
        return sum(bytes_of(getattr(held, part.name)) for part in fields(held))
    return sum(map(bytes_of, held)) if isinstance(held, tuple) else 0
