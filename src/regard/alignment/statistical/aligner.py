"""Learning word alignment from the sentence pairs themselves, in both directions at once.

First IBM Model 1, in which a link's expected count is the mean of its posteriors in both
directions; then a hidden Markov model, in which it is their product: the directions must agree.
Liang, Taskar and Klein (2006), "Alignment by agreement". (With products from the start, when
nothing is certain, the sparse prior would outweigh all counts.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from regard.alignment.links import Links
from regard.alignment.statistical.forward_backward import (
    JumpCounts,
    Posterior,
    forward_backward,
    without_order,
)
from regard.alignment.statistical.jumps import Floats, Jumps
from regard.alignment.statistical.pair_batches import (
    PairBatch,
    Sentences,
    WordPairs,
    make_batches,
)
from regard.alignment.statistical.stems import StemPairs, stem_pairs
from regard.alignment.statistical.translation_tables import (
    NullTables,
    TranslationTables,
    learned_tables,
    null_tables,
    spelling_prior,
    uniform_tables,
)
from regard.errors import InputError

MODEL1_ITERATIONS = 4
HMM_ITERATIONS = 4


class BidirectionalLinks(NamedTuple):
    """Links of every sentence in both directions, as (source, target).

    forward   each target word has at most one source word
    backward  each source word has at most one target word
    """

    forward: list[Links]
    backward: list[Links]


def align_words(sources: Sentences, targets: Sentences) -> list[Links]:
    """Align sentence pairs, with at most one link for each target word; deterministic.

    >>> english = [["the", "cat"], ["the", "dog"], ["a", "cat"], ["a", "dog"]] * 3
    >>> french = [["le", "chat"], ["le", "chien"], ["un", "chat"], ["un", "chien"]] * 3
    >>> [sorted(links) for links in align_words(english, french)[:2]]
    [[(0, 0), (1, 1)], [(0, 0), (1, 1)]]
    """
    return align_bidirectional(sources, targets).forward


def align_bidirectional(
    sources: Sentences, targets: Sentences, progress: Callable[[int], None] | None = None
) -> BidirectionalLinks:
    """Align sentence pairs, given as words, in both directions; deterministic.

    The model is learned from these pairs, case ignored. Memory is about 4 bytes for each source
    word with each target word of its sentence, and 40 for each distinct pair of words. `progress`
    is called after each pass with the number of pairs.
    """
    if len(sources) != len(targets):
        raise InputError(
            f"there are {len(sources)} source and {len(targets)} target sentences to align; "
            "give as many of one as of the other."
        )
    batches, pairs = make_batches(sources, targets)
    model = _Model(uniform_tables(pairs), null_tables(batches, pairs), None)
    prior = _Prior(spelling_prior(pairs), stem_pairs(pairs))
    for iteration in range(MODEL1_ITERATIONS + HMM_ITERATIONS):
        if iteration == MODEL1_ITERATIONS:
            model = model._replace(jumps=(Jumps(), Jumps()))
        model = _iterate(model, batches, pairs, prior)
        if progress is not None:
            progress(len(sources))
    forward: list[Links] = [frozenset()] * len(sources)
    backward = list(forward)
    for batch in batches:
        for number, *links in _links(batch, *_posteriors(model, batch)):
            forward[number], backward[number] = links
    if progress is not None:
        progress(len(sources))
    return BidirectionalLinks(forward, backward)


class _Prior(NamedTuple):
    """The prior of pairs of words: by their spelling, and by what is learned of their stems."""

    spelling: Floats
    stems: StemPairs

    def parameters(self, counts: Floats) -> Floats:
        """(P,) the Dirichlet parameters, given expected counts."""
        return self.spelling + self.stems.prior(counts)


class _Model(NamedTuple):
    """What is learned; without jumps, every position is equally likely."""

    tables: TranslationTables
    nulls: NullTables
    jumps: tuple[Jumps, Jumps] | None


def _iterate(
    model: _Model, batches: Sequence[PairBatch], pairs: WordPairs, prior: _Prior
) -> _Model:
    """One iteration of EM."""
    counts, jump_counts = np.zeros(len(pairs) + 3, np.float32), (JumpCounts(), JumpCounts())
    for batch in batches:
        forward, backward = _posteriors(model, batch, jump_counts)
        linked = forward.linked
        if model.jumps is None:
            linked += backward.linked.transpose(2, 1, 0)
            linked *= np.float32(0.5)
        else:
            linked *= backward.linked.transpose(2, 1, 0)
        np.add.at(counts, batch.pair.ravel(), linked.ravel())
    jumps = model.jumps
    if jumps is not None:
        jumps = jump_counts[0].learned(jumps[0]), jump_counts[1].learned(jumps[1])
    tables = learned_tables(counts, pairs, prior.parameters(counts[:-3]))
    return model._replace(tables=tables, jumps=jumps)


def _posteriors(
    model: _Model, batch: PairBatch, counts: tuple[JumpCounts, JumpCounts] | None = None
) -> tuple[Posterior, Posterior]:
    """The posteriors of both directions: (J, B, I), and (I, B, J)."""
    emission = model.tables.forward[batch.pair]
    reverse_emission = np.ascontiguousarray(model.tables.backward[batch.pair].transpose(2, 1, 0))
    null, reverse_null = model.nulls.forward[batch.target.T], model.nulls.backward[batch.source.T]
    if model.jumps is None:
        return (
            without_order(emission, null, batch.num_source),
            without_order(reverse_emission, reverse_null, batch.num_target),
        )
    lengths = batch.num_source, batch.num_target
    forward_counts, backward_counts = counts or (None, None)
    return (
        forward_backward(emission, null, model.jumps[0], *lengths, forward_counts),
        forward_backward(
            reverse_emission, reverse_null, model.jumps[1], *lengths[::-1], backward_counts
        ),
    )


def _links(
    batch: PairBatch, forward: Posterior, backward: Posterior
) -> Iterator[tuple[int, Links, Links]]:
    """Each sentence with its links of both directions: the likeliest, if likelier than NULL."""
    sources, targets = forward.linked.argmax(axis=2), backward.linked.argmax(axis=2)
    has_source = forward.linked.max(axis=2) > forward.null
    has_target = backward.linked.max(axis=2) > backward.null
    for row, number in enumerate(batch.sentences.tolist()):
        num_source, num_target = int(batch.num_source[row]), int(batch.num_target[row])
        yield (
            number,
            frozenset(
                (source, target)
                for target, (source, linked) in enumerate(
                    zip(
                        sources[:num_target, row].tolist(),
                        has_source[:, row].tolist(),
                        strict=False,
                    )
                )
                if linked
            ),
            frozenset(
                (source, target)
                for source, (target, linked) in enumerate(
                    zip(
                        targets[:num_source, row].tolist(),
                        has_target[:, row].tolist(),
                        strict=False,
                    )
                )
                if linked
            ),
        )
