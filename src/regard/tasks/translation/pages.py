"""Whole documents through a translator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from regard.documents.document import Document
from regard.tasks.translation.translation import TranslateKeywords, Translation
from regard.tasks.translation.translator import Translator

Progress = Callable[[int, int], None]


def translate_document(
    translator: Translator,
    document: Document,
    *,
    progress: Progress = lambda done, total: None,
    warn: Callable[[str], None] = lambda warning: None,
    **options: Unpack[TranslateKeywords],
) -> bytes:
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
