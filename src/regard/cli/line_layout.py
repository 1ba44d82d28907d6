"""The layout of lines of plain text: what stands around their words is kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator


class LineLayout:
    """Byte order mark, indentation and line ends of the lines that were read and not yet written.

    >>> layout = LineLayout()
    >>> list(layout.strip(["  one\\r"]))
    ['one']
    >>> layout.restore(["un"])
    ['  un\\r']
    """

    def __init__(self) -> None:
        self._around: deque[tuple[str, str]] = deque()

    def strip(self, lines: Iterable[str | None]) -> Iterator[str | None]:
        """The lines without their layout; None is passed through."""
        for line in lines:
            if line is None:
                yield None
                continue
            bare = line.lstrip("\ufeff").strip()
            start = line.find(bare) if bare else len(line)
            self._around.append((line[:start], line[start + len(bare) :]))
            yield bare

    def skip(self, count: int) -> None:
        """Forget lines that are not written."""
        for _ in range(count):
            self._around.popleft()

    def restore(self, rows: Iterable[str]) -> list[str]:
        """Rows for the next lines, with the layout that those had."""
        return [before + row + after for row in rows for before, after in [self._around.popleft()]]
