"""What is asked of a search: how long, beginning how, without which tokens.

B sentences, P tokens of the longest prefix.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from regard.decoding.writer import BOS, EOS, MASK, PAD, UNK, Reading, Writer, device_of
from regard.errors import InputError

FREE = -1
"""Stands in a table of prefixes where the model may choose."""

Prefixes = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Request:
    """Sentences to be written, ready for the first step.

    state     the writer's, one row for each sentence
    limits    (B,)    most tokens of each, EOS and prefix counted
    prefix    (B, P)  what each must begin with, then FREE
    never     (N,)    ids that are not written, unless a prefix has them
    """

    state: Any
    limits: Tensor
    prefix: Tensor
    never: Tensor

    def __len__(self) -> int:
        return len(self.limits)

    @property
    def device(self) -> torch.device:
        """Where all of it is."""
        return self.limits.device

    def select(self, writer: Writer, rows: Tensor) -> Request:
        """The request of chosen sentences, which may come more than once."""
        return replace(
            self,
            state=writer.select(self.state, rows),
            limits=self.limits[rows],
            prefix=self.prefix[rows],
        )


def request(
    writer: Writer,
    source: Reading | None,
    *,
    max_length: int | None = None,
    prefix: Prefixes | None = None,
    never: Collection[int] = (UNK,),
    batch: int = 1,
) -> Request:
    """Read the source and settle each sentence's limits; PAD, BOS and MASK are never written.

    Without a source the number of sentences is that of the prefixes, or else `batch`. A single
    source may have several prefixes: it is read once and written after each of them.
    """
    device = device_of(writer, source)
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
            f"there are {len(prefix)} prefixes for {batch} sentences; give one for each, "
            "empty where there is none."
        )
    limits = _limits(writer, lengths, max_length, prefix)
    return Request(
        state=_started(writer, source, batch, device),
        limits=torch.tensor(limits, device=device, dtype=torch.int64),
        prefix=_table(prefix).to(device),
        never=torch.tensor(sorted({PAD, BOS, MASK, *never}), device=device, dtype=torch.int64),
    )


@torch.inference_mode()
def _started(writer: Writer, source: Reading | None, batch: int, device: torch.device) -> Any:
    """The writer's state, one row for each of `batch` outputs."""
    if not batch:
        return None
    if source is None or len(source.tokens) == batch:
        return writer.start(source, batch)
    rows = torch.zeros(batch, dtype=torch.int64, device=device)
    return writer.select(writer.start(source, 1), rows)


def _limits(
    writer: Writer, lengths: list[int] | None, max_length: int | None, prefix: Prefixes
) -> list[int]:
    """The most tokens of each sentence; a prefix that does not fit is an error, not cut."""
    if max_length is not None:
        wanted = [max_length] * len(prefix)
    elif lengths is not None:
        wanted = [
            max(2 * length, len(begin)) + 10 for length, begin in zip(lengths, prefix, strict=True)
        ]
    else:
        wanted = [writer.max_length] * len(prefix)
    limits = [min(limit, writer.max_length) for limit in wanted]
    for number, (begin, limit) in enumerate(zip(prefix, limits, strict=True)):
        if len(begin) > limit:
            raise InputError(
                f"the prefix of sentence {number} has {len(begin)} tokens, but its output may "
                f"have {limit}; shorten it or raise decoding.max_length "
                f"(the model writes at most {writer.max_length})."
            )
        wrong = [token for token in begin if token < 0 or token in (PAD, BOS, EOS)]
        if wrong:
            raise InputError(
                f"the prefix of sentence {number} has the id {wrong[0]}, which stands for no "
                "text; give the ids of words only, without BOS and EOS."
            )
    return limits


def _table(prefix: Prefixes) -> Tensor:
    longest = max(map(len, prefix), default=0)
    rows = [[*begin, *[FREE] * (longest - len(begin))] for begin in prefix]
    return torch.tensor(rows, dtype=torch.int64).reshape(len(prefix), longest)
