"""Cleaning of sentence pairs, with a report of what was dropped and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from regard.config import CleaningSettings
from regard.formats import RawPair, ReadReport
from regard.text.normalization import normalize
from regard.text.tags import untagged
from regard.text.words import count_words, has_long_word

REASONS = {
    "empty": "empty side",
    "long": "too long",
    "word": "with too long a word",
    "ratio": "lengths too different",
    "identical": "target equals source",
    "duplicate": "duplicate",
    "source language": "source in another language",
    "target language": "target in another language",
    "tokens": "more tokens than model.max_length",
    "probability": "improbable translation",
    "alignment": "words that do not match",
}
"""Reasons to drop a pair, in the order of the checks, with their labels in the printed table.

The reasons after "duplicate" need more than the pair: the language is detected, the others are
found by a trained model (for "tokens", by the tokenizers of the model to be trained)."""

SKIPPED = {
    "fuzzy": "skipped: fuzzy or unfinished",
    "untranslated": "skipped: untranslated",
    "language": "skipped: a language is missing",
    "columns": "further columns ignored",
}
"""What readers skipped, with its label in the printed table."""


SpanLink = tuple[int, int, int, int]
"""Begin and end of the characters that attend, and of those that they attend to."""


class Pair(NamedTuple):
    """A sentence and its translation, both normalized.

    tags    tokens before the source, as in <2de>
    weight  how often it is seen in an epoch, on average
    number  of the pair among all that were read, from 0, where that is needed
    links   for every guided head the links that it is to attend along
    """

    source: str
    target: str
    tags: tuple[str, ...] = ()
    weight: float = 1.0
    number: int = -1
    links: tuple[tuple[SpanLink, ...], ...] = ()


@dataclass
class CleaningReport:
    """Number of pairs read and kept, and dropped for each reason."""

    read: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    """For each reason the location ("file:line") of the first dropped pair."""
    truncated: int = 0
    """Sentences cut to model.max_length tokens."""
    passed_over: ReadReport = field(default_factory=ReadReport)
    """What the readers of the files skipped."""

    def drop(self, reason: str, pair: RawPair) -> None:
        """Count a dropped pair."""
        self.dropped[reason] += 1
        self.first.setdefault(reason, f"{pair.file}:{pair.line}")

    def drop_after_encoding(self, count: int, example: str = "") -> None:
        """Count kept pairs that have too many tokens; `example` is the first."""
        if count:
            self.dropped["tokens"] += count
            self.first.setdefault("tokens", example)
            self.kept -= count

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON has it."""
        return {
            "read": self.read,
            "kept": self.kept,
            "dropped": {reason: self.dropped[reason] for reason in REASONS if self.dropped[reason]},
            "first": dict(self.first),
            "skipped": {
                reason: count
                for reason in SKIPPED
                if reason != "columns" and (count := self.passed_over.counts[reason])
            },
        }

    def rows(self) -> list[tuple[str, int, str]]:
        """Label, count and first location: skipped by readers, read, each reason, kept."""
        skipped = [
            (label, self.passed_over.counts[reason], self.passed_over.first[reason])
            for reason, label in SKIPPED.items()
            if self.passed_over.counts[reason]
        ]
        reasons = [
            (label, self.dropped[reason], self.first.get(reason, ""))
            for reason, label in REASONS.items()
            if self.dropped[reason]
        ]
        cut = [("cut to model.max_length tokens", self.truncated, "")] if self.truncated else []
        return [*skipped, ("read", self.read, ""), *reasons, ("kept", self.kept, ""), *cut]


def clean(
    raw_pairs: Iterable[RawPair],
    rules: CleaningSettings | None = None,
    passed_over: ReadReport | None = None,
) -> tuple[list[Pair], CleaningReport]:
    """Normalize the pairs and drop those that break the rules.

    `passed_over` is the report that `read_pairs` fills while these pairs are read.
    """
    report = CleaningReport(passed_over=ReadReport() if passed_over is None else passed_over)
    check = PairCheck(rules or CleaningSettings())
    return list(checked(raw_pairs, check, report)), report


def checked(
    raw_pairs: Iterable[RawPair],
    check: PairCheck,
    report: CleaningReport,
    tags: tuple[str, ...] = (),
    weight: float = 1.0,
    written: str = "",
) -> Iterator[Pair]:
    """The pairs that are kept, normalized, with tags and weight; all are counted in `report`.

    `written` is a tag that the sources may begin with as text: there it is removed.
    """
    for raw in raw_pairs:
        report.read += 1
        source = normalize(untagged(raw.source, written))
        pair = Pair(source, normalize(raw.target), tags, weight)
        reason = check.fault(pair)
        if reason:
            report.drop(reason, raw)
        else:
            report.kept += 1
            yield pair


class PairCheck:
    """Decides about pairs one after another; of those before it keeps 8 bytes each."""

    def __init__(self, rules: CleaningSettings) -> None:
        self.rules = rules
        self._seen: set[int] = set()

    def fault(self, pair: Pair) -> str | None:
        """The reason to drop the pair, or None: then the next one like it is a duplicate."""
        reason = _fault(pair, self.rules)
        if reason or not self.rules.drop_duplicates:
            return reason
        number = _hash(pair)
        if number in self._seen:
            return "duplicate"
        self._seen.add(number)
        return None


def _hash(pair: Pair) -> int:
    """64 bits of a pair; among a hundred million, two collide with a probability of 1 / 3,700."""
    digest = blake2b("\t".join((pair.source, pair.target, *pair.tags)).encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "big")


def _fault(pair: Pair, rules: CleaningSettings) -> str | None:
    """The reason to drop the pair by itself, or None."""
    if not (pair.source and pair.target):
        return "empty"
    shorter, longer = _word_counts(pair, rules)
    if longer > rules.max_length:
        return "long"
    if rules.max_word_length and any(
        has_long_word(side, rules.max_word_length) for side in (pair.source, pair.target)
    ):
        return "word"
    slack = rules.ratio_slack
    if rules.max_ratio and longer + slack > rules.max_ratio * (shorter + slack):
        return "ratio"
    if rules.drop_identical and pair.source == pair.target:
        return "identical"
    return None


def _word_counts(pair: Pair, rules: CleaningSettings) -> tuple[int, int]:
    """The numbers of words, the smaller first; or, if they keep the rules too, bounds of them.

    Between two spaces is at least one word, and a word has at least one character.
    """
    spaces = [pair.source.count(" "), pair.target.count(" ")]
    least = min(spaces) + 1
    most = max(len(pair.source) - spaces[0], len(pair.target) - spaces[1])
    slack = rules.ratio_slack
    close = not rules.max_ratio or most + slack <= rules.max_ratio * (least + slack)
    if most <= rules.max_length and close:
        return least, most
    shorter, longer = sorted((count_words(pair.source), count_words(pair.target)))
    return shorter, longer
