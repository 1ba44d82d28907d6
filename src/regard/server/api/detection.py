"""Language detection among the languages that a server knows.

py3langid (BSD-3-Clause) carries its data, weighs 5 MB and needs numpy only: naive Bayes over byte
sequences (Lui and Baldwin 2012, "langid.py: an off-the-shelf language identification tool").
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from regard.server.api.responses import DetectedLanguage
from regard.text.words import base_language

MAX_CHARACTERS = 2000  # that are read
SHORT = 40  # characters; a shorter text of a list is taken to be in the language of the list


def detect(text: str, codes: Sequence[str]) -> list[DetectedLanguage]:
    """The given languages, the most probable first.

    The confidence is among all languages that can be detected, so a text in one that is not given
    leaves little for the others. A language that cannot be detected comes last.
    """
    shares = _shares(text[:MAX_CHARACTERS]) if text.strip() else {}
    languages = [DetectedLanguage(language=c, confidence=_share(shares, c)) for c in codes]
    return sorted(languages, key=lambda detected: -detected.confidence)


def detect_all(texts: Sequence[str], codes: Sequence[str]) -> list[DetectedLanguage]:
    """The most probable language of each text of a list."""
    overall = detect(" ".join(texts)[:MAX_CHARACTERS], codes)[0]
    if len(texts) == 1:
        return [overall]
    return [detect(text, codes)[0] if len(text) > SHORT else overall for text in texts]


def _share(shares: dict[str, float], code: str) -> float:
    base = base_language(code)
    names = ("nb", "nn", "no") if base == "no" else (base,)
    return round(100 * sum(shares.get(name, 0.0) for name in names), 1)


def _shares(text: str) -> dict[str, float]:
    """The probability of every language that can be detected.

    Naive Bayes is overconfident; log-probabilities divided by the square root of the text's length
    give plausible probabilities.
    """
    import py3langid  # here, since its data is read at the first call

    ranked: list[tuple[str, float]] = py3langid.rank(text)
    best, temperature = ranked[0][1], math.sqrt(len(text.encode("utf-8", "replace")))
    weights = {code: math.exp((log - best) / temperature) for code, log in ranked}
    total = sum(weights.values())
    return {code: weight / total for code, weight in weights.items()}
