"""Labeled examples for training: cleaning, label names, a development set.

Also a small corpus of texts in which the word that decides the label is known.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from regard.errors import InputError
from regard.formats.labeled import LabeledText
from regard.text.normalization import normalize


class LabeledExample(NamedTuple):
    """A normalized text, and its label."""

    text: str
    label: str


class KnownText(NamedTuple):
    """A text whose label is decided by the word `cause`, at `position` among its words."""

    text: str
    label: str
    cause: str
    position: int


def clean_labeled(raw: Iterable[LabeledText]) -> tuple[list[LabeledExample], Counter[str]]:
    """The texts normalized, without empty ones and duplicates; how many were dropped."""
    unique: dict[LabeledExample, None] = {}
    dropped: Counter[str] = Counter()
    for line in raw:
        example = LabeledExample(normalize(line.text), normalize(line.label))
        reason = "empty" if not example.text else "duplicate" if example in unique else None
        if reason:
            dropped[reason] += 1
        else:
            unique[example] = None
    return list(unique), dropped


def label_names(labels: Iterable[str]) -> tuple[str, ...]:
    """The distinct labels in order: numbers by their value, then text.

    >>> label_names(["10", "9", "joy", "9"])
    ('9', '10', 'joy')
    """

    def rank(label: str) -> tuple[bool, int, str]:
        number = label.removeprefix("-").isascii() and label.removeprefix("-").isdigit()
        return not number, int(label) if number else 0, label

    return tuple(sorted(set(labels), key=rank))


def check_labels(labels: Sequence[str], source: str) -> tuple[str, ...]:
    """The distinct labels; fewer than two, or fewer than four examples, are an error."""
    names = label_names(labels)
    if len(names) < 2:
        only = f"only {names[0]!r} occurs" if names else "none occurs"
        raise InputError(f"{source}: at least two labels are needed, but {only}.")
    if len(labels) < 4:
        raise InputError(f"{source}: at least 4 examples are needed, got {len(labels)}.")
    return names


def split_labeled(
    labels: Sequence[str], contents: Sequence[Hashable], seed: int, most: int = 1000
) -> tuple[list[int], list[int]]:
    """Indices of training and development examples: a tenth of each label, at most `most`.

    Examples of equal content stay in one part, and each label keeps at least one training example.
    """
    groups: dict[Hashable, list[int]] = {}
    for index, content in enumerate(contents):
        groups.setdefault(content, []).append(index)
    order = list(groups.values())
    random.Random(seed).shuffle(order)
    counts = Counter(labels)
    share = min(0.1, most / len(labels))
    room = {label: max(1, round(count * share)) for label, count in counts.items() if count > 1}
    dev: list[int] = []
    for group in order:
        if all(room.get(labels[index], 0) > 0 for index in group):
            dev += group
            for index in group:
                room[labels[index]] -= 1
    chosen = set(dev)
    train = [index for index in range(len(labels)) if index not in chosen]
    lost = set(labels) - {labels[index] for index in train}
    if not dev or lost:
        raise InputError(
            "no development set can be split off these examples (too many have the same content); "
            "give one of its own with --dev."
        )
    return train, sorted(dev)


NEUTRAL_WORDS = {
    "en": "the market town old river light walked morning seven table letter window stone carried "
    "garden slowly paper under bread winter evening bridge road quiet voice",
    "zh": "市 场 河 水 早 晨 桌 子 信 窗 石 头 花 园 纸 面 冬 天 桥 路 声 音 老 城 光",
}
"""Words unrelated to any label."""
KEYWORDS = {
    "en": {
        "joy": ("laughed", "sunny"),
        "fear": ("trembled", "storm"),
        "anger": ("shouted", "fury"),
    },
    "zh": {"喜": ("笑", "乐"), "怕": ("惧", "惊"), "怒": ("骂", "恨")},
}
"""For each label the words of which exactly one occurs in its texts, and none in others'."""


def known_texts(count: int, seed: int = 0, language: str = "en") -> list[KnownText]:
    """Texts of neutral words and one keyword that decides the label.

    >>> known_texts(1)[0].cause in known_texts(1)[0].text
    True
    """
    draw = random.Random(f"{language} {seed}")
    joiner = "" if language == "zh" else " "
    filler, texts = NEUTRAL_WORDS[language].split(), []
    for number in range(count):
        label = list(KEYWORDS[language])[number % len(KEYWORDS[language])]
        words = draw.choices(filler, k=draw.randint(6, 14))
        index = draw.randint(0, len(words))
        cause = draw.choice(KEYWORDS[language][label])
        words.insert(index, cause)
        texts.append(KnownText(joiner.join(words), label, cause, index))
    return texts
