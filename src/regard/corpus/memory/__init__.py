"""Translation memories: sentences with known translations, found exactly or by similarity."""

from regard.corpus.memory.read import read_memory
from regard.corpus.memory.translation_memory import MemoryMatch, TranslationMemory

__all__ = ["MemoryMatch", "TranslationMemory", "read_memory"]
