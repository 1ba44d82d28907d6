"""How often attention heads point from a pronoun to its antecedent.

For every annotated `it` of the built-in corpus, every head and every row on the path from `it` to
its translation, the word with the largest weight is compared with the antecedent. A word's weight
is the sum over its tokens, a row of several tokens is their mean, and all special tokens together
(EOS, BOS) count as one word that is never right.

| row                   | attention       | query        | target                       |
|-----------------------|-----------------|--------------|------------------------------|
| encoder it            | encoder self    | `it`         | the antecedent               |
| encoder adjective     | encoder self    | the cue      | the antecedent               |
| decoder pronoun cross | decoder cross   | il, elle, 它 | the antecedent               |
| decoder pronoun self  | decoder causal  | il, elle, 它 | the antecedent's translation |

Shapes: H heads, R rows (queries), C columns (keys), U words of the columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from regard.alignment import MappedBatch, TokenizedWords, layer_maps
from regard.alignment.tokenized_words import Array, Flags
from regard.corpus.grammar.pair import Coreference, GrammarPair
from regard.errors import InputError

RowName = Literal[
    "encoder it", "encoder adjective", "decoder pronoun cross", "decoder pronoun self"
]
StepName = Literal["", "predicts", "input"]


class HeadRow(NamedTuple):
    """A row of a head: attention kind, layer, head, row, and decoder step.

    step: in the decoder, the row that predicts the pronoun, or the row where it is the input; ""
    in the encoder.
    """

    kind: str
    layer: int
    head: int
    row: RowName
    step: StepName


class AntecedentCount(NamedTuple):
    """How often the largest weight was on the antecedent, out of how many pronouns."""

    hits: int
    total: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.hits / self.total if self.total else 0.0


def count_antecedents(
    pairs: Sequence[GrammarPair], batch: MappedBatch
) -> dict[HeadRow, AntecedentCount]:
    """Count the hits in one batch, for every head of every map in it.

    The maps are of the pairs in their order, with the pairs' targets forced; `TokenizedWords` have
    the pairs' words (`word_list=pair.source_words`). Kinds that are not recorded are omitted.
    """
    hits: Counter[HeadRow] = Counter()
    totals: Counter[HeadRow] = Counter()
    kinds = {kind: layer_maps(batch.maps, kind) for kind in ("self", "cross", "causal")}
    for index, (pair, source, target) in enumerate(
        zip(pairs, batch.sources, batch.targets, strict=True)
    ):
        _check(pair, source, target)
        for note in pair.coreference:
            for kind, layers in kinds.items():
                for layer, (weights, heads) in layers.items():
                    rows = _hits(kind, weights[index], pair, note, source, target)
                    for (row, step), right in rows.items():
                        for head, hit in zip(heads, right.tolist(), strict=True):
                            key = HeadRow(kind, layer, head, row, step)
                            hits[key] += hit
                            totals[key] += 1
    return {key: AntecedentCount(hits[key], total) for key, total in totals.items()}


def merge_counts(
    batches: Iterable[Mapping[HeadRow, AntecedentCount]],
) -> dict[HeadRow, AntecedentCount]:
    """Sum the counts of several batches."""
    merged: dict[HeadRow, AntecedentCount] = {}
    for counts in batches:
        for key, (hits, total) in counts.items():
            before = merged.get(key, AntecedentCount(0, 0))
            merged[key] = AntecedentCount(before.hits + hits, before.total + total)
    return merged


def rank_heads(
    counts: Mapping[HeadRow, AntecedentCount],
) -> list[tuple[HeadRow, AntecedentCount]]:
    """The counts, highest share first."""
    return sorted(counts.items(), key=lambda item: (-item[1].share, item[0]))


def _hits(
    kind: str,
    weights_HRC: Array,
    pair: GrammarPair,
    note: Coreference,
    source: TokenizedWords,
    target: TokenizedWords,
) -> dict[tuple[RowName, StepName], Flags]:
    """For each row of this kind of attention, by head: whether the antecedent was hit."""
    antecedents = {note.antecedent}
    if kind == "self":
        it, cue = source.means[note.pronoun], source.means[note.cue]
        return {
            ("encoder it", ""): on_word(weights_HRC, it, source.shares, antecedents),
            ("encoder adjective", ""): on_word(weights_HRC, cue, source.shares, antecedents),
        }
    name: RowName = "decoder pronoun cross"
    shares = source.shares
    if kind == "causal":
        name = "decoder pronoun self"
        antecedents = {
            link.target for link in pair.links if link.sure and link.source in antecedents
        }
        # the decoder's inputs begin with BOS, which belongs to no word
        shares = np.concatenate([np.zeros((1, target.shares.shape[1])), target.shares])
    predicts = target.means[note.target_pronoun]
    inputs = np.concatenate([[0.0], predicts])
    return {
        (name, "predicts"): on_word(weights_HRC, predicts, shares, antecedents),
        (name, "input"): on_word(weights_HRC, inputs, shares, antecedents),
    }


def on_word(weights_HRC: Array, rows: Array, shares: Array, antecedents: Collection[int]) -> Flags:
    """(H,): whether the largest weight of a word's rows is on one of the given words.

    rows    (r,)    the weight of each row in the mean; later rows have none
    shares  (c, U)  how columns are shared among words; later columns are special tokens

    >>> weights = np.array([[[0.1, 0.6, 0.3], [0.2, 0.2, 0.6]]])
    >>> on_word(weights, np.array([1.0]), np.eye(2), {1}).tolist()
    [True]
    >>> on_word(weights, np.array([0.0, 1.0]), np.eye(2), {1}).tolist()
    [False]
    """
    weights_HC = np.einsum("r,hrc->hc", rows, weights_HRC[:, : len(rows)])
    words_HU = weights_HC[:, : len(shares)] @ shares
    specials = weights_HC.sum(axis=1) - words_HU.sum(axis=1)
    largest = words_HU.argmax(axis=1)
    right = np.isin(largest, list(antecedents)) & (words_HU.max(axis=1) > specials)
    return np.asarray(right)


def _check(pair: GrammarPair, source: TokenizedWords, target: TokenizedWords) -> None:
    for side, words, tokenized in (
        ("source", pair.source_words, source),
        ("target", pair.target_words, target),
    ):
        if tuple(word.text for word in tokenized.words) != words:
            raise InputError(
                f"the {side} words of {pair.source!r} must be those it was tokenized with; "
                f"make them with word_list=pair.{side}_words."
            )
