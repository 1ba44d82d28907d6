"""Greedy search: the most probable token at every step; of equal ones the lower id."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.ranking import top_k
from regard.decoding.request import SearchRequest
from regard.decoding.step_loop import collect, decode_steps
from regard.decoding.step_model import StepModel


def argmax(logs_RV: Tensor, rows: Sequence[int]) -> Tensor:
    """(R,): each row's most probable token."""
    return top_k(logs_RV, 1)[1][:, 0]


def greedy(
    model: StepModel, request: SearchRequest, *, length_penalty: float = 1.0
) -> list[Hypothesis]:
    """Return one hypothesis per sentence; the length penalty affects its score only."""
    return collect(decode_steps(model, request, argmax), len(request), length_penalty)
