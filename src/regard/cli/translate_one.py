"""`regard translate` of something as a whole: HTML pages, and one text with its alternatives."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from regard.cli.line_input import read_text
from regard.cli.line_progress import LineProgress
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.config import SearchOptions
    from regard.tasks.translation.translation import TranslateKeywords, Translation
    from regard.tasks.translation.translator import Translator


def translate_pages(
    translator: Translator,
    settings: SearchOptions,
    glossary: dict[str, str],
    arguments: argparse.Namespace,
) -> None:
    """Translate pages; a page is written in the encoding that it was read in."""
    from regard.tasks.translation.pages import translate_html

    pages = arguments.text or [read_text(arguments.input, arguments.encoding)]
    translated = []
    with LineProgress(None, unit="texts") as shown:

        def progress(done: int, total: int) -> None:
            shown.total = total
            shown.advance(done - shown.done)

        for page in pages:
            translated.append(
                translate_html(
                    translator,
                    page,
                    settings=settings,
                    forbid=arguments.forbid,
                    glossary=glossary,
                    split=not arguments.no_split,
                    progress=progress,
                )
            )
    text = "".join(page + "\n" for page in translated) if arguments.text else translated[0]
    data = text.encode(arguments.encoding, "xmlcharrefreplace")
    if arguments.output:
        from regard.formats.compressed import open_write

        with open_write(arguments.output) as file:
            file.write(data)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)


def print_alternatives(
    translator: Translator, options: TranslateKeywords, arguments: argparse.Namespace
) -> None:
    """Print the translation with its confidence in a word, then others from that word on."""
    text: str = arguments.text[0]
    options["alignment"] = True
    best: Translation = translator.translate(text, **options)
    word, count = arguments.alternatives, arguments.n_best or 5
    if not 0 <= word < len(best.words):
        raise InputError(
            f"--alternatives must be a word of {best.text!r}, from 0 to {len(best.words) - 1}, "
            f"got {word}."
        )
    rows = [(best.text, best.confidence[word])]
    rows += translator.alternatives(text, best.text, word, count)
    for other, share in rows:
        if arguments.json:
            print(json.dumps({"text": other, "probability": share}, ensure_ascii=False))
        else:
            print(f"{share:.4f}\t{other}")
