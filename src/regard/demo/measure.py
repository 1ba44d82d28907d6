"""How good the model is on held-out sentences, and what its heads look at.

No attention is supervised: links and antecedents of the grammar are only compared with.
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
from regard.corpus.grammar import GrammarPair
from regard.corpus.grammar.measures import (
    AntecedentCount,
    GrammarScores,
    HeadRow,
    count_antecedents,
    grammar_scores,
    merge_counts,
    rank_heads,
)
from regard.demo.lesson import Language
from regard.evaluation.aer import grammar_alignment_error_rate
from regard.folder import Tokenizers
from regard.models.batch import batch_of
from regard.tasks.translation.translator import Translator

BATCH = 100


@dataclass(frozen=True)
class Measured:
    """All figures, as fractions from 0 to 1.

    heads  every head in every row on the way to the pronoun, the best first
    """

    scores: GrammarScores
    alignment_error_rate: float
    alignment: AlignmentSettings | None
    heads: list[tuple[HeadRow, AntecedentCount]]
    translations: list[str]

    @property
    def coreference_accuracy(self) -> float:
        """How often the best head's largest weight is on the antecedent."""
        return max((count.share for _, count in self.heads), default=0.0)

    def as_dict(self) -> dict[str, object]:
        """The figures for `--json`."""
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


def measure(translator: Translator, test: Sequence[GrammarPair], language: Language) -> Measured:
    """Translate the test sentences, and look at the heads while the right answers are written."""
    found = translator.translate(
        [pair.source for pair in test], settings=SearchOptions(beam=1), alignment=False, split=False
    )
    texts = [one.text for one in found]
    links: list[Links] = []
    counts: list[dict[HeadRow, AntecedentCount]] = []
    for part, batch in mapped(translator, test):
        links += _links(batch, translator.run.alignment, translator.tokenizers)
        counts.append(count_antecedents(part, batch))
    error = grammar_alignment_error_rate(links, test).error_rate if links else 1.0
    return Measured(
        grammar_scores(test, texts, language),
        error,
        translator.run.alignment,
        list(rank_heads(merge_counts(counts))),
        texts,
    )


def mapped(
    translator: Translator, pairs: Sequence[GrammarPair]
) -> Iterator[tuple[Sequence[GrammarPair], MappedBatch]]:
    """Maps of all heads while the pairs' targets are written, batch by batch."""
    tokenizers = translator.tokenizers
    for start in range(0, len(pairs), BATCH):
        part = pairs[start : start + BATCH]
        batch = batch_of(
            [tokenizers.source.encode(pair.source) for pair in part],
            [tokenizers.target.encode(pair.target) for pair in part],
        )
        sources = [tokenized_words(p.source, tokenizers.source, given=p.source_words) for p in part]
        targets = [tokenized_words(p.target, tokenizers.target, given=p.target_words) for p in part]
        yield part, MappedBatch(translator.network.maps(batch), sources, targets)


def _links(
    batch: MappedBatch, alignment: AlignmentSettings | None, tokenizers: Tokenizers
) -> list[Links]:
    if alignment is None:
        return []
    reading = AlignmentHead(alignment.layer, alignment.head, alignment.shift)
    found = []
    for row, (source, target) in enumerate(zip(batch.sources, batch.targets, strict=True)):
        weights = alignment_weights(
            batch.maps,
            reading,
            row,
            target_length=target.num_tokens + 1,
            source_length=source.num_tokens + 1,
        )
        found.append(word_links(weights, target, source, mutual=alignment.mutual))
    return found
