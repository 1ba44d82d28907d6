"""The batches that all contenders learn from: of made-up sentences, or of one's own text.

Made-up sentences have the lengths of short picture captions (Multi30k): log-normal, the two sides
correlated; their words are drawn so that the n-th most frequent has a share of about 1/n.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from benchmarks.train.task import Pairs, Rows
from regard.config import Run, TextSettings
from regard.corpus.batches import batches
from regard.errors import InputError
from regard.text.tokenizer import FIRST_BYTE

BATCH_TOKENS = 4096  # padded, source and target together
SENTENCES = 29_000
MEAN_LENGTHS = 14.0, 15.0
LOG_SPREADS = 0.30, 0.33  # standard deviations of the lengths' logarithms
CORRELATION = 0.85
LONGEST = 100


def made_up(vocab: int, seed: int = 0, sentences: int = SENTENCES) -> tuple[Rows, Rows]:
    """Ids of sentences and their translations, neither meaning anything.

    >>> sources, targets = made_up(8000, sentences=2000)
    >>> [round(sum(map(len, rows)) / 2000) for rows in (sources, targets)]
    [14, 15]
    """
    random = np.random.default_rng(seed)
    shared, own = random.standard_normal((2, sentences))
    mixed = CORRELATION * shared + np.sqrt(1 - CORRELATION**2) * own
    rows = []
    for normal, mean, spread in zip((shared, mixed), MEAN_LENGTHS, LOG_SPREADS, strict=True):
        lengths = np.exp(np.log(mean) - spread**2 / 2 + spread * normal)
        rows.append(_words(random, lengths.round().clip(1, LONGEST).astype(np.int64), vocab))
    return rows[0], rows[1]


def tokenised(files: Sequence[str | PathLike[str]], vocab: int) -> tuple[Rows, Rows, int]:
    """Ids of one's own aligned files, by a BPE of both sides; and how many tokens that has."""
    from regard.tasks import find_task
    from regard.tasks.translation.task import TranslationTask, encode_pairs

    run = Run(text=TextSettings(unit="bpe", vocab_size=vocab))
    task = find_task(run.model.kind)
    assert isinstance(task, TranslationTask)
    pairs = task.read_corpus(files, (), run).train
    tokenizers = task.train_tokenizers(pairs, run)
    sources, targets, _ = encode_pairs(pairs, tokenizers, LONGEST)
    return sources, targets, len(tokenizers.target)


def in_batches(
    sources: Rows, targets: Rows, number: int, max_tokens: int = BATCH_TOKENS
) -> list[Pairs]:
    """The first `number` batches of an epoch, as `regard train` makes them."""
    lengths_src, lengths_tgt = ([len(row) + 1 for row in rows] for rows in (sources, targets))
    made = batches(lengths_src, lengths_tgt, max_tokens, seed=0, epoch=0)
    if len(made) < number:
        raise InputError(
            f"the text gives {len(made)} batches, but {number} are needed for the warm-up and "
            "--steps; give more text or fewer steps."
        )
    return [Pairs([sources[n] for n in rows], [targets[n] for n in rows]) for rows in made[:number]]


def _words(random: np.random.Generator, lengths: NDArray[np.int64], vocab: int) -> Rows:
    """Rows of the given lengths; rank r = (number of words)^u has about share 1/r."""
    words = vocab - FIRST_BYTE
    rank = words ** random.random(int(lengths.sum()))
    ids = FIRST_BYTE + np.minimum(rank.astype(np.int64), words) - 1
    return [row.tolist() for row in np.split(ids, lengths.cumsum()[:-1])]
