"""Translation memories: sentences with known translations, found exactly or by similarity."""

from regard.corpus.memory.memory import MemoryMatch, TranslationMemory
from regard.corpus.memory.read import read_memory

__all__ = ["MemoryMatch", "TranslationMemory", "read_memory"]
