"""How well two texts translate each other, by a trained model.

Shapes: V target words, U source words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from regard.alignment.tokenized_words import Array, TokenizedWords, tokenized_words
from regard.decoding.length_groups import length_groups
from regard.text import EOS

if TYPE_CHECKING:
    from regard.corpus.pairs import Pair
    from regard.decoding import Hypothesis
    from regard.decoding.ctranslate2_engine import CTranslate2Engine
    from regard.tasks.translation.translator import Translator


class PairScore(NamedTuple):
    """Scores of a pair, from 0 to 1.

    probability  exp(log p(target | source) / tokens): the geometric mean of a token's probability
    alignment    how far the words of both sides have a partner (`alignment_score`); None without
                 attention
    """

    probability: float
    alignment: float | None


def score_pairs(
    translator: Translator, pairs: Sequence[Pair], *, alignment: bool = True
) -> list[PairScore | None]:
    """The scores of pairs; None for one that has more tokens than the model takes.

    Probabilities alone are computed by CTranslate2 if it runs the model in fp32; else by our own
    network, which has the attention of given text sooner: CTranslate2 would force it, token by
    token.
    """
    room = translator.max_length - 1
    sources = translator.tokenizers.source.encode_all([pair.source for pair in pairs])
    targets = translator.tokenizers.target.encode_all([pair.target for pair in pairs])
    fitting = [n for n in range(len(pairs)) if max(len(sources[n]), len(targets[n])) <= room]
    given = _EncodedPairs(
        translator,
        [pairs[n] for n in fitting],
        [sources[n] for n in fitting],
        [targets[n] for n in fitting],
    )
    engine = None if alignment else translator.prepare_engine().engine
    if engine is not None and engine.precision == "fp32":
        found = _score_by_ctranslate2(engine, given)
    else:
        found = _score_by_network(given, alignment)
    scores: list[PairScore | None] = [None] * len(pairs)
    for n, pair_score in zip(fitting, found, strict=True):
        scores[n] = pair_score
    return scores


class _EncodedPairs(NamedTuple):
    """Pairs that fit the model, with the ids of both sides."""

    translator: Translator
    pairs: Sequence[Pair]
    sources: Sequence[Sequence[int]]
    targets: Sequence[Sequence[int]]

    def words(self, row: int) -> tuple[TokenizedWords, TokenizedWords]:
        """The words of a pair and of its translation, with their tokens."""
        info, tokenizers, pair = self.translator.info, self.translator.tokenizers, self.pairs[row]
        return (
            tokenized_words(
                pair.source, tokenizers.source, info.source_language, ids=self.sources[row]
            ),
            tokenized_words(
                pair.target, tokenizers.target, info.target_language, ids=self.targets[row]
            ),
        )


def _score_by_ctranslate2(engine: CTranslate2Engine, given: _EncodedPairs) -> list[PairScore]:
    from regard.decoding.hypothesis import make_hypothesis

    translator, _, sources, targets = given
    order = sorted(range(len(sources)), key=lambda row: len(sources[row]) + len(targets[row]))
    hypotheses = [make_hypothesis([*targets[row], EOS], (), 1.0) for row in order]
    ids = [sources[row] for row in order]  # those of similar length share batches
    scored = engine.token_log_probabilities(ids, hypotheses, translator.run.decoding)
    scores = dict(zip(order, map(_probability, scored), strict=True))
    return [PairScore(scores[row], None) for row in range(len(sources))]


def _score_by_network(given: _EncodedPairs, alignment: bool) -> list[PairScore]:
    import torch

    from regard.decoding import score
    from regard.models.batch import source_of
    from regard.worker_pool import WorkerPool

    translator, _, sources, targets = given
    lengths = [len(source) + len(target) for source, target in zip(sources, targets, strict=True)]
    groups = length_groups(lengths, translator.run.decoding, translator.threads)

    def score_group(rows: list[int]) -> list[PairScore]:
        ids, labels = [sources[row] for row in rows], [targets[row] for row in rows]
        with torch.inference_mode():
            source = source_of(ids).to(translator.device)
            scored = score(translator.network, source, labels)
        probabilities = map(_probability, scored)
        if not alignment:
            return [PairScore(probability, None) for probability in probabilities]
        maps = translator.maps(ids, labels)
        aligned = []
        for place, row in enumerate(rows):
            weights = translator.word_weights(maps, place, *given.words(row))
            aligned.append(None if weights is None else alignment_score(weights))
        return [PairScore(*both) for both in zip(probabilities, aligned, strict=True)]

    scores: dict[int, PairScore] = {}
    with WorkerPool(translator.threads) as workers:
        for group, group_scores in zip(groups, workers.map(score_group, groups), strict=True):
            scores |= zip(group, group_scores, strict=True)
    return [scores[row] for row in range(len(sources))]


def _probability(hypothesis: Hypothesis) -> float:
    """The geometric mean of the probabilities of its tokens."""
    logs = hypothesis.token_log_probabilities
    return math.exp(sum(logs) / max(len(logs), 1))


def alignment_score(weights_VU: Array) -> float:
    """How far each word has a partner on the other side, from 0 to 1.

        ½ · mean over v of max over u of weights[v, u] + ½ · mean over u of max over v of the same

    Words of a wrong translation attend to many words a little, or to the end of the sentence.
    """
    if 0 in weights_VU.shape:
        return 0.0
    of_target, of_source = weights_VU.max(axis=1).mean(), weights_VU.max(axis=0).mean()
    return float((of_target + of_source) / 2)
