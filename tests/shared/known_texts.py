"""Labeled texts in which the word that decides the label is known."""

import random
from typing import NamedTuple


class KnownText(NamedTuple):
    """A text whose label is decided by the word `cause`, at `position` among its words."""

    text: str
    label: str
    cause: str
    position: int


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
    """Texts of neutral words and one keyword that decides the label."""
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
