"""Translations and generated texts as notebooks show them: the page's view in a frame."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from regard.text.tokenizer import BOS, SPECIALS
from regard.translator.seen import viewed
from regard.views import Viewed
from regard.views.html.notebook import Page

if TYPE_CHECKING:
    from regard.tasks.language_model.generator import Generated
    from regard.translator.translation import Translation


def translation_page(translation: Translation, title: str = "regard") -> Page:
    """Every sentence with its words, their links and, if they were asked for, its maps."""
    shown = (viewed(one, translation.maker) for one in translation.sentences)
    return Page(title, tuple(shown))


def translation_html(translation: Translation) -> str:
    """What a notebook shows; without words (no alignment was asked for) the text alone."""
    if not any(sentence.words for sentence in translation.sentences):
        return _plain(translation.text)
    return translation_page(translation)._repr_html_()


def generated_html(generated: Generated) -> str:
    """What a notebook shows: the maps over the text, or without them the text alone."""
    over_words = [one for one in generated.attention if one.over == "keys"]
    if not over_words:
        return _plain(generated.text)
    one = Viewed.alone(
        over_words,
        tokens=(SPECIALS[BOS], *generated.tokens),
        language=generated.language,
        text=generated.text,
    )
    return Page("regard", (one,))._repr_html_()


def _plain(text: str) -> str:
    return f'<p dir="auto" style="white-space: pre-wrap">{escape(text)}</p>'
