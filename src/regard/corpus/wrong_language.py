"""Sides of a pair that are in another language than they should be."""

from __future__ import annotations

from regard.corpus.pairs import Pair
from regard.errors import InputError
from regard.text.language_detection import LIBRARY, can_detect, language_share, language_shares
from regard.text.words import base_language

MIN_BYTES = 20  # of UTF-8; in a shorter text any language is possible
MAX_CHARACTERS = 500  # that are read
MIN_SHARE = 0.01
"""Probability of the language that a text should be in, below which it is in another one.

Of 3,000 sentences each of Tatoeba, Debian's package descriptions and Python's documentation
(en, fr, zh), at most 0.6 % of a side are below it; of those in the other language, 89 to 100 %."""


class LanguageCheck:
    """Decides whether both sides of a pair are in their languages."""

    def __init__(self, source: str, target: str) -> None:
        if not can_detect():
            raise InputError(
                f"the language of text is detected by {LIBRARY}, which is not installed: pip "
                "install 'regard[serve]', or give --any-language."
            )
        known = language_shares("known languages")
        for code in (source, target):
            names = {base_language(code), "nb" if base_language(code) == "no" else ""}
            if not names & set(known):
                raise InputError(
                    f"text in the language {code} cannot be detected; give --any-language."
                )
        self.languages = source, target

    def fault(self, pair: Pair) -> str | None:
        """The reason to drop the pair, or None."""
        sides = zip(("source language", "target language"), pair[:2], self.languages, strict=True)
        for reason, text, language in sides:
            if len(text.encode()) < MIN_BYTES:
                continue
            shares = language_shares(text[:MAX_CHARACTERS])
            if language_share(shares, language) < MIN_SHARE:
                return reason
        return None
