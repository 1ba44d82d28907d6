"""From text to what a run needs: tokenisers, the corpus as ids, and a development set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike

from regard.config import Run, TextSettings
from regard.corpus.pairs import CleaningReport, Pair, clean
from regard.corpus.splits import dev_size, split_dev
from regard.errors import InputError
from regard.folder import Tokenizers
from regard.formats import ReadReport, read_lines, read_pairs, require_content
from regard.text import Tokenizer, normalise
from regard.text.char_tokenizer import train_chars
from regard.text.sentencepiece_tokenizer import train_sentencepiece
from regard.text.word_tokenizer import train_words
from regard.text.words import has_long_word
from regard.training.dev import Dev
from regard.training.examples import Examples, encoded, encoded_text, is_paired

Files = Sequence[str | PathLike[str]]


@dataclass(frozen=True)
class Texts:
    """A corpus before it becomes ids: pairs, or for a model of one language pairs of equal sides.

    report is the account of what was dropped.
    """

    train: list[Pair]
    dev: list[Pair]
    report: CleaningReport


@dataclass(frozen=True)
class Prepared:
    """All that a run is made of; `run` has the longest sentence as the corpus showed it."""

    run: Run
    tokenizers: Tokenizers
    examples: Examples
    dev: Dev


def read_texts(files: Files, dev_files: Files, run: Run, encoding: str = "utf-8") -> Texts:
    """Read and clean files; without files for the development set, split one off."""
    train, report = _read(files, run, encoding)
    if not train:
        raise InputError(
            f"{', '.join(map(str, files))}: no sentence is left after cleaning "
            f"({report.read} were read); look at the cleaning settings."
        )
    if dev_files:
        dev, _ = _read(dev_files, run, encoding)
        if not dev:
            raise InputError(f"{', '.join(map(str, dev_files))}: no sentence is in it.")
        return Texts(train, dev, report)
    if len(train) < 4:
        raise InputError(f"{len(train)} sentences are too few to learn from; give at least 4.")
    train, dev = split_dev(train, dev_size(len(train)), run.training.seed)
    return Texts(train, dev, report)


def prepare(texts: Texts, run: Run) -> Prepared:
    """Learn the tokenisers and encode the corpus; pairs with too many tokens are counted."""
    tokenizers = train_tokenizers(texts.train, run)
    examples = _examples(texts.train, tokenizers, run, texts.report)
    if not run.model.max_length:
        longest = int(max(examples.lengths_src.max(), examples.lengths_tgt.max()))
        run = replace(run, model=replace(run.model, max_length=longest))
    return Prepared(run, tokenizers, examples, dev_set(texts.dev, tokenizers, run))


def dev_set(pairs: Sequence[Pair], tokenizers: Tokenizers, run: Run) -> Dev:
    """The development set as ids and as text."""
    shown = run.training.validate_sentences if is_paired(run.model) else 0
    return Dev(_examples(pairs, tokenizers, run), pairs, shown)


def train_tokenizers(pairs: Sequence[Pair], run: Run) -> Tokenizers:
    """Tokenisers of both sides, or one for both."""
    sources, targets = (pair.source for pair in pairs), (pair.target for pair in pairs)
    if not is_paired(run.model):
        one = one_tokenizer(targets, run.text, run.target_language, run.training.seed)
        return Tokenizers(one, one)
    if run.text.shared:
        both = chain.from_iterable((pair.source, pair.target) for pair in pairs)
        one = one_tokenizer(both, run.text, _shared_language(run), run.training.seed)
        return Tokenizers(one, one)
    return Tokenizers(
        one_tokenizer(sources, run.text, run.source_language, run.training.seed),
        one_tokenizer(targets, run.text, run.target_language, run.training.seed),
    )


def _shared_language(run: Run) -> str:
    """What language a word tokeniser of both sides speaks, which matters where spaces are."""
    from regard.text import is_spaceless

    if run.text.unit == "word" and is_spaceless(run.source_language) != is_spaceless(
        run.target_language
    ):
        raise InputError(
            f"{run.languages} have words with and without spaces, which one word tokeniser cannot "
            "both write; set text.shared to false (and model.tied to output)."
        )
    return run.target_language


def one_tokenizer(lines: Iterable[str], text: TextSettings, language: str, seed: int) -> Tokenizer:
    """The tokeniser of some text that the settings describe."""
    match text.unit:
        case "word":
            return train_words(lines, text.vocab_size, language, text.min_count)
        case "char":
            return train_chars(lines, text.vocab_size, language, text.min_count)
        case unit:
            return train_sentencepiece(lines, text.vocab_size, unit, seed)


def _examples(
    pairs: Sequence[Pair], tokenizers: Tokenizers, run: Run, report: CleaningReport | None = None
) -> Examples:
    """The pairs as ids; those with too many tokens are dropped or cut, and counted in `report`."""
    room, seed, longest = run.training.batch_tokens, run.training.seed, run.model.max_length
    if not is_paired(run.model):
        lines = [pair.target for pair in pairs]
        return Examples(None, encoded_text(lines, tokenizers, longest), room, seed)
    found = encoded(pairs, tokenizers, longest, run.cleaning.truncate)
    if not found.sources:
        raise InputError(
            f"every sentence has more than {longest} tokens; raise model.max_length, or cut "
            "sentences with --cleaning.truncate true."
        )
    if report is not None and run.cleaning.truncate:
        report.truncated = len(found.too_long)
    elif report is not None and found.too_long:
        report.drop_after_encoding(len(found.too_long), _shortened(pairs[found.too_long[0]].source))
    return Examples(found.sources, found.targets, room, seed)


def _shortened(text: str, width: int = 40) -> str:
    """The beginning of a sentence, in quotation marks."""
    return f"“{text}”" if len(text) <= width else f"“{text[:width].rstrip()} …”"


def _read(files: Files, run: Run, encoding: str) -> tuple[list[Pair], CleaningReport]:
    if is_paired(run.model):
        named = run.source_language and run.target_language != run.source_language
        languages = (run.source_language, run.target_language) if named else None
        passed_over = ReadReport()
        pairs = read_pairs(files, languages, encoding=encoding, report=passed_over)
        return clean(pairs, run.cleaning, passed_over)
    report = CleaningReport()
    kept: list[Pair] = []
    for path in files:
        require_content(path)
        for line in _paragraphs(read_lines(path, encoding)):
            report.read += 1
            text = normalise(line)
            longest = run.cleaning.max_word_length
            if longest and has_long_word(text, longest):
                report.dropped["word"] += 1
                report.first.setdefault("word", f"{path}: {_shortened(text)}")
            elif text:
                kept.append(Pair(text, text))
    report.kept = len(kept)
    return kept, report


def _paragraphs(lines: Iterable[str]) -> Iterable[str]:
    """Paragraphs, where blank lines part them; else every line by itself."""
    every = [line.strip() for line in lines]
    while every and not every[-1]:
        every.pop()
    if "" not in every:
        return every
    paragraphs, current = [], []
    for line in [*every, ""]:
        if line:
            current.append(line)
        elif current:
            paragraphs.append(" ".join(current))
            current = []
    return paragraphs
