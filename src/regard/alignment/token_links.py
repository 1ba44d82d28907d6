"""Links between words, or any characters of two texts, as links between their tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int]
"""Begin and end of characters."""


def token_links(
    links: Iterable[tuple[int, int, int, int]],
    query_spans: Sequence[Span],
    key_spans: Sequence[Span],
) -> NDArray[np.int32]:
    """(n, 2): all pairs of a query token and a key token that have characters of a link.

    links        begin and end of the query's characters, and of the key's
    query_spans  of the query's tokens, in order (`Tokenizer.spans`); key_spans of the key's

    >>> token_links([(0, 3, 4, 7)], [(0, 2), (2, 3), (4, 7)], [(0, 3), (4, 7)]).tolist()
    [[0, 1], [1, 1]]
    """
    query_ends = [end for _, end in query_spans]
    key_ends = [end for _, end in key_spans]
    pairs = {
        (query, key)
        for query_start, query_end, key_start, key_end in links
        for query in _overlapping(query_spans, query_ends, query_start, query_end)
        for key in _overlapping(key_spans, key_ends, key_start, key_end)
    }
    return np.array(sorted(pairs), np.int32).reshape(-1, 2)


def _overlapping(spans: Sequence[Span], ends: Sequence[int], start: int, end: int) -> range:
    """The tokens that have characters from `start` to `end`."""
    first = last = bisect_right(ends, start)
    while last < len(spans) and spans[last][0] < end:
        last += 1
    return range(first, last)
