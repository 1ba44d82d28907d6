"""What heads look at when a pronoun is understood: how often it is the noun that it stands for.

For every `it` of the built-in corpus whose antecedent is known, every head and every row on the
way from `it` to its translation, the word with the largest weight is looked up. A word's weight is
the sum over its tokens, a row of several tokens is their mean, and all specials together (EOS,
BOS) count as one word that is never right.

| row                   | attention       | of           | looked for                   |
|-----------------------|-----------------|--------------|------------------------------|
| encoder it            | encoder self    | `it`         | the antecedent               |
| encoder adjective     | encoder self    | the cue      | the antecedent               |
| decoder pronoun cross | decoder cross   | il, elle, 它 | the antecedent               |
| decoder pronoun self  | decoder causal  | il, elle, 它 | the antecedent's translation |

Shapes: H heads, R rows (queries), C columns (keys), U words of the columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from regard.alignment import MappedBatch, TokenizedWords, layer_maps
from regard.alignment.tokenized_words import Array, Flags
from regard.corpus.grammar import Coreference, GrammarPair
from regard.errors import InputError

Row = Literal["encoder it", "encoder adjective", "decoder pronoun cross", "decoder pronoun self"]
Step = Literal["", "predicts", "input"]


class Head(NamedTuple):
    """A head in one row: attention's kind, layer and head, the row, and which step of it.

    step: in the decoder, the row that predicts the pronoun, or the row where it is the input; ""
    in the encoder.
    """

    kind: str
    layer: int
    head: int
    row: Row
    step: Step


class Tally(NamedTuple):
    """How often the largest weight was on the antecedent, out of how many pronouns."""

    hits: int
    total: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.hits / self.total if self.total else 0.0


def tally(pairs: Sequence[GrammarPair], batch: MappedBatch) -> dict[Head, Tally]:
    """The counts of one batch, for every head of every map in it.

    The maps are of the pairs in their order, with the pairs' targets given; `TokenizedWords` have
    the pairs' own words (`given=pair.source_words`). Kinds that are not recorded are left out.
    """
    found: dict[Head, Tally] = {}
    kinds = {kind: layer_maps(batch.maps, kind) for kind in ("self", "cross", "causal")}
    for row, (pair, source, target) in enumerate(
        zip(pairs, batch.sources, batch.targets, strict=True)
    ):
        _check(pair, source, target)
        for reference in pair.coreference:
            for kind, layers in kinds.items():
                for layer, (weights, heads) in layers.items():
                    hits = _hits(kind, weights[row], pair, reference, source, target)
                    for (name, step), right in hits.items():
                        for head, hit in zip(heads, right.tolist(), strict=True):
                            key = Head(kind, layer, head, name, step)
                            before = found.get(key, Tally(0, 0))
                            found[key] = Tally(before.hits + hit, before.total + 1)
    return found


def merged(tallies: Iterable[Mapping[Head, Tally]]) -> dict[Head, Tally]:
    """The counts of several batches together."""
    found: dict[Head, Tally] = {}
    for one in tallies:
        for head, (hits, total) in one.items():
            before = found.get(head, Tally(0, 0))
            found[head] = Tally(before.hits + hits, before.total + total)
    return found


def ranked(counts: Mapping[Head, Tally]) -> list[tuple[Head, Tally]]:
    """The table, the head that looks at antecedents most often first."""
    return sorted(counts.items(), key=lambda row: (-row[1].share, row[0]))


def _hits(
    kind: str,
    weights_HRC: Array,
    pair: GrammarPair,
    reference: Coreference,
    source: TokenizedWords,
    target: TokenizedWords,
) -> dict[tuple[Row, Step], Flags]:
    """For each row of a kind of attention: by head, whether it looked at the antecedent."""
    meant = {reference.antecedent}
    if kind == "self":
        it, cue = source.means[reference.pronoun], source.means[reference.cue]
        return {
            ("encoder it", ""): on_word(weights_HRC, it, source.shares, meant),
            ("encoder adjective", ""): on_word(weights_HRC, cue, source.shares, meant),
        }
    name: Row = "decoder pronoun cross"
    shares = source.shares
    if kind == "causal":
        name = "decoder pronoun self"
        meant = {link.target for link in pair.links if link.sure and link.source in meant}
        # The decoder's inputs begin with BOS, which belongs to no word.
        shares = np.concatenate([np.zeros((1, target.shares.shape[1])), target.shares])
    predicts = target.means[reference.target_pronoun]
    inputs = np.concatenate([[0.0], predicts])
    return {
        (name, "predicts"): on_word(weights_HRC, predicts, shares, meant),
        (name, "input"): on_word(weights_HRC, inputs, shares, meant),
    }


def on_word(weights_HRC: Array, rows: Array, shares: Array, meant: Collection[int]) -> Flags:
    """(H,): whether the largest weight of a word's rows is on one of the words that are meant.

    rows    (r,)    the weight of each row in the mean; rows after these have none
    shares  (c, U)  how columns share out to words; columns after these are specials

    >>> weights = np.array([[[0.1, 0.6, 0.3], [0.2, 0.2, 0.6]]])
    >>> on_word(weights, np.array([1.0]), np.eye(2), {1}).tolist()
    [True]
    >>> on_word(weights, np.array([0.0, 1.0]), np.eye(2), {1}).tolist()
    [False]
    """
    seen_HC = np.einsum("r,hrc->hc", rows, weights_HRC[:, : len(rows)])
    words_HU = seen_HC[:, : len(shares)] @ shares
    specials = seen_HC.sum(axis=1) - words_HU.sum(axis=1)
    largest = words_HU.argmax(axis=1)
    right = np.isin(largest, list(meant)) & (words_HU.max(axis=1) > specials)
    return np.asarray(right)


def _check(pair: GrammarPair, source: TokenizedWords, target: TokenizedWords) -> None:
    for side, words, found in (
        ("source", pair.source_words, source),
        ("target", pair.target_words, target),
    ):
        if tuple(word.text for word in found.words) != words:
            raise InputError(
                f"the {side} words of {pair.source!r} are not those of its pieces; "
                f"make them with given=pair.{side}_words."
            )
