"""Language detection among the languages that a server knows."""

from __future__ import annotations

from collections.abc import Sequence

from regard.server.api.responses import DetectedLanguage
from regard.text.language_detection import language_share, language_shares

MAX_CHARACTERS = 2000  # that are read
SHORT = 40  # characters; a shorter text of a list is taken to be in the language of the list


def detect(text: str, codes: Sequence[str]) -> list[DetectedLanguage]:
    """The given languages, the most probable first.

    The confidence is among all languages that can be detected, so a text in one that is not given
    leaves little for the others. A language that cannot be detected comes last.
    """
    shares = language_shares(text[:MAX_CHARACTERS]) if text.strip() else {}
    languages = [
        DetectedLanguage(language=code, confidence=round(100 * language_share(shares, code), 1))
        for code in codes
    ]
    return sorted(languages, key=lambda detected: -detected.confidence)


def detect_all(texts: Sequence[str], codes: Sequence[str]) -> list[DetectedLanguage]:
    """The most probable language of each text of a list."""
    overall = detect(" ".join(texts)[:MAX_CHARACTERS], codes)[0]
    if len(texts) == 1:
        return [overall]
    return [detect(text, codes)[0] if len(text) > SHORT else overall for text in texts]
