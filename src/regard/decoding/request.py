"""Input of a search: model state, length limits, forced prefixes and suppressed tokens.

B sentences, P tokens of the longest prefix, N suppressed tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from regard.decoding.step_model import SourceBatch, StepModel, device_of
from regard.errors import InputError
from regard.text import BOS, EOS, MASK, PAD, UNK

FREE = -1
"""Marks positions of the prefix table at which the model chooses the token."""

Prefixes = Sequence[Sequence[int]]


@dataclass(frozen=True)
class SearchRequest:
    """Sentences ready for the first step.

    state       the model's, one row for each sentence
    limits      (B,)    maximum number of tokens of each, EOS and prefix included
    prefix      (B, P)  tokens that each must begin with, then FREE
    suppressed  (N,)    ids never generated, unless forced by a prefix
    """

    state: Any
    limits: Tensor
    prefix: Tensor
    suppressed: Tensor

    def __len__(self) -> int:
        return len(self.limits)

    @property
    def device(self) -> torch.device:
        """Device of all tensors."""
        return self.limits.device

    def select(self, model: StepModel, rows: Tensor) -> SearchRequest:
        """Return the request of the given sentences, which may occur more than once."""
        return replace(
            self,
            state=model.select(self.state, rows),
            limits=self.limits[rows],
            prefix=self.prefix[rows],
        )


def prepare_request(
    model: StepModel,
    source: SourceBatch | None,
    *,
    max_length: int | None = None,
    prefix: Prefixes | None = None,
    suppress_tokens: Collection[int] = (UNK,),
    batch: int = 1,
) -> SearchRequest:
    """Encode the source and set each sentence's limit; PAD, BOS and MASK are always suppressed.

    Without a source the number of sentences is that of the prefixes, or else `batch`. A single
    source may have several prefixes: it is encoded once, with one output for each prefix.
    """
    device = device_of(model, source)
    lengths = None if source is None else source.lengths.tolist()
    if prefix is not None and lengths is not None and len(lengths) == 1:
        lengths *= len(prefix)
    if lengths is not None:
        batch = len(lengths)
    elif prefix is not None:
        batch = len(prefix)
    prefix = [()] * batch if prefix is None else prefix
    if len(prefix) != batch:
        raise InputError(
            f"prefix must have one list of ids for each of {batch} sentences, empty where there "
            f"is none, got {len(prefix)}."
        )
    limits = _limits(model, lengths, max_length, prefix)
    suppressed = sorted({PAD, BOS, MASK, *suppress_tokens})
    return SearchRequest(
        state=_initial_state(model, source, batch, device),
        limits=torch.tensor(limits, device=device, dtype=torch.int64),
        prefix=_prefix_table(prefix).to(device),
        suppressed=torch.tensor(suppressed, device=device, dtype=torch.int64),
    )


@torch.inference_mode()
def _initial_state(
    model: StepModel, source: SourceBatch | None, batch: int, device: torch.device
) -> Any:
    """Return the model's state before the first token, one row for each of `batch` outputs."""
    if not batch:
        return None
    if source is None or len(source.tokens) == batch:
        return model.start(source, batch)
    rows = torch.zeros(batch, dtype=torch.int64, device=device)
    return model.select(model.start(source, 1), rows)


def _limits(
    model: StepModel, lengths: list[int] | None, max_length: int | None, prefix: Prefixes
) -> list[int]:
    """Return the maximum number of tokens of each sentence, and check that the prefix fits."""
    if max_length is not None:
        limits = [max_length] * len(prefix)
    elif lengths is not None:
        limits = [
            max(2 * length, len(tokens)) + 10
            for length, tokens in zip(lengths, prefix, strict=True)
        ]
    else:
        limits = [model.max_length] * len(prefix)
    limits = [min(limit, model.max_length) for limit in limits]
    for index, (tokens, limit) in enumerate(zip(prefix, limits, strict=True)):
        if len(tokens) > limit:
            raise InputError(
                f"the prefix of sentence {index} must have at most {limit} tokens, got "
                f"{len(tokens)}; shorten it or raise decoding.max_length "
                f"(the model's limit is {model.max_length})."
            )
        invalid = [token for token in tokens if token < 0 or token in (PAD, BOS, EOS)]
        if invalid:
            raise InputError(
                f"the prefix of sentence {index} must have ids of text only, without BOS and EOS, "
                f"got the id {invalid[0]}."
            )
    return limits


def _prefix_table(prefix: Prefixes) -> Tensor:
    longest = max(map(len, prefix), default=0)
    rows = [[*tokens, *[FREE] * (longest - len(tokens))] for tokens in prefix]
    return torch.tensor(rows, dtype=torch.int64).reshape(len(prefix), longest)
