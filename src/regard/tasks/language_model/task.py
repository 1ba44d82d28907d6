"""Training of language models: from plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from torch import nn

from regard.config import Run
from regard.corpus.pairs import CleaningReport, Pair
from regard.folder import Tokenizers
from regard.formats import read_lines, require_content
from regard.models.lm import LanguageModel
from regard.tasks.language_model.validation import LanguageModelDevelopmentSet
from regard.tasks.text.encoded_corpus import EncodedCorpus, TextDevelopmentSet
from regard.tasks.text.task import TextTask, shortened, train_tokenizer
from regard.text import normalize
from regard.text.words import has_long_word


class LanguageModelTask(TextTask):
    """Trains a model of one text's tokens."""

    def build(self, settings: Any, source_vocab: int, target_vocab: int) -> nn.Module:
        return LanguageModel(settings, target_vocab)

    def read(
        self, files: Sequence[str], run: Run, encoding: str
    ) -> tuple[list[Pair], CleaningReport]:
        """Read paragraphs, without those that have too long a word."""
        report, lines = CleaningReport(), list[Pair]()
        longest = run.cleaning.max_word_length
        for path in files:
            require_content(path)
            for line in _paragraphs(read_lines(path, encoding)):
                report.read += 1
                text = normalize(line)
                if longest and has_long_word(text, longest):
                    report.dropped["word"] += 1
                    report.first.setdefault("word", f"{path}: {shortened(text)}")
                elif text:
                    lines.append(Pair(text, text))
        report.kept = len(lines)
        return lines, report

    def train_tokenizers(self, pairs: Sequence[Pair], run: Run) -> Tokenizers:
        texts, seed = (pair.target for pair in pairs), run.training.seed
        tokenizer = train_tokenizer(texts, run.text, run.target_language, seed)
        return Tokenizers(tokenizer, tokenizer)

    def encode(
        self, pairs: Sequence[Pair], tokenizers: Tokenizers, run: Run, report: CleaningReport
    ) -> EncodedCorpus:
        """Encode lines, cut into pieces that the model can hold."""
        texts = [pair.target for pair in pairs]
        pieces = encode_text(texts, tokenizers, run.model.max_length)
        return self.encoded_corpus(None, pieces, tokenizers, run)

    def development_set(
        self, corpus: EncodedCorpus, pairs: Sequence[Pair], tokenizers: Tokenizers, run: Run
    ) -> TextDevelopmentSet:
        """Return the development set, some of whose texts are continued at each validation."""
        return LanguageModelDevelopmentSet(corpus, tokenizers)

    def example(self, run: Run) -> list[str]:
        return ["Once upon a time"]


def encode_text(lines: Sequence[str], tokenizers: Tokenizers, max_length: int) -> list[list[int]]:
    """Encode each line, a longer one cut into pieces that the model can hold."""
    pieces = []
    for ids in tokenizers.target.encode_all(lines):
        room = max_length - 1 if max_length else max(1, len(ids))  # BOS, or EOS, is with them
        pieces += [ids[start : start + room] for start in range(0, len(ids), room)]
    return pieces


def _paragraphs(lines: Iterable[str]) -> Iterable[str]:
    """Join the lines between blank ones; without blank lines, each is by itself."""
    stripped = [line.strip() for line in lines]
    while stripped and not stripped[-1]:
        stripped.pop()
    if "" not in stripped:
        return stripped
    paragraphs, current = [], list[str]()
    for line in [*stripped, ""]:
        if line:
            current.append(line)
        elif current:
            paragraphs.append(" ".join(current))
            current = []
    return paragraphs
