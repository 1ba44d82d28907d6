"""The language of a text, among all that can be detected.

py3langid (BSD-3-Clause) carries its data, weighs 5 MB and needs numpy only: naive Bayes over byte
sequences (Lui and Baldwin 2012, "langid.py: an off-the-shelf language identification tool").
"""

from __future__ import annotations

import importlib.util
import math

from regard.text.words import base_language

LIBRARY = "py3langid"


def can_detect() -> bool:
    """Whether the library that detects languages is installed."""
    return importlib.util.find_spec(LIBRARY) is not None


def language_shares(text: str) -> dict[str, float]:
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


def language_share(shares: dict[str, float], code: str) -> float:
    """The probability of a language, given those of `language_shares`."""
    base = base_language(code)
    names = ("nb", "nn", "no") if base == "no" else (base,)
    return sum(shares.get(name, 0.0) for name in names)
