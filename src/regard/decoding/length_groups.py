"""Sentences of similar length together, as both engines search them."""

from __future__ import annotations

from collections.abc import Sequence

from regard.config import SearchOptions

MANY_SENTENCES = 64  # per core, from which on each core takes whole groups of sentences


def length_groups(
    lengths: Sequence[int], settings: SearchOptions, num_cores: int = 1
) -> list[list[int]]:
    """Indices of sentences of similar length, as many together as `batch_tokens` allows.

    Many sentences make at least as many groups as there are cores. A deterministic search has
    each sentence by itself.
    """
    width = settings.n_best if settings.sample else settings.beam
    most = settings.batch_tokens
    if settings.deterministic:
        return [[index] for index in range(len(lengths))]
    if len(lengths) >= num_cores * MANY_SENTENCES:
        most = min(most, -(-(sum(lengths) + len(lengths)) * width // num_cores))
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda n: lengths[n]):
        full = not groups or (len(groups[-1]) + 1) * (lengths[index] + 1) * width > most
        if full:
            groups.append([])
        groups[-1].append(index)
    return groups[::-1]  # the longest first, so that the last ones to finish are short
