"""A monotonic task: words spelled out in the names of their letters.

    cat ─▶ cee ay tee

Source and target have the same order, and the target is about four times as long: suited to
attention that only moves forward. The words are random, so that there are enough of them and none
can be memorized; a hash of the word chooses its split.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

from regard.corpus.pairs import Pair
from regard.corpus.splits import Split, check_split, hashed_split

NAMES = {
    "a": "ay",
    "b": "bee",
    "c": "cee",
    "d": "dee",
    "e": "ee",
    "f": "ef",
    "g": "gee",
    "h": "aitch",
    "i": "eye",
    "j": "jay",
    "k": "kay",
    "l": "el",
    "m": "em",
    "n": "en",
    "o": "oh",
    "p": "pee",
    "q": "cue",
    "r": "ar",
    "s": "ess",
    "t": "tee",
    "u": "you",
    "v": "vee",
    "w": "double-you",
    "x": "ex",
    "y": "why",
    "z": "zed",
}
"""The name of each letter."""

SHORTEST, LONGEST = 3, 12
ONSETS = (
    *"bcdfghjklmnpqrstvwxyz",
    *("bl", "br", "ch", "cr", "dr", "fl", "gr", "kn", "pl", "qu", "sh", "sl", "st", "th", "tr"),
)
NUCLEI = (*"aeiouy", "ai", "ea", "ee", "ou", "oo")
CODAS = ("", "", *"bklmnrsxz", "ff", "ll", "mm", "ng", "rk", "st", "zz")


def spelled(word: str) -> str:
    """The names of a word's letters.

    >>> spelled("cat")
    'cee ay tee'
    """
    unknown = sorted({letter for letter in word if letter not in NAMES})
    if unknown:
        raise ValueError(
            f"word must consist of the letters a to z, got {unknown[0]!r} in {word!r}."
        )
    return " ".join(NAMES[letter] for letter in word)


def sample(split: Split, count: int, seed: int = 0) -> list[Pair]:
    """`count` different words of a split with their spelling.

    A smaller sample is a prefix of a larger one, and no word is in two splits.
    """
    check_split(split)
    return list(islice(_stream(split, seed), count))


def word_split(word: str) -> Split:
    """The split of a word: 60 % train, 20 % dev, 20 % test."""
    return hashed_split(f"spelling {word}")


def _stream(split: Split, seed: int) -> Iterator[Pair]:
    generator = random.Random(f"regard spelling {split} {seed}")
    seen: set[str] = set()
    while True:
        word = _word(generator)
        if word not in seen and word_split(word) == split:
            seen.add(word)
            yield Pair(word, spelled(word))


def _word(generator: random.Random) -> str:
    """A random word of a uniform length, its last syllable cut."""
    length = generator.randint(SHORTEST, LONGEST)
    word = ""
    while len(word) < length:
        word += generator.choice(ONSETS) + generator.choice(NUCLEI) + generator.choice(CODAS)
    return word[:length]
