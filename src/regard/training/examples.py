"""A corpus as ids, and its batches in an order that depends on the seed alone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from regard.config import MaskedLanguageModelSettings, ModelSettings
from regard.corpus.batches import batches
from regard.corpus.pairs import Pair
from regard.folder import Tokenizers
from regard.models.batch import Batch, batch_of
from regard.text import BOS, EOS, MASK, PAD
from regard.training.epochs import Epochs

Ids = np.ndarray[tuple[int], np.dtype[np.int32]]


class Examples(Epochs[Batch]):
    """Encoded sentences, batched.

    `sources` is None for text that is only written.
    """

    def __init__(
        self,
        sources: Sequence[Sequence[int]] | None,
        targets: Sequence[Sequence[int]],
        max_tokens: int,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self.sources = None if sources is None else [np.asarray(s, np.int32) for s in sources]
        self.targets: list[Ids] = [np.asarray(t, np.int32) for t in targets]
        self.max_tokens = max_tokens
        self.lengths_tgt = np.array([len(t) + 1 for t in self.targets], np.int64)
        self.lengths_src = np.array(
            [0 if self.sources is None else len(s) + 1 for s in self.sources or self.targets],
            np.int64,
        )

    def __len__(self) -> int:
        return len(self.targets)

    def cut(self, seed: int, epoch: int) -> list[list[int]]:
        """Batches of about equal cost, of sentences of about equal length."""
        return batches(self.lengths_src, self.lengths_tgt, self.max_tokens, seed, epoch)

    def batch(self, rows: Sequence[int]) -> Batch:
        """The sentences at `rows`."""
        sources = None if self.sources is None else [self.sources[n].tolist() for n in rows]
        return batch_of(sources, [self.targets[n].tolist() for n in rows])


class EncodedPairs(NamedTuple):
    """Ids of both sides, and the places of the pairs that have too many tokens."""

    sources: list[list[int]]
    targets: list[list[int]]
    too_long: list[int]


def encoded(
    pairs: Sequence[Pair], tokenizers: Tokenizers, max_length: int, truncate: bool = False
) -> EncodedPairs:
    """Ids of both sides; pairs of more than `max_length` tokens are dropped, or cut to fit.

    One token of `max_length` is BOS or EOS. A `max_length` of 0 keeps all.
    """
    room = max_length - 1 if max_length else sys.maxsize
    found = EncodedPairs([], [], [])
    for place, pair in enumerate(pairs):
        source, target = (
            tokenizers.source.encode(pair.source),
            tokenizers.target.encode(pair.target),
        )
        if max(len(source), len(target)) > room:
            found.too_long.append(place)
            if not truncate:
                continue
        found.sources.append(source[:room])
        found.targets.append(target[:room])
    return found


def encoded_text(lines: Sequence[str], tokenizers: Tokenizers, max_length: int) -> list[list[int]]:
    """Ids of each line, a longer one cut into pieces that the model can hold."""
    pieces = []
    for line in lines:
        ids = tokenizers.target.encode(line)
        room = max_length - 1 if max_length else max(1, len(ids))  # BOS, or EOS, is with them
        pieces += [ids[start : start + room] for start in range(0, len(ids), room)]
    return pieces


def masked(batch: Batch, settings: MaskedLanguageModelSettings, vocab: int, *seed: int) -> Batch:
    """Some tokens hidden, to be guessed: of them 80 % by MASK, 10 % by another, 10 % shown.

    (Devlin 2019, §3.1.) Inputs and labels stand at the same places here, so BOS begins both.
    """
    random = np.random.default_rng(seed)
    tokens = batch.inputs.numpy().copy()
    drawn = random.random(tokens.shape)
    guessed = (drawn < settings.mask_rate) & (tokens != PAD) & (tokens != BOS) & (tokens != EOS)
    if not guessed.any():  # at least one, or there is nothing to learn
        row, column = np.argwhere((tokens != PAD) & (tokens != BOS))[0]
        guessed[row, column] = True
    labels = np.where(guessed, tokens, PAD)
    fate = random.random(tokens.shape)
    tokens = np.where(guessed & (fate < 0.8), MASK, tokens)
    other = random.integers(MASK + 1, max(MASK + 2, vocab), tokens.shape)
    tokens = np.where(guessed & (fate >= 0.8) & (fate < 0.9), other, tokens)
    return Batch(None, torch.from_numpy(tokens), torch.from_numpy(labels))


def is_paired(settings: ModelSettings) -> bool:
    """Whether a model learns from pairs, not from plain text."""
    return settings.kind in ("transformer", "rnn")
