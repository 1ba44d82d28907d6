"""Whole documents through a translator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, Unpack

from regard.documents.html import parse_html
from regard.documents.projection import LinkedTranslation
from regard.tasks.translation.translation import TranslateKeywords, Translation
from regard.tasks.translation.translator import Translator

Progress = Callable[[int, int], None]
Rendered = TypeVar("Rendered", str, bytes, covariant=True)


class Renderable(Protocol[Rendered]):
    """A document, as text or as bytes."""

    @property
    def texts(self) -> list[str]: ...
    @property
    def has_markup(self) -> bool: ...
    def render(self, translations: Sequence[LinkedTranslation]) -> Rendered: ...


def translate_document(
    translator: Translator,
    document: Renderable[Rendered],
    *,
    progress: Progress = lambda done, total: None,
    warn: Callable[[str], None] = lambda warning: None,
    **options: Unpack[TranslateKeywords],
) -> Rendered:
    """A document with its texts translated and everything else kept.

    progress  receives the number of texts that are done and of all; of equal texts one counts
    warn      receives the warnings of each text, with the text
    options   those of `Translator.translate`; `protect` is True by default
    """
    options.setdefault("protect", True)
    texts = document.texts
    unique = list(dict.fromkeys(texts))
    done: list[Translation] = []
    options["alignment"] = document.has_markup
    for window in translator.translate_lines(unique, **options):
        done += window
        progress(len(done), len(unique))
    for text, translation in zip(unique, done, strict=True):
        for warning in translation.warnings:
            warn(f"{text!r}: {warning}")
    by_text = dict(zip(unique, done, strict=True))
    return document.render([by_text[text] for text in texts])


def translate_html(
    translator: Translator,
    source: str,
    *,
    progress: Progress = lambda done, total: None,
    **options: Unpack[TranslateKeywords],
) -> str:
    """A page, or a part of one, with its text translated and its markup kept."""
    return translate_document(translator, parse_html(source), progress=progress, **options)
