"""A statistical word aligner: IBM Model 2 with a prior on the diagonal, learned by variational EM.

    P(f_j, a_j = i | e) = prior(i | j, m, n) · t(f_j | e_i)
    prior(0 | j) = NULL;   prior(i | j, m, n) ∝ exp(-λ |(i - ½)/n - (j - ½)/m|)

Each target word f_j comes from one source word e_i or from none (i = 0). The translation table t
has a sparse Dirichlet prior, λ is learned. After Dyer, Chahuneau and Smith (2013), "A simple,
fast, and effective reparameterization of IBM Model 2". It needs no attention model and no gold
links, so it can judge the former where the latter are missing.

Shapes: R target words of all sentences in a row, C cells (each target word with each source word
of its sentence and with none), P pairs of a source and a target word that occur in some cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.alignment.links import Links
from regard.errors import InputError

NULL = 0.08
"""The prior probability that a target word comes from no source word."""
SPARSITY = 0.01
"""The Dirichlet prior: below one it wants each source word to have few translations."""
TENSION = 4.0
"""λ in the beginning."""
TENSION_ROWS = 20_000
"""Target words from which λ is learned; it is one number, and more would only take longer."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Sentences = Sequence[Sequence[str]]


class BidirectionalLinks(NamedTuple):
    """Links of every sentence, in (source, target) order both times.

    forward   each target word has at most one source word
    backward  each source word has at most one target word
    """

    forward: list[Links]
    backward: list[Links]


def align_bidirectional(
    sources: Sentences, targets: Sentences, *, iterations: int = 6
) -> BidirectionalLinks:
    """The links of sentence pairs, given as words, learned from these pairs alone, both ways."""
    forward = align_words(sources, targets, iterations=iterations)
    backward = align_words(targets, sources, iterations=iterations)
    return BidirectionalLinks(forward, [frozenset((s, t) for t, s in links) for links in backward])


def align_words(sources: Sentences, targets: Sentences, *, iterations: int = 6) -> list[Links]:
    """The links of sentence pairs, at most one for each target word; deterministic.

    Case is ignored. Sentences to be aligned are among those learned from; memory is about 60 bytes
    a cell, 15 million cells for 60,000 pairs of 15 words.

    >>> english = [["the", "cat"], ["the", "dog"], ["a", "cat"], ["a", "dog"]] * 3
    >>> french = [["le", "chat"], ["le", "chien"], ["un", "chat"], ["un", "chien"]] * 3
    >>> [sorted(links) for links in align_words(english, french)[:2]]
    [[(0, 0), (1, 1)], [(0, 0), (1, 1)]]
    """
    if len(sources) != len(targets):
        raise InputError(
            f"there are {len(sources)} source and {len(targets)} target sentences to align; "
            "give as many of one as of the other."
        )
    cells = _cells(sources, targets)
    if not len(cells.rows):
        return [frozenset()] * len(sources)
    return _best(cells, _posterior(cells, iterations), len(sources))


@dataclass(frozen=True)
class _Cells:
    """Every target word with every source word of its sentence; place 0 is no source word.

    rows      (R,)  first cell of each target word
    row       (C,)  target word of each cell
    place     (C,)  place of the source word, from 1
    distance  (C,)  from the diagonal, 0 to 1; 0 for no source word
    pair      (C,)  pair of words of each cell
    left      (P,)  source word of each pair
    vocabulary      how many target words there are
    sentence  (R,)  sentence of each target word
    word      (R,)  place of each target word in its sentence, from 0
    """

    rows: Ints
    row: Ints
    place: Ints
    distance: Floats
    pair: Ints
    left: Ints
    vocabulary: int
    sentence: Ints
    word: Ints

    def sums(self, values: Floats) -> Floats:
        """(R,) the sum over each target word's cells."""
        return np.add.reduceat(values, self.rows)

    def beginning(self, num_rows: int) -> _Cells:
        """The cells of the first target words."""
        if num_rows >= len(self.rows):
            return self
        end = self.rows[num_rows]
        return replace(
            self,
            rows=self.rows[:num_rows],
            row=self.row[:end],
            place=self.place[:end],
            distance=self.distance[:end],
            pair=self.pair[:end],
            sentence=self.sentence[:num_rows],
            word=self.word[:num_rows],
        )


def _cells(sources: Sentences, targets: Sentences) -> _Cells:
    num_src = np.array([len(words) for words in sources], np.int64)
    num_tgt = np.array([len(words) for words in targets], np.int64)
    src = _numbers(["", *words] for words in sources)  # "" is no word, at place 0 of each
    tgt = _numbers(targets)

    sentence = np.repeat(np.arange(len(targets)), num_tgt)
    word = _counting(num_tgt)
    width = num_src[sentence] + 1
    row = np.repeat(np.arange(len(sentence)), width)
    place = _counting(width)
    first_word = np.concatenate([[0], np.cumsum(num_src + 1)[:-1]]) if len(num_src) else num_src
    left = src[first_word[sentence[row]] + place]
    vocabulary = int(tgt.max(initial=-1)) + 1
    found, pair = np.unique(left * max(vocabulary, 1) + tgt[row], return_inverse=True)

    along = (word + 0.5) / np.maximum(num_tgt[sentence], 1)
    across = (place - 0.5) / np.maximum(width - 1, 1)[row]
    distance = np.where(place == 0, 0.0, np.abs(across - along[row]))
    rows = np.cumsum(width) - width
    left_of_pair = found // max(vocabulary, 1)
    return _Cells(rows, row, place, distance, pair, left_of_pair, vocabulary, sentence, word)


def _numbers(sentences: Iterable[Sequence[str]]) -> Ints:
    """All words of all sentences in a row as numbers, in the order they are first seen."""
    seen: dict[str, int] = {}
    numbers = [seen.setdefault(word.casefold(), len(seen)) for words in sentences for word in words]
    return np.array(numbers, np.int64)


def _counting(lengths: Ints) -> Ints:
    """0, 1, …, n-1 for each n.

    >>> _counting(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    starts = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) - np.repeat(starts, lengths))


def _posterior(cells: _Cells, iterations: int) -> Floats:
    """(C,) the probability of each source word for its target word, after EM."""
    translation = np.full(len(cells.left), 1.0 / cells.vocabulary)
    tension, few = TENSION, cells.beginning(TENSION_ROWS)
    for iteration in range(iterations + 1):
        joint = translation[cells.pair] * _prior(cells, tension)
        posterior = joint / cells.sums(joint)[cells.row]
        if iteration == iterations:
            break
        counts = np.bincount(cells.pair, posterior, minlength=len(cells.left))
        totals = np.bincount(cells.left, counts)
        mass = np.exp(_digamma(totals + SPARSITY * cells.vocabulary))
        translation = np.exp(_digamma(counts + SPARSITY)) / mass[cells.left]
        if iteration:
            tension = _tension(few, posterior[: len(few.row)], tension)
    return np.asarray(posterior)


def _prior(cells: _Cells, tension: float) -> Floats:
    """(C,) the prior of each cell, given its target word."""
    closeness = np.exp(-tension * cells.distance)
    closeness[cells.rows] = 0.0
    total = cells.sums(closeness)
    scale = np.divide(1 - NULL, total, out=np.zeros_like(total), where=total > 0)
    prior = closeness * scale[cells.row]
    prior[cells.rows] = np.where(total > 0, NULL, 1.0)  # an empty source leaves only null
    return np.asarray(prior)


def _tension(cells: _Cells, posterior: Floats, tension: float, steps: int = 3) -> float:
    """λ by Newton's method: the prior's mean distance is to be the posterior's."""
    linked = posterior.copy()
    linked[cells.rows] = 0.0
    weight = cells.sums(linked)  # how much of each target word is linked at all
    if not weight.any():
        return tension
    seen = float(linked @ cells.distance)
    for _ in range(steps):
        prior = _prior(cells, tension) / (1 - NULL)
        prior[cells.rows] = 0.0
        mean = cells.sums(prior * cells.distance)
        spread = cells.sums(prior * cells.distance**2) - mean**2
        slope = float(weight @ spread)
        if slope <= 0:
            break
        tension = float(np.clip(tension + (weight @ mean - seen) / slope, 0.1, 20.0))
    return tension


def _digamma(x: NDArray[np.floating]) -> Floats:
    """ψ(x) for x > 0: by recurrence to above 6, then the asymptotic series.

    >>> _digamma(np.array([1.0])).round(6).tolist()
    [-0.577216]
    """
    result = np.zeros_like(x)
    x = x.copy()
    for _ in range(6):
        small = x < 6
        if not small.any():
            break
        result[small] -= 1 / x[small]
        x[small] += 1
    square = 1 / x**2
    series = square * (1 / 12 - square * (1 / 120 - square / 252))
    return np.asarray(result + np.log(x) - 0.5 / x - series)


def _best(cells: _Cells, posterior: Floats, num_sentences: int) -> list[Links]:
    """Each target word with its likeliest source word (the first of equals), if it has one."""
    largest = np.maximum.reduceat(posterior, cells.rows)
    (at,) = np.nonzero(posterior == largest[cells.row])
    row, first = np.unique(cells.row[at], return_index=True)
    place = cells.place[at[first]]
    found: list[list[tuple[int, int]]] = [[] for _ in range(num_sentences)]
    for number, source in zip(row[place > 0].tolist(), place[place > 0].tolist(), strict=True):
        found[cells.sentence[number]].append((source - 1, int(cells.word[number])))
    return [frozenset(links) for links in found]
