"""Greedy search: at every step the most probable token, of equal ones the one with the lower id."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.ranking import best
from regard.decoding.request import Request
from regard.decoding.walk import collected, walk
from regard.decoding.writer import Writer


def most_probable(logs_RV: Tensor, rows: Sequence[int]) -> Tensor:
    """(R,): each row's best token."""
    return best(logs_RV, 1)[1][:, 0]


def greedy(writer: Writer, request: Request, *, length_penalty: float = 1.0) -> list[Hypothesis]:
    """One hypothesis for each sentence; the length penalty is for its score alone."""
    return collected(walk(writer, request, most_probable), len(request), length_penalty)
