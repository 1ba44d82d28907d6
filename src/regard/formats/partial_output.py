"""Output of a long command, written as it proceeds and resumed after a crash.

    FILE.partial       the lines so far, in order
    FILE.partial.json  their origin: a hash of the inputs so far, the model and the options

The state is written after the lines that it counts, so that lines after them (perhaps incomplete)
are dropped when the command resumes. Lines of another origin are never dropped: that is an error.
FILE itself appears, or is replaced, at the end; compressed, if its suffix says so.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from regard.errors import InputError
from regard.formats.compressed import is_compressed, open_write
from regard.formats.lines import one_line
from regard.storage import errors_name, replace_file, sync_folder
from regard.write_lock import try_flock


class PartialOutput:
    """Lines of output, several or none for each line of input.

    identity  all that the output depends on beside its input
    report    called with a message about existing lines
    done      the number of lines of input whose output is written
    """

    def __init__(
        self, path: str | PathLike[str], identity: Mapping[str, Any], report: Callable[[str], None]
    ) -> None:
        final = Path(path)
        self.path = final.resolve() if final.is_symlink() else final
        self.partial = self.path.with_name(self.path.name + ".partial")
        self.state_file = self.path.with_name(self.path.name + ".partial.json")
        self.blocks_folder = self.path.with_name(self.path.name + ".partial.blocks")
        self.identity: dict[str, Any] = json.loads(json.dumps(identity))
        self.report = report
        self.done = 0
        self._digest = blake2b(digest_size=16)
        self._file = _locked(self.partial)

    def remaining(self, lines: Iterator[str | None]) -> Iterator[str | None]:
        """The lines of input without output: all, or those after the ones that are done."""
        if not (state := self._state()):
            self._file.seek(0)
            self._file.truncate()
            self._save()  # before any line, so that a kill leaves no line without its origin
        elif self._skip(lines, state["lines"]) != state["digest"]:
            self.done = 0
            raise InputError(
                f"{self.partial}: it belongs to another input; give the same input again to "
                "continue, or remove this file to start over."
            )
        else:
            self._file.seek(state["bytes"])
            self._file.truncate()
            self.report(f"{self.partial}: continuing after line {self.done:,}.")
        return lines

    def write(self, sources: Iterable[str], rows: Iterable[str]) -> None:
        """Write the output of the next lines of input."""
        for source in sources:
            self._count(source)
        with errors_name(self.partial):
            self._file.write("".join(map(_row, rows)).encode())
        self._save()

    def _save(self) -> None:
        with errors_name(self.partial):
            self._file.flush()
            os.fsync(self._file.fileno())
        state = {"lines": self.done, "bytes": self._file.tell(), "digest": self._digest.hexdigest()}
        replace_file(self.state_file, json.dumps({**state, "identity": self.identity}) + "\n")

    def finish(self) -> None:
        """Rename the output to its final name."""
        with errors_name(self.path):
            if is_compressed(self.path):
                self._file.seek(0)
                with open_write(self.path) as file:
                    shutil.copyfileobj(self._file, file)
                self.partial.unlink()
            else:
                self._file.flush()
                os.fsync(self._file.fileno())
                self.partial.replace(self.path)
            self._file.close()
            sync_folder(self.path.parent)
        self.state_file.unlink(missing_ok=True)
        shutil.rmtree(self.blocks_folder, ignore_errors=True)

    def __enter__(self) -> PartialOutput:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file.closed:
            return
        empty = not os.fstat(self._file.fileno()).st_size
        if empty:
            self.partial.unlink(missing_ok=True)
            self.state_file.unlink(missing_ok=True)
        self._file.close()
        if self.done and not empty:
            self.report(
                f"{self.partial}: {self.done:,} lines are done; run the same command to continue."
            )

    def _state(self) -> dict[str, Any] | None:
        """The state of the existing lines, None if there are none; it is checked."""
        size = os.fstat(self._file.fileno()).st_size
        if not size:
            return None
        try:
            state = json.loads(self.state_file.read_text("utf-8"))
            counts, known = (state["lines"], state["bytes"]), dict(state["identity"])
            usable = (
                all(type(count) is int and count >= 0 for count in counts) and counts[1] <= size
            )
        except (OSError, ValueError, KeyError, TypeError):
            usable = False
        if not usable or not isinstance(state.get("digest"), str):
            raise InputError(
                f"{self.partial}: {self.state_file.name}, which says what it belongs to, is "
                "missing or damaged; remove both files to start over."
            )
        changed = sorted(
            name for name in {*self.identity, *known} if self.identity.get(name) != known.get(name)
        )
        if changed and state["lines"]:
            raise InputError(
                f"{self.partial}: the {' and '.join(changed)} changed since it was written; give "
                "the same again to continue, or remove this file to start over."
            )
        return dict(state) if state["lines"] else None

    def _skip(self, lines: Iterator[str | None], count: int) -> str:
        """The hash of the first `count` lines of the input, or of all if there are fewer."""
        for line in lines:
            if line is not None:
                self._count(line)
            if self.done == count:
                break
        return self._digest.hexdigest()

    def _count(self, source: str) -> None:
        self._digest.update(source.encode("utf-8", "surrogatepass") + b"\n")
        self.done += 1


def _row(row: str) -> str:
    """A row as one line of the file; it may end in `\\r\\n`."""
    return one_line(row.removesuffix("\r")) + ("\r\n" if row.endswith("\r") else "\n")


def _locked(partial: Path) -> BinaryIO:
    """Open a file for reading and writing, locked by this process."""
    file = os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
    if try_flock(file.fileno()) is False:
        file.close()
        raise InputError(
            f"{partial}: another command is writing it; wait for that or give another --output."
        )
    return file
