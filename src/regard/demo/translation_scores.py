"""Scores of the demonstration's model on held-out sentences, and of its attention heads.

Unless the model is guided, no attention is supervised: the grammar's links and antecedents are only
compared with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from regard.alignment import (
    AlignmentHead,
    Links,
    MappedBatch,
    alignment_weights,
    tokenized_words,
    word_links,
)
from regard.config import AlignmentSettings, SearchOptions
from regard.corpus.grammar import GrammarPair, Language
from regard.corpus.grammar.measures.coreference import (
    AntecedentCount,
    HeadRow,
    count_antecedents,
    merge_counts,
    rank_heads,
)
from regard.corpus.grammar.measures.translation import GrammarScores, grammar_scores
from regard.evaluation.aer import grammar_alignment_error_rate
from regard.models.batch import batch_of
from regard.tasks.translation.translator import Translator

BATCH = 100


@dataclass(frozen=True)
class DemoScores:
    """All scores, as fractions from 0 to 1.

    heads  every head in every row on the path to the pronoun, the best first
    """

    scores: GrammarScores
    alignment_error_rate: float
    alignment: AlignmentSettings | None
    heads: list[tuple[HeadRow, AntecedentCount]]

    @property
    def coreference_accuracy(self) -> float:
        """How often the best head's largest weight is on the antecedent."""
        return max((count.share for _, count in self.heads), default=0.0)

    def as_dict(self) -> dict[str, object]:
        """The scores for `--json`."""
        return {
            "exact_match": self.scores.exact_match,
            "pronoun_accuracy": self.scores.pronoun_accuracy,
            "sense_accuracy": self.scores.sense_accuracy,
            "other_words_right": self.scores.other_words_right,
            "coreference_accuracy": self.coreference_accuracy,
            "alignment_error_rate": self.alignment_error_rate,
            "test_sentences": self.scores.sentences,
            "alignment": self.alignment and asdict(self.alignment),
            "coreference_heads": [
                {**head._asdict(), "accuracy": count.share, "pronouns": count.total}
                for head, count in self.heads
            ],
        }


def score(translator: Translator, test: Sequence[GrammarPair], language: Language) -> DemoScores:
    """Translate the test sentences, and record all heads with the references forced."""
    translations = translator.translate(
        [pair.source for pair in test], settings=SearchOptions(beam=1), alignment=False, split=False
    )
    links: list[Links] = []
    counts: list[dict[HeadRow, AntecedentCount]] = []
    for pairs, batch in mapped_batches(translator, test):
        links += _links(batch, translator.run.alignment)
        counts.append(count_antecedents(pairs, batch))
    return DemoScores(
        grammar_scores(test, [translation.text for translation in translations], language),
        grammar_alignment_error_rate(links, test).error_rate if links else 1.0,
        translator.run.alignment,
        rank_heads(merge_counts(counts)),
    )


def mapped_batches(
    translator: Translator, pairs: Sequence[GrammarPair]
) -> Iterator[tuple[Sequence[GrammarPair], MappedBatch]]:
    """Maps of all heads with the pairs' targets forced, batch by batch."""
    tokenizers = translator.tokenizers
    for start in range(0, len(pairs), BATCH):
        part = pairs[start : start + BATCH]
        batch = batch_of(
            [tokenizers.source.encode(pair.source) for pair in part],
            [tokenizers.target.encode(pair.target) for pair in part],
        )
        sources = [
            tokenized_words(p.source, tokenizers.source, word_list=p.source_words) for p in part
        ]
        targets = [
            tokenized_words(p.target, tokenizers.target, word_list=p.target_words) for p in part
        ]
        yield part, MappedBatch(translator.network.maps(batch), sources, targets)


def _links(batch: MappedBatch, alignment: AlignmentSettings | None) -> list[Links]:
    """Word links of a batch by the model's alignment head."""
    if alignment is None:
        return []
    head = AlignmentHead(alignment.layer, alignment.head, alignment.shift)
    links = []
    for row, (source, target) in enumerate(zip(batch.sources, batch.targets, strict=True)):
        weights = alignment_weights(
            batch.maps,
            head,
            row,
            target_length=target.num_tokens + 1,
            source_length=source.num_tokens + 1,
        )
        links.append(word_links(weights, target, source, mutual=alignment.mutual))
    return links
