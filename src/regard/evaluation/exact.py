"""Exact match: the share of translations that equal a reference."""

from __future__ import annotations

from collections.abc import Sequence

from regard.evaluation.references import References, check_references
from regard.text import normalize


def is_exact(hypothesis: str, references: Sequence[str]) -> bool:
    """Whether a translation equals a reference after normalization.

    >>> is_exact("Il  dort.", ["Il dort."]), is_exact("il dort.", ["Il dort."])
    (True, False)
    """
    return normalize(hypothesis) in {normalize(reference) for reference in references}


def exact_match(hypotheses: Sequence[str], references: References) -> float:
    """The share of exact translations, from 0 to 1.

    >>> exact_match(["Il dort.", "Elle"], [["Il dort."], ["Il", "On"]])
    0.5
    """
    per_sentence = check_references(hypotheses, references)
    return sum(map(is_exact, hypotheses, per_sentence)) / len(per_sentence)
