"""How well two texts translate each other, by a trained model.

Shapes: V target words, U source words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from regard.alignment.tokenized_words import Array, tokenized_words
from regard.decoding.length_groups import length_groups
from regard.worker_pool import WorkerPool

if TYPE_CHECKING:
    from regard.corpus.pairs import Pair
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
    """The scores of pairs; None for one that has more tokens than the model takes."""
    import torch

    from regard.decoding import score
    from regard.models.batch import source_of

    room = translator.max_length - 1
    sources = translator.tokenizers.source.encode_all([pair.source for pair in pairs])
    targets = translator.tokenizers.target.encode_all([pair.target for pair in pairs])
    fitting = [
        n for n in range(len(pairs)) if max(len(sources[n]), len(targets[n])) <= room
    ]  # fmt: skip
    lengths = [len(sources[n]) + len(targets[n]) for n in fitting]
    groups = length_groups(lengths, translator.run.decoding, translator.threads)

    def score_group(group: list[int]) -> list[PairScore]:
        rows = [fitting[index] for index in group]
        ids, labels = [sources[n] for n in rows], [targets[n] for n in rows]
        with torch.inference_mode():
            source = source_of(ids).to(translator.device)
            scored = score(translator.network, source, labels)
        probabilities = [math.exp(hypothesis.score) for hypothesis in scored]
        if not alignment:
            return [PairScore(probability, None) for probability in probabilities]
        maps = translator.maps(ids, labels)
        info = translator.info
        found = []
        for row, n in enumerate(rows):
            words = tokenized_words(
                pairs[n].source, translator.tokenizers.source, info.source_language, ids=ids[row]
            )
            others = tokenized_words(
                pairs[n].target, translator.tokenizers.target, info.target_language, ids=labels[row]
            )
            weights = translator.word_weights(maps, row, words, others)
            found.append(None if weights is None else alignment_score(weights))
        return [PairScore(*both) for both in zip(probabilities, found, strict=True)]

    scores: list[PairScore | None] = [None] * len(pairs)
    with WorkerPool(translator.threads) as pool:
        done = pool.map(score_group, groups)
    for group, group_scores in zip(groups, done, strict=True):
        for index, pair_score in zip(group, group_scores, strict=True):
            scores[fitting[index]] = pair_score
    return scores


def alignment_score(weights_VU: Array) -> float:
    """How far each word has a partner on the other side, from 0 to 1.

        ½ · mean over v of max over u of weights[v, u] + ½ · mean over u of max over v of the same

    Words of a wrong translation attend to many words a little, or to the end of the sentence.
    """
    if 0 in weights_VU.shape:
        return 0.0
    of_target, of_source = weights_VU.max(axis=1).mean(), weights_VU.max(axis=0).mean()
    return float((of_target + of_source) / 2)
