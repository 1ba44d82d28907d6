"""Exact match: how many translations are a reference, character for character."""

from __future__ import annotations

from collections.abc import Sequence

from regard.evaluation.references import References, paired
from regard.text import normalize


def is_exact(hypothesis: str, references: Sequence[str]) -> bool:
    """Whether the normal form of a translation is that of a reference.

    >>> is_exact("Il  dort.", ["Il dort."]), is_exact("il dort.", ["Il dort."])
    (True, False)
    """
    return normalize(hypothesis) in {normalize(reference) for reference in references}


def exact_match(hypotheses: Sequence[str], references: References) -> float:
    """The share of translations that are exact, from 0 to 1.

    >>> exact_match(["Il dort.", "Elle"], [["Il dort."], ["Il", "On"]])
    0.5
    """
    found = paired(hypotheses, references)
    return sum(map(is_exact, hypotheses, found)) / len(found)
