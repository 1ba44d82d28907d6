"""Stand-ins for a translator, which make translations whose result is known."""

from typing import NamedTuple

LETTERS = "abcdefghijklmnopqrstuvwxyz"
OTHERS = "абвгдежзийклмнопрстуфхцчшщъ"
FORTH = str.maketrans(LETTERS, OTHERS[: len(LETTERS)])
BACK = str.maketrans(OTHERS[: len(LETTERS)], LETTERS)


class Linked(NamedTuple):
    """A translation with its words and their links."""

    text: str
    source_words: list[str]
    words: list[str]
    alignment: list[tuple[int, int]]


def same(text):
    """The text itself."""
    return spelled(text, text)


def cyrillic(text):
    """The text with its small letters replaced one by one, so that every word changes."""
    return spelled(text, text.translate(FORTH))


def backwards(text):
    """The words in the other order."""
    own = text.split()
    last = len(own) - 1
    return Linked(" ".join(own[::-1]), own, own[::-1], [(n, last - n) for n in range(len(own))])


def spelled(source, target):
    """A translation word by word."""
    own, other = source.split(), target.split()
    return Linked(target, own, other, [(n, n) for n in range(len(own))])


def through(document, translate):
    """The document with its texts translated."""
    return document.render([translate(text) for text in document.texts])
