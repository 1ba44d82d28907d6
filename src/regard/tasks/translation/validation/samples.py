"""Samples of translations: outputs of a validation with the word links of the attention.

Which head is read as alignment is chosen at each validation, as at the end of training: the one
that agrees best with a statistical aligner, which needs no network and runs once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from regard.alignment import (
    AlignmentHead,
    BidirectionalLinks,
    MappedBatch,
    TokenizedWords,
    align_bidirectional,
    alignment_weights,
    layer_maps,
    select_alignment_head,
    tokenized_output,
    tokenized_words,
    word_links,
)
from regard.corpus.pairs import Pair
from regard.decoding import Hypothesis, word_confidence
from regard.evaluation.scores import chrf_metric
from regard.folder import Tokenizers
from regard.models.batch import batch_of
from regard.tasks.translation.tagged_pairs import encode_sources, target_of
from regard.text.words import word_texts
from regard.training.logs.samples import ValidationSample, spread_rows

NUM_COMPARED = 40  # sentences that heads are compared on
NUM_ALIGNED = 800  # sentences of the statistical aligner, those compared included


class ComparedPairs(NamedTuple):
    """Sentences that heads are compared on: ids and words of both sides, and statistical links."""

    source_ids: list[list[int]]
    target_ids: list[list[int]]
    sources: list[TokenizedWords]
    targets: list[TokenizedWords]
    aligned: BidirectionalLinks


class TranslationSampler:
    """Chooses some sentences of a development set, and shows translations of them.

    rows  which of the pairs are shown, the shortest first
    """

    def __init__(
        self, pairs: Sequence[Pair], shown: int, tokenizers: Tokenizers, languages: tuple[str, str]
    ) -> None:
        self.pairs, self.tokenizers, self.languages = pairs, tokenizers, languages
        sources = encode_sources(pairs[:shown], tokenizers)
        self._compared: ComparedPairs | None = None
        self.rows = spread_rows([len(ids) for ids in sources])

    def samples(
        self, network: Any, device: torch.device, hypotheses: Sequence[Hypothesis]
    ) -> tuple[ValidationSample, ...]:
        """Return the chosen sentences with their translations out of those of all pairs."""
        chosen = [(self.pairs[row], hypotheses[row]) for row in self.rows]
        room = network.max_length - 1
        encoded = encode_sources([pair for pair, _ in chosen], self.tokenizers)
        sources = [ids[:room] for ids in encoded]
        targets = [list(hypothesis.tokens[:room]) for _, hypothesis in chosen]
        with torch.no_grad():
            head = self._head(network, device)
            maps = network.maps(batch_of(sources, targets).to(device)) if head else []
        result, chrf = [], chrf_metric()
        for row, (pair, hypothesis) in enumerate(chosen):
            source = self._source(pair, sources[row])
            language = target_of(pair, self.languages[1])
            target = tokenized_output(targets[row], self.tokenizers.target, language)
            output = self.tokenizers.target.decode(hypothesis.tokens)
            links: Sequence[tuple[int, int]] = ()
            if head:
                lengths = len(targets[row]) + 1, len(sources[row]) + 1
                weights = alignment_weights(
                    maps, head, row, target_length=lengths[0], source_length=lengths[1]
                )
                links = sorted(word_links(weights, target, source))
            confidence = word_confidence(hypothesis, target.tokens)
            score = chrf.sentence_score(output, [pair.target]).score
            result.append(
                ValidationSample(
                    source=pair.source,
                    output=output,
                    reference=pair.target,
                    source_words=tuple(word.text for word in source.words),
                    words=tuple(word.text for word in target.words),
                    links=tuple(links),
                    confidence=tuple(round(share, 3) for share in confidence),
                    score=round(score, 1),
                )
            )
        return tuple(result)

    def _source(self, pair: Pair, ids: Sequence[int]) -> TokenizedWords:
        return tokenized_words(pair.source, self.tokenizers.source, self.languages[0], ids=ids)

    def _head(self, network: Any, device: torch.device) -> AlignmentHead | None:
        """Return the cross-attention that aligns best now; None if there is none over tokens."""
        if self._compared is None:
            self._compared = self._compare(network.max_length - 1)
        compared = self._compared
        if not compared.sources:
            return None
        maps = network.maps(batch_of(compared.source_ids, compared.target_ids).to(device))
        if not layer_maps(maps, "cross"):
            return None
        mapped = MappedBatch(maps, compared.sources, compared.targets)
        return select_alignment_head([mapped], compared.aligned).best

    def _compare(self, room: int) -> ComparedPairs:
        """Return pairs of at most `room` tokens, aligned together with more sentences."""
        tokenizers, compared = self.tokenizers, self.pairs[:NUM_COMPARED]
        encoded = tokenizers.target.encode_all([pair.target for pair in compared])
        ids = list(zip(encode_sources(compared, tokenizers), encoded, strict=True))
        kept = [n for n, sides in enumerate(ids) if max(map(len, sides)) <= room]
        sources = [self._source(self.pairs[n], ids[n][0]) for n in kept]
        languages = [target_of(pair, self.languages[1]) for pair in self.pairs[:NUM_ALIGNED]]
        targets = [
            tokenized_words(compared[n].target, tokenizers.target, languages[n], ids=ids[n][1])
            for n in kept
        ]
        others = self.pairs[NUM_COMPARED:NUM_ALIGNED]
        aligned = align_bidirectional(
            [[word.text for word in sentence.words] for sentence in sources]
            + [word_texts(pair.source, self.languages[0]) for pair in others],
            [[word.text for word in sentence.words] for sentence in targets]
            + list(map(word_texts, (p.target for p in others), languages[NUM_COMPARED:])),
        )
        source_ids, target_ids = ([ids[n][side] for n in kept] for side in (0, 1))
        return ComparedPairs(source_ids, target_ids, sources, targets, aligned)
