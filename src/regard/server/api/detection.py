"""Which language a text is in, among those that a server knows.

py3langid (BSD-3-Clause) carries its data, weighs 5 MB and needs numpy only: naive Bayes over byte
sequences (Lui and Baldwin 2012, "langid.py: an off-the-shelf language identification tool").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from regard.text.language import base_language

READ = 2000  # characters that are looked at
SHORT = 40  # characters; a shorter text of a list is taken to be in the language of the list


class Found(NamedTuple):
    """A language's code and how sure it is, from 0 to 100."""

    language: str
    confidence: float


def detect(text: str, codes: Sequence[str]) -> list[Found]:
    """The given languages, the likeliest first.

    The confidence is among all languages that can be told apart, so a text in one that is not
    given leaves little for those that are. A language that cannot be told apart comes last.
    """
    shares = _shares(text[:READ]) if text.strip() else {}
    found = [Found(code, _share(shares, code)) for code in codes]
    return sorted(found, key=lambda one: -one.confidence)


def detect_all(texts: Sequence[str], codes: Sequence[str]) -> list[Found]:
    """The likeliest language of each text of a list."""
    overall = detect(" ".join(texts)[:READ], codes)[0]
    if len(texts) == 1:
        return [overall]
    return [detect(one, codes)[0] if len(one) > SHORT else overall for one in texts]


def _share(shares: dict[str, float], code: str) -> float:
    base = base_language(code)
    names = ("nb", "nn", "no") if base == "no" else (base,)
    return round(100 * sum(shares.get(name, 0.0) for name in names), 1)


def _shares(text: str) -> dict[str, float]:
    """The probability of every language that can be told apart.

    Naive Bayes is far too sure of itself; log-probabilities divided by the square root of the
    text's length give shares that can be believed.
    """
    import py3langid  # here, since its data is read at the first call

    ranked: list[tuple[str, float]] = py3langid.rank(text)
    best, heat = ranked[0][1], math.sqrt(len(text.encode("utf-8", "replace")))
    weights = {code: math.exp((log - best) / heat) for code, log in ranked}
    total = sum(weights.values())
    return {code: weight / total for code, weight in weights.items()}
