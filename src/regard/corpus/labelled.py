"""Labelled examples made fit for training: normal form, labels counted, a development set.

Also a small corpus of texts in which what decides the label is known.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from regard.errors import InputError
from regard.formats.labelled import LabelledText
from regard.text.normalization import normalize


class Example(NamedTuple):
    """A text in normal form, and its label."""

    text: str
    label: str


class KnownText(NamedTuple):
    """A text whose cause is known: the word `cause`, at `place` among its words."""

    text: str
    label: str
    cause: str
    place: int


def clean_labelled(raw: Iterable[LabelledText]) -> tuple[list[Example], Counter[str]]:
    """The texts in normal form, without empty ones and repetitions; how many were dropped."""
    kept: dict[Example, None] = {}
    dropped: Counter[str] = Counter()
    for one in raw:
        example = Example(normalize(one.text), normalize(one.label))
        reason = "empty" if not example.text else "duplicate" if example in kept else None
        if reason:
            dropped[reason] += 1
        else:
            kept[example] = None
    return list(kept), dropped


def label_names(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels there are, in order: numbers by their value, then text.

    >>> label_names(["10", "9", "joy", "9"])
    ('9', '10', 'joy')
    """

    def rank(label: str) -> tuple[bool, int, str]:
        number = label.removeprefix("-").isascii() and label.removeprefix("-").isdigit()
        return not number, int(label) if number else 0, label

    return tuple(sorted(set(labels), key=rank))


def check_labels(labels: Sequence[str], place: str) -> tuple[str, ...]:
    """The labels' names; fewer than two, or too few examples, are an error."""
    names = label_names(labels)
    if len(names) < 2:
        only = f"only {names[0]!r} occurs" if names else "none occurs"
        raise InputError(f"{place}: at least two labels are needed to tell apart, but {only}.")
    if len(labels) < 4:
        raise InputError(f"{place}: {len(labels)} examples are too few; give at least 4.")
    return names


def split_labelled(
    labels: Sequence[str], contents: Sequence[Hashable], seed: int, most: int = 1000
) -> tuple[list[int], list[int]]:
    """Places of training and development examples: a tenth of each label, `most` in all.

    Examples of the same content go together, so that none is tested that was learned. Each label
    keeps at least one example to learn from.
    """
    groups: dict[Hashable, list[int]] = {}
    for place, content in enumerate(contents):
        groups.setdefault(content, []).append(place)
    order = list(groups.values())
    random.Random(seed).shuffle(order)
    counts = Counter(labels)
    share = min(0.1, most / len(labels))
    room = {label: max(1, round(count * share)) for label, count in counts.items() if count > 1}
    dev: list[int] = []
    for group in order:
        if all(room.get(labels[place], 0) > 0 for place in group):
            dev += group
            for place in group:
                room[labels[place]] -= 1
    chosen = set(dev)
    train = [place for place in range(len(labels)) if place not in chosen]
    lost = set(labels) - {labels[place] for place in train}
    if not dev or lost:
        raise InputError(
            "no development set can be split off these examples (too many have the same content); "
            "give one of its own with --dev."
        )
    return train, sorted(dev)


WORDS = {
    "en": "the market town old river light walked morning seven table letter window stone carried "
    "garden slowly paper under bread winter evening bridge road quiet voice",
    "zh": "市 场 河 水 早 晨 桌 子 信 窗 石 头 花 园 纸 面 冬 天 桥 路 声 音 老 城 光",
}
"""Words that say nothing of any label."""
KEYWORDS = {
    "en": {
        "joy": ("laughed", "sunny"),
        "fear": ("trembled", "storm"),
        "anger": ("shouted", "fury"),
    },
    "zh": {"喜": ("笑", "乐"), "怕": ("惧", "惊"), "怒": ("骂", "恨")},
}
"""For each label the words of which exactly one is in its texts, and none in the others'."""


def known_texts(count: int, seed: int = 0, language: str = "en") -> list[KnownText]:
    """Texts of meaningless words, one of which decides the label.

    >>> known_texts(1)[0].cause in known_texts(1)[0].text
    True
    """
    draw = random.Random(f"{language} {seed}")
    joiner = "" if language == "zh" else " "
    filler, found = WORDS[language].split(), []
    for number in range(count):
        label = list(KEYWORDS[language])[number % len(KEYWORDS[language])]
        words = draw.choices(filler, k=draw.randint(6, 14))
        place = draw.randint(0, len(words))
        cause = draw.choice(KEYWORDS[language][label])
        words.insert(place, cause)
        found.append(KnownText(joiner.join(words), label, cause, place))
    return found
