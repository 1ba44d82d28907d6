"""Targets: all processing of a text before and after the model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.fuzz.documents import TOKENS
from benchmarks.fuzz.target import MakeTarget, Target
from regard.config import CleaningSettings
from regard.documents.inline_tags import text_lines
from regard.tasks.translation.checks import quality_flags
from regard.tasks.translation.glossary import TermFinder
from regard.text import normalize, sentence_spans, words
from regard.text.masking import mask, restore
from regard.text.placeholders import (
    find_placeholders,
    lost_placeholders,
    protected_spans,
    unpaired_tags,
)
from regard.text.segments import segment_protected
from regard.text.sentencepiece_tokenizer import train_sentencepiece
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import train_chars, train_words

SEEDS = (
    "Copy %d%% of %(name)s to ${x}/{0:.2f}.so, or see https://a.b/c?d (--all, -x) at 12:30.",
    "{n, plural, one {# file} other {# files}} <a href='x'>`code`</a> &amp; me@example.org C:\\x",
    "Dr. Smith paid $5.30... “Really?” he asked! 他说：“好。”然后走了。 C'est l'été !",
)
LANGUAGES = ("en", "fr", "zh", "ja", "")
NAMES = ("X", "Y", "Z")
LINES = ("open the file X Y Z , . ( ) 猫 été d'", "The cat sleeps on 3 files.")


def _placeholders(text: str) -> None:
    find_placeholders(text)
    protected_spans(text)
    unpaired_tags(text)
    half = len(text) // 2
    lost_placeholders(text[:half], text[half:])


def _stand_ins(text: str) -> None:
    masked, stand_ins = mask(text, protected_spans(text), NAMES)
    restore(masked, stand_ins)
    restore(text, stand_ins)


def _language(text: str) -> str:
    """One of the languages, for each text always the same."""
    return LANGUAGES[len(text) % len(LANGUAGES)]


def _words(text: str) -> None:
    texts = [word.text for word in words(text, _language(text))]
    quality_flags(None, texts, texts[::2], CleaningSettings())


def _sentences(text: str) -> None:
    sentence_spans(normalize(text), _language(text))


def _terms(text: str) -> None:
    normal = normalize(text)
    terms = tuple((term, "x") for term in dict.fromkeys(normal.split(" ")[:3]) if term)
    if terms:
        TermFinder(terms).find(normal)


def _segments(tokenizer: Tokenizer) -> Callable[[str], None]:
    def run(text: str) -> None:
        segment_protected(text, _language(text), tokenizer, 8, NAMES)

    return run


def _tokenizer(tokenizer: Tokenizer) -> Callable[[str], None]:
    def run(text: str) -> None:
        ids = tokenizer.encode(text)
        tokenizer.encode_masked(text)
        tokenizer.pieces(ids)
        tokenizer.spans(text, ids)
        tokenizer.decode(ids)

    return run


def _target(run: Callable[[str], object]) -> MakeTarget:
    def make(_: Path) -> Target:
        seeds = [seed.encode() for seed in SEEDS]
        return Target(lambda data: run(data.decode("utf-8", "replace")), seeds, TOKENS)

    return make


def _with(
    task: Callable[[Tokenizer], Callable[[str], object]], train: Callable[[], Tokenizer]
) -> MakeTarget:
    return lambda folder: _target(task(train()))(folder)


def _word_tokenizer() -> Tokenizer:
    return train_words(LINES, None, "en")


TEXTS: dict[str, MakeTarget] = {
    "placeholders": _target(_placeholders),
    "stand-ins": _target(_stand_ins),
    "inline-tags": _target(text_lines),
    "normalization": _target(normalize),
    "words": _target(_words),
    "sentences": _target(_sentences),
    "terms": _target(_terms),
    "segments": _with(_segments, _word_tokenizer),
    "word-tokenizer": _with(_tokenizer, _word_tokenizer),
    "char-tokenizer": _with(_tokenizer, lambda: train_chars(LINES)),
    "sentencepiece": _with(_tokenizer, lambda: train_sentencepiece(LINES, 320)),
}
