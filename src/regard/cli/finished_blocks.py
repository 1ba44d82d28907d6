"""Blocks of output that were finished before a block ahead of them, until their turn comes.

    FILE.partial.blocks/NUMBER.json    the block whose first line is NUMBER

They survive a kill: the same command continues without translating them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

from regard.formats.partial_output import PartialOutput
from regard.storage import replace_file
from regard.tasks.translation.bulk import LineBlock, input_blocks


class FinishedBlocks:
    """Writes blocks that come in any order to an output in their order.

    output  what they are written to; one that was begun is continued
    """

    def __init__(self, output: PartialOutput) -> None:
        self.output = output
        self.folder = output.blocks_folder
        self.folder.mkdir(exist_ok=True)
        identity = json.dumps(output.identity, sort_keys=True)
        self._identity = blake2b(identity.encode(), digest_size=16).hexdigest()
        self._waiting: set[int] = set()

    def load(self, lines: Iterable[str | None]) -> frozenset[int]:
        """The numbers of blocks that are in the folder and belong to the lines after the output.

        All others are removed.
        """
        stored = {int(file.stem) for file in self.folder.glob("[0-9]*.json")}
        if stored:
            for first, sources in input_blocks(lines, self.output.done):
                if first in stored and self._stored(first, sources) is not None:
                    self._waiting.add(first)
                if first >= max(stored):
                    break
        for first in stored - self._waiting:
            self._file(first).unlink()
        return frozenset(self._waiting)

    def add(self, block: LineBlock) -> None:
        """Keep a block until all before it are written."""
        content = {"identity": self._identity, "sources": block.sources, "rows": block.rows}
        replace_file(self._file(block.first), json.dumps(content, ensure_ascii=False))
        self._waiting.add(block.first)

    def next_blocks(self) -> Iterator[LineBlock]:
        """The blocks whose turn it is, one after another; each is to be written to the output."""
        while (first := self.output.done) in self._waiting:
            block = self._stored(first)
            assert block is not None
            yield block
            self._waiting.remove(first)
            self._file(first).unlink()

    def _file(self, first: int) -> Path:
        return self.folder / f"{first}.json"

    def _stored(self, first: int, sources: list[str] | None = None) -> LineBlock | None:
        """A block of the folder, if it is whole, of this origin and, if given, of these lines."""
        try:
            content = json.loads(self._file(first).read_text("utf-8"))
            block = LineBlock(first, content["sources"], content["rows"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        same = content["identity"] == self._identity and sources in (None, block.sources)
        return block if same else None
