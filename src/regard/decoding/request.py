"""What search needs of a model (`StepModel`), and the input of a search (`SearchRequest`).

B rows of a batch (sentences or hypotheses), S source tokens, V tokens of the vocabulary, P tokens
of the longest prefix, N suppressed tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.text import BOS, EOS, MASK, PAD, UNK

FREE = -1
"""Marks positions of the prefix table at which the model chooses the token."""

Prefixes = Sequence[Sequence[int]]

Ban = Callable[[Sequence[int]], Collection[int]]
"""From the tokens of an output so far, BOS not included, to the ids that must not come next."""


class SourceBatch(Protocol):
    """Source sentences: ids padded at the end, and the length of each, EOS included."""

    @property
    def tokens(self) -> Tensor:
        """(B, S) ids."""
        ...

    @property
    def lengths(self) -> Tensor:
        """(B,) number of tokens of each sentence."""
        ...


class StepModel(Protocol):
    """A model that generates one token after another.

    Its state is opaque to search, which uses each state once: a model may change it in place and
    return it. Search does not change the model: call `eval()` first to switch dropout off.
    """

    @property
    def max_length(self) -> int:
        """Maximum number of generated tokens, EOS included."""
        ...

    def start(self, source: Any, batch: int = 1) -> Any:
        """Encode `source` and return the state before the first token.

        Without a source, return the state of `batch` empty rows.
        """
        ...

    def step(
        self, state: Any, tokens: Tensor, attention: bool = False
    ) -> tuple[Tensor, Any, Sequence[Any]]:
        """Return logits (B, V) for the token after `tokens` (B,), the new state, and the maps.

        The first tokens are BOS. With `attention`, the maps are this step's rows of every layer.
        """
        ...

    def select(self, state: Any, rows: Tensor) -> Any:
        """Return the state of the given rows (B',), in that order; a row may occur twice."""
        ...


@dataclass(frozen=True)
class SearchRequest:
    """Sentences ready for the first step.

    state       the model's, one row for each sentence
    limits      (B,)    maximum number of tokens of each, EOS and prefix included
    prefix      (B, P)  tokens that each must begin with, then FREE
    suppressed  (N,)    ids never generated, unless forced by a prefix
    bans        ids not generated after some outputs, unless forced by a prefix
    """

    state: Any
    limits: Tensor
    prefix: Tensor
    suppressed: Tensor
    bans: tuple[Ban, ...] = ()

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


def device_of(model: StepModel, source: SourceBatch | None) -> torch.device:
    """Return the device of the source or, without one, of the model's weights."""
    if source is not None:
        return source.tokens.device
    if isinstance(model, nn.Module):
        for weight in model.parameters():
            return weight.device
    return torch.device(getattr(model, "device", "cpu"))


def prepare_request(
    model: StepModel,
    source: SourceBatch | None,
    *,
    max_length: int | None = None,
    prefix: Prefixes | None = None,
    suppress_tokens: Collection[int] = (UNK,),
    bans: Sequence[Ban] = (),
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
        bans=tuple(bans),
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
