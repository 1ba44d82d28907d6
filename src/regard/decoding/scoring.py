"""Log-probabilities of given outputs: forced decoding.

B sentences, T target tokens with EOS, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.decoding.hypothesis import Hypothesis, make_hypothesis
from regard.decoding.ranking import log_probabilities
from regard.decoding.request import SourceBatch, StepModel, device_of
from regard.errors import InputError
from regard.text import BOS, EOS, PAD


class ForcedBatch(NamedTuple):
    """Input of a model's `forward`: inputs (B, T) begin with BOS, labels (B, T) end in EOS."""

    source: SourceBatch | None
    inputs: Tensor
    labels: Tensor


@torch.inference_mode()
def score(
    model: StepModel,
    source: SourceBatch | None,
    targets: Sequence[Sequence[int]],
    *,
    length_penalty: float = 1.0,
) -> list[Hypothesis]:
    """Score given outputs (ids without specials), one for each sentence.

    Uses one call of the model's `forward(batch)` if it has one, else step by step.
    """
    if source is not None and len(targets) != len(source.tokens):
        raise InputError(
            f"targets must have one output for each of {len(source.tokens)} sentences, got "
            f"{len(targets)}."
        )
    if not targets:
        return []
    longest = max(map(len, targets)) + 1
    if longest > model.max_length:
        raise InputError(
            f"a target must have at most {model.max_length} tokens with EOS, the model's limit, "
            f"got {longest}; split it."
        )
    device = device_of(model, source)
    batch = ForcedBatch(
        source,
        _padded([[BOS, *target] for target in targets], longest).to(device),
        _padded([[*target, EOS] for target in targets], longest).to(device),
    )
    forward = _forward(model)
    if forward is None:
        logs_BT = _score_by_steps(model, batch)
    else:
        logs_BT = _label_logs(forward(batch).flatten(0, 1), batch.labels.flatten())
        logs_BT = logs_BT.view(batch.labels.shape)
    return [
        make_hypothesis([*target, EOS], logs[: len(target) + 1], length_penalty)
        for target, logs in zip(targets, logs_BT.tolist(), strict=True)
    ]


def _forward(model: StepModel) -> Callable[[Any], Tensor] | None:
    """Return the model's `forward`, unless it is the empty one of every torch module."""
    if getattr(type(model), "forward", None) in (None, nn.Module.forward):
        return None
    forward: Callable[[Any], Tensor] = getattr(model, "forward")  # noqa: B009 (not in the protocol)
    return forward


def _score_by_steps(model: StepModel, batch: ForcedBatch) -> Tensor:
    state, logs = model.start(batch.source, len(batch.inputs)), []
    for tokens_B, labels_B in zip(batch.inputs.unbind(1), batch.labels.unbind(1), strict=True):
        logits_BV, state, _ = model.step(state, tokens_B)
        logs.append(_label_logs(logits_BV, labels_B))
    return torch.stack(logs, 1)


def _label_logs(logits_NV: Tensor, labels_N: Tensor) -> Tensor:
    """(N,): log-probabilities of the labels."""
    if int(labels_N.max()) >= logits_NV.shape[1]:
        raise InputError(
            f"target ids must be below {logits_NV.shape[1]}, the model's vocabulary size, got "
            f"{int(labels_N.max())}; use the model's own tokenizer."
        )
    return log_probabilities(logits_NV).gather(1, labels_N[:, None])[:, 0]


def _padded(rows: Sequence[Sequence[int]], longest: int) -> Tensor:
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
