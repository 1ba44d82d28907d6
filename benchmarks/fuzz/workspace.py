"""The folder of a fuzzing run, which the next run reads again.

inputs/TARGET/          inputs that reached something new, by atheris
found/TARGET.NAME       an input that must not do what it does: NAME is the exception and its
                        place, `hang`, or `death` if the process died
TARGET.log, TARGET.now  what atheris printed, and the input that is being executed
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

HEAD = struct.Struct("<QQQ")
ROOM = 1 << 24


class Workspace:
    """The files of one target."""

    def __init__(self, folder: Path, target: str) -> None:
        self.folder, self.target = folder, target
        self.corpus = folder / "inputs" / target
        self.findings_folder = folder / "found"
        self.now, self.log = folder / f"{target}.now", folder / f"{target}.log"

    def create(self) -> None:
        """Make the folders."""
        for path in (self.corpus, self.findings_folder):
            path.mkdir(parents=True, exist_ok=True)

    def findings(self) -> list[Path]:
        """The findings of the target."""
        return sorted(self.findings_folder.glob(f"{self.target}.*"))

    def save_finding(self, name: str, data: bytes) -> None:
        """Keep an input that must not do what it does."""
        (self.findings_folder / f"{self.target}.{name}").write_bytes(data)

    def add_inputs(self, inputs: Iterable[bytes]) -> None:
        """Add inputs to begin with, named by their content as atheris does."""
        for data in inputs:
            (self.corpus / f"seed-{sha256(data).hexdigest()[:16]}").write_bytes(data)

    def write_dictionary(self, words: Sequence[bytes]) -> Path:
        """A file of words for atheris."""
        path = self.folder / f"{self.target}.words"
        lines = ("".join(f"\\x{byte:02X}" for byte in word) for word in words)
        path.write_text("".join(f'"{line}"\n' for line in lines), encoding="ascii")
        return path


class CurrentInput:
    """The number of executions and the input of the one that runs, in a file that is mapped."""

    def __init__(self, path: Path) -> None:
        with path.open("w+b") as file:
            file.truncate(HEAD.size + ROOM)
            self._map = mmap.mmap(file.fileno(), HEAD.size + ROOM)
        self._begun = self._ended = 0

    def begin(self, data: bytes) -> None:
        """Note an input before it is executed."""
        self._begun += 1
        size = min(len(data), ROOM)
        self._map[HEAD.size : HEAD.size + size] = data[:size]
        HEAD.pack_into(self._map, 0, self._begun, self._ended, size)

    def end(self) -> None:
        """Note that it was executed."""
        self._ended += 1
        HEAD.pack_into(self._map, 0, self._begun, self._ended, 0)


def executions(path: Path) -> tuple[int, int]:
    """How many executions a process has begun, and ended."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD.size)
    except FileNotFoundError:
        head = b""
    begun, ended, _ = HEAD.unpack(head) if len(head) == HEAD.size else (0, 0, 0)
    return begun, ended


def running_input(path: Path) -> bytes:
    """The input of the execution that has begun last."""
    with path.open("rb") as file:
        _, _, size = HEAD.unpack(file.read(HEAD.size))
        return file.read(size)
