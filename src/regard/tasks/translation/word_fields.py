"""The fields of translated sentences that are about their words: links, confidence and flags.

Those of many sentences are computed together (`regard.alignment.word_batch`).

Shapes: N sentences; T target tokens, S source tokens, V target words, U source words, all padded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from regard.alignment.heads import shift_rows
from regard.alignment.links import link_mask
from regard.alignment.tokenized_words import Array, tokenized_output, tokenized_words
from regard.alignment.word_batch import WordBatch, padded, pool_batch, word_batch
from regard.config import CleaningSettings
from regard.decoding import Hypothesis
from regard.folder import Tokenizers
from regard.tasks.translation.checks import flags_by_attention
from regard.tasks.translation.translation import Link, ModelInfo
from regard.text import normalize
from regard.text.segments import Segment

COMPUTED_TOGETHER = 64
"""Sentences; the arrays of more exceed the caches, and padding grows."""

LEAST_LOG = -1e300  # the log-probability of an impossible token, as 0 · -inf is no number


class TranslatedTokens(NamedTuple):
    """A segment and the tokens of its translation.

    text        of the translation, decoded from the tokens
    hypothesis  with the log-probabilities of the tokens, if there is one
    weights     (T, S) of the head for alignment; None without attention
    """

    segment: Segment
    tokens: Sequence[int]
    text: str
    hypothesis: Hypothesis | None
    weights: Array | None


def word_fields(
    given: Sequence[TranslatedTokens],
    tokenizers: Tokenizers,
    info: ModelInfo,
    cleaning: CleaningSettings,
    *,
    shift: bool = False,
) -> Iterator[dict[str, Any]]:
    """The fields of each sentence; best of sentences of similar length.

    With `shift`, the weights of a token are in the row in which it is the input.
    """
    for start in range(0, len(given), COMPUTED_TOGETHER):
        part = given[start : start + COMPUTED_TOGETHER]
        yield from _fields(part, tokenizers, info, cleaning, shift)


def _fields(
    given: Sequence[TranslatedTokens],
    tokenizers: Tokenizers,
    info: ModelInfo,
    cleaning: CleaningSettings,
    shift: bool,
) -> Iterator[dict[str, Any]]:
    def tokenized_source(number: int) -> Any:
        segment = given[number].segment
        return tokenized_words(
            segment.text, tokenizers.source, info.source_language, ids=segment.ids
        )

    def tokenized_target(number: int) -> Any:
        return tokenized_output(given[number].tokens, tokenizers.target, info.target_language)

    source = word_batch(
        [normalize(each.segment.text) for each in given],
        [each.segment.ids for each in given],
        tokenizers.source,
        info.source_language,
        tokenized_source,
    )
    target = word_batch(
        [each.text for each in given],
        [each.tokens for each in given],
        tokenizers.target,
        info.target_language,
        tokenized_target,
    )
    links: list[tuple[Link, ...]] = [()] * len(given)
    received: list[list[float] | None] = [None] * len(given)
    if all(each.weights is not None for each in given):
        weights_NTS = _padded_weights(given, target.overlap.shape[1], source.overlap.shape[1])
        weights_NTS = shift_rows(weights_NTS) if shift else weights_NTS
        pooled_NVU = pool_batch(weights_NTS[:, :-1], target, source)
        mutual = bool(info.alignment and info.alignment.mutual)
        links = _links(pooled_NVU, mutual)
        received = list(pooled_NVU.sum(1).tolist())
    confidence = _confidence(given, target)
    for number, (read, written) in enumerate(zip(source.words, target.words, strict=True)):
        yield {
            "source_words": read,
            "words": written,
            "alignment": links[number],
            "flags": flags_by_attention(received[number], read, written, cleaning),
            "confidence": confidence[number],
        }


def _padded_weights(given: Sequence[TranslatedTokens], num_rows: int, num_columns: int) -> Array:
    """(N, T, S): the weights of the sentences' tokens, and of what follows them if there is room.

    That belongs to no word; a shift takes the last token's row from it.
    """
    weights_NTS = np.zeros((len(given), num_rows + 1, num_columns), np.float32)
    for own_TS, each in zip(weights_NTS, given, strict=True):
        assert each.weights is not None
        rows, columns = min(len(each.tokens) + 1, len(each.weights)), len(each.segment.ids)
        own_TS[:rows, :columns] = each.weights[:rows, :columns]
    return weights_NTS


def _links(pooled_NVU: Array, mutual: bool) -> list[tuple[Link, ...]]:
    """The links of each sentence in order."""
    mask_NUV = link_mask(pooled_NVU, mutual).swapaxes(1, 2)
    sentences, sources, targets = np.nonzero(mask_NUV)
    pairs = list(zip(sources.tolist(), targets.tolist(), strict=True))
    ends = np.bincount(sentences, minlength=len(pooled_NVU)).cumsum().tolist()
    return [tuple(pairs[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def _confidence(given: Sequence[TranslatedTokens], target: WordBatch) -> list[tuple[float, ...]]:
    """The probability of each word, as `word_confidence` defines it; none without a hypothesis."""
    logs = [
        each.hypothesis.token_log_probabilities[: len(each.tokens)] if each.hypothesis else ()
        for each in given
    ]
    flat = np.maximum(np.fromiter(chain.from_iterable(logs), np.float64), LEAST_LOG)
    logs_NT = padded(flat, list(map(len, logs)))
    members_NVT = target.members()[:, :, : logs_NT.shape[1]]
    shares = np.exp((members_NVT @ logs_NT[:, :, None])[:, :, 0]).tolist()
    return [
        tuple(own[: len(words)]) if each.hypothesis else ()
        for own, words, each in zip(shares, target.words, given, strict=True)
    ]
