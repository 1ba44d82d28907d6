"""Cost of a decoding step: its seconds, and the bytes of a mechanism's cache."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.mechanisms import MECHANISMS, Mechanism

HEADS, WIDTH = 8, 64
AT = (100, 1_000, 10_000)
NUM_TIMED = 40  # tokens timed at each length


@dataclass(frozen=True)
class DecodeStepCost:
    """Seconds of one step and bytes of the cache, `at` these lengths."""

    at: tuple[int, ...]
    seconds: tuple[float, ...]
    bytes: tuple[int, ...]


def decode_step_cost(name: str, at: tuple[int, ...] = AT) -> DecodeStepCost:
    """Decode token by token, and time the steps at some lengths."""
    mechanism = MECHANISMS[name](at[-1] + NUM_TIMED, HEADS, WIDTH).eval()
    torch.manual_seed(0)
    tokens = [torch.randn(1, HEADS, 64, WIDTH) for _ in range(3)]
    seconds: list[float] = []
    sizes: list[int] = []
    with torch.inference_mode():
        empty = tokens[0][..., :0, :]
        cache = mechanism.empty(empty, empty)
        length = 0
        for stop in at:
            if stop - length > 1:  # up to this length at once, as a prompt
                prompt = [torch.randn(1, HEADS, stop - length, WIDTH) for _ in range(3)]
                cache, length = _step(mechanism, prompt, cache), stop
            times = []
            for number in range(NUM_TIMED):
                token = [x[..., number : number + 1, :] for x in tokens]
                start = time.perf_counter()
                cache = _step(mechanism, token, cache)
                times.append(time.perf_counter() - start)
            length += NUM_TIMED
            seconds.append(statistics.median(times))
            sizes.append(cache_bytes(cache))
    return DecodeStepCost(at, tuple(seconds), tuple(sizes))


def _step(mechanism: Mechanism, tokens: list[Tensor], cache: Any) -> Any:
    """The cache after these tokens."""
    following = mechanism.decode_step(tokens[0], tokens[1], tokens[2], cache).cache
    assert following is not None
    return following


def cache_bytes(cache: Any) -> int:
    """Bytes of all tensors in a cache."""
    if isinstance(cache, Tensor):
        return cache.numel() * cache.element_size()
    if is_dataclass(cache):
        return sum(cache_bytes(getattr(cache, part.name)) for part in fields(cache))
    return sum(map(cache_bytes, cache)) if isinstance(cache, tuple) else 0
