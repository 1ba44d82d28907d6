"""The texts that are aligned: sentences with gold links, and more text to learn from.

    en-fr  the Hansards' test sentences, with tatoeba/en-fr.tsv and debian/en-fr.tsv
    zh-en  Tsinghua's test sentences, with tatoeba/en-zh.tsv and python-docs/en-zh.tsv

All is in lower case. The test sentences come in words; the other text is split by regard's rules,
and its Chinese into the longest words that the test sentences have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.errors import InputError
from regard.formats import read_lines
from regard.formats.word_links import FileLinks, read_links
from regard.text.words import word_texts

MAX_WORDS = 100
"""Longer sentences are not learned from."""


class GoldText(NamedTuple):
    """The words of all sentence pairs, those with gold links first."""

    sources: list[list[str]]
    targets: list[list[str]]
    gold: list[FileLinks]


class GoldCorpus(NamedTuple):
    """Where a text is: the folder of gold links, and the files to learn from.

    reverse  whether the files have the target in their first column
    """

    folder: str
    files: tuple[str, ...]
    languages: tuple[str, str]
    reverse: bool = False

    def read(self, data: Path) -> GoldText:
        """Read the text from a folder of data."""
        folder = data / "gold-alignments" / self.folder
        if not folder.is_dir():
            raise InputError(f"{folder}: there is no such folder; name its folder with --data DIR.")
        sources, targets = (
            [line.lower().split() for line in read_lines(folder / side)] for side in ("src", "tgt")
        )
        gold = list(read_links(folder / "gold.talp"))
        if not len(sources) == len(targets) == len(gold):
            raise InputError(f"{folder}: src, tgt and gold.talp must have equally many lines.")
        known = {word for words in sources for word in words if len(word) > 1}
        for source, target in self._pairs(data):
            source_words = longest_words(
                word_texts(source, self.languages[0]), known, self.languages[0]
            )
            target_words = word_texts(target, self.languages[1])
            if 0 < len(source_words) <= MAX_WORDS and 0 < len(target_words) <= MAX_WORDS:
                sources.append(source_words)
                targets.append(target_words)
        return GoldText(sources, targets, gold)

    def _pairs(self, data: Path) -> Iterator[tuple[str, str]]:
        for file in self.files:
            for line in read_lines(data / file):
                columns = line.lower().split("\t")
                if len(columns) > 1:
                    yield (columns[1], columns[0]) if self.reverse else (columns[0], columns[1])


CORPORA = {
    "en-fr Hansards": GoldCorpus(
        "en-fr-hansards", ("tatoeba/en-fr.tsv", "debian/en-fr.tsv"), ("en", "fr")
    ),
    "zh-en Tsinghua": GoldCorpus(
        "zh-en-tsinghua", ("tatoeba/en-zh.tsv", "python-docs/en-zh.tsv"), ("zh", "en"), reverse=True
    ),
}


def longest_words(letters: Sequence[str], known: set[str], language: str) -> list[str]:
    """Chinese letters joined to the longest known words, from left to right.

    >>> longest_words(["我", "爱", "北", "京", "。"], {"北京"}, "zh")
    ['我', '爱', '北京', '。']
    """
    if language != "zh":
        return list(letters)
    longest = max(map(len, known), default=1)
    joined, start = [], 0
    while start < len(letters):
        for end in range(min(start + longest, len(letters)), start, -1):
            word = "".join(letters[start:end])
            if end == start + 1 or word in known:
                joined.append(word)
                start = end
                break
    return joined
