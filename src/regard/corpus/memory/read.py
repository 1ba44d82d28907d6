"""Translation memories from files: TMX, and PO, XLIFF, TSV and JSONL as for training."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from regard.corpus.memory.translation_memory import TranslationMemory
from regard.errors import InputError
from regard.formats import read_pairs


def read_memory(
    paths: Sequence[str | PathLike[str]], languages: tuple[str, str], encoding: str = "utf-8"
) -> TranslationMemory:
    """The memory of the pairs of some files; later pairs of a sentence replace earlier ones.

    languages  of the sources and translations, as in ("en", "fr")
    """
    sides = languages if all(languages) else None
    pairs = (
        (pair.source, pair.target)
        for path in paths
        for pair in read_pairs(path, sides, encoding=encoding)
    )
    memory = TranslationMemory(pairs)
    if not len(memory):
        raise InputError(f"{paths[0]}: there is no sentence with a translation; give another file.")
    return memory
