"""Batches for all contenders, of random sentences or of given text.

Random sentences have the lengths of short image captions (Multi30k): log-normal, with correlated
sides; the n-th most frequent token has a share of about 1/n.
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


def random_sentences(vocab: int, seed: int = 0, sentences: int = SENTENCES) -> tuple[Rows, Rows]:
    """Ids of random sentences and their translations.

    >>> sources, targets = random_sentences(8000, sentences=2000)
    >>> [round(sum(map(len, rows)) / 2000) for rows in (sources, targets)]
    [14, 15]
    """
    random = np.random.default_rng(seed)
    shared, separate = random.standard_normal((2, sentences))
    mixed = CORRELATION * shared + np.sqrt(1 - CORRELATION**2) * separate
    rows = []
    for normal, mean, spread in zip((shared, mixed), MEAN_LENGTHS, LOG_SPREADS, strict=True):
        lengths = np.exp(np.log(mean) - spread**2 / 2 + spread * normal)
        rows.append(_words(random, lengths.round().clip(1, LONGEST).astype(np.int64), vocab))
    return rows[0], rows[1]


def tokenize_files(files: Sequence[str | PathLike[str]], vocab: int) -> tuple[Rows, Rows, int]:
    """Ids of two aligned files by a joint BPE, and its vocabulary size."""
    from regard.tasks import find_task
    from regard.tasks.translation.task import TranslationTask, encode_pairs

    run = Run(text=TextSettings(unit="bpe", vocab_size=vocab))
    task = find_task(run.model.kind)
    assert isinstance(task, TranslationTask)
    pairs = task.read_corpus(files, (), run).train
    tokenizers = task.train_tokenizers(pairs, run)
    sources, targets, _ = encode_pairs(pairs, tokenizers, LONGEST)
    return sources, targets, len(tokenizers.target)


def first_batches(
    sources: Rows, targets: Rows, number: int, max_tokens: int = BATCH_TOKENS
) -> list[Pairs]:
    """The first `number` batches of an epoch of `regard train`."""
    lengths_src, lengths_tgt = ([len(row) + 1 for row in rows] for rows in (sources, targets))
    made = batches(lengths_src, lengths_tgt, max_tokens, seed=0, epoch=0)
    if len(made) < number:
        raise InputError(
            f"{number} batches are needed for the warm-up and --steps, got {len(made)}; give "
            "more text or fewer steps."
        )
    return [Pairs([sources[n] for n in rows], [targets[n] for n in rows]) for rows in made[:number]]


def _words(random: np.random.Generator, lengths: NDArray[np.int64], vocab: int) -> Rows:
    """Rows of the given lengths; rank r = (number of tokens)^u has a share of about 1/r."""
    words = vocab - FIRST_BYTE
    rank = words ** random.random(int(lengths.sum()))
    ids = FIRST_BYTE + np.minimum(rank.astype(np.int64), words) - 1
    return [row.tolist() for row in np.split(ids, lengths.cumsum()[:-1])]
