"""How probable a model holds given outputs: forced decoding.

B sentences, T target tokens with EOS, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.decoding.hypothesis import Hypothesis, hypothesis
from regard.decoding.ranking import log_probabilities
from regard.decoding.writer import BOS, EOS, PAD, Reading, Writer, device_of
from regard.errors import InputError


class Lesson(NamedTuple):
    """What a model's `forward` is given: inputs (B, T) begin with BOS, labels (B, T) end in EOS."""

    source: Reading | None
    inputs: Tensor
    labels: Tensor


@torch.inference_mode()
def score(
    writer: Writer,
    source: Reading | None,
    targets: Sequence[Sequence[int]],
    *,
    length_penalty: float = 1.0,
) -> list[Hypothesis]:
    """The given outputs (ids without specials), one for each sentence, with their probabilities.

    All tokens at once by the writer's `forward(batch)` if it has one, else step by step.
    """
    if source is not None and len(targets) != len(source.tokens):
        raise InputError(
            f"there are {len(targets)} targets for {len(source.tokens)} sentences; "
            "give one for each."
        )
    if not targets:
        return []
    longest = max(map(len, targets)) + 1
    if longest > writer.max_length:
        raise InputError(
            f"a target has {longest} tokens with its end, but the model writes at most "
            f"{writer.max_length}; split it."
        )
    device = device_of(writer, source)
    lesson = Lesson(
        source,
        _padded([[BOS, *target] for target in targets], longest).to(device),
        _padded([[*target, EOS] for target in targets], longest).to(device),
    )
    forward = _forward(writer)
    if forward is None:
        logs_BT = _by_steps(writer, lesson)
    else:
        logs_BT = _logs(forward(lesson).flatten(0, 1), lesson.labels.flatten())
        logs_BT = logs_BT.view(lesson.labels.shape)
    return [
        hypothesis([*target, EOS], logs[: len(target) + 1], length_penalty)
        for target, logs in zip(targets, logs_BT.tolist(), strict=True)
    ]


def _forward(writer: Writer) -> Callable[[Any], Tensor] | None:
    """The writer's `forward`, if it has one of its own; every torch module has an empty one."""
    if getattr(type(writer), "forward", None) in (None, nn.Module.forward):
        return None
    found: Callable[[Any], Tensor] = getattr(writer, "forward")  # noqa: B009 (not in the protocol)
    return found


def _by_steps(writer: Writer, lesson: Lesson) -> Tensor:
    state, logs = writer.start(lesson.source, len(lesson.inputs)), []
    for tokens_B, labels_B in zip(lesson.inputs.unbind(1), lesson.labels.unbind(1), strict=True):
        logits_BV, state, _ = writer.step(state, tokens_B)
        logs.append(_logs(logits_BV, labels_B))
    return torch.stack(logs, 1)


def _logs(logits_NV: Tensor, labels_N: Tensor) -> Tensor:
    """(N,): log-probabilities of the labels."""
    if int(labels_N.max()) >= logits_NV.shape[1]:
        raise InputError(
            f"a target has the id {int(labels_N.max())}, but the model's vocabulary has "
            f"{logits_NV.shape[1]} tokens; use the model's own tokeniser."
        )
    return log_probabilities(logits_NV).gather(1, labels_N[:, None])[:, 0]


def _padded(rows: Sequence[Sequence[int]], longest: int) -> Tensor:
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
