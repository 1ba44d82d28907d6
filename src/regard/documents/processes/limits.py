"""What reading or writing documents may take."""

from __future__ import annotations

from dataclasses import dataclass

ARCHIVE_EXPANSION = 32
"""Bytes of text that one byte of an archive counts as."""
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class ParserLimits:
    """What a process may take for some documents that are read or written together.

    Our readers take about a second and fifty megabytes of memory for a megabyte of text.

    seconds               of its processor, and of the clock
    seconds_per_megabyte  more of them for the documents' size
    memory                bytes of its address space
    memory_per_byte       more of them for the documents' size
    answer                bytes of texts, or of documents that it returns
    replacement_memory    bytes of memory beyond which a process is replaced after its answer, so
                          that they are given back
    """

    seconds: float = 20.0
    seconds_per_megabyte: float = 10.0
    memory: int = 1 << 30
    memory_per_byte: int = 100
    answer: int = 1 << 30
    replacement_memory: int = 1 << 40

    def seconds_for(self, size: int) -> float:
        """Seconds for documents of so many bytes."""
        return self.seconds + self.seconds_per_megabyte * size / MEGABYTE

    def memory_for(self, size: int) -> int:
        """Bytes of memory for documents of so many bytes."""
        return self.memory + self.memory_per_byte * size
