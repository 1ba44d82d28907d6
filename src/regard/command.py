"""The shell command for regard, in the form that works where this process was started."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

NAME = "regard"


def command(*words: object) -> str:
    """A command line to paste: the program as it was called, then the words, quoted for a shell.

    It begins with `regard` only if that is this program on the PATH; else with the path of the
    program that was run, or with `python -m regard`.
    """
    return shlex.join([*_program(), *map(str, words)])


def _program() -> list[str]:
    called = Path(sys.argv[0])
    on_path = shutil.which(NAME)
    if called.name == NAME and called.is_file():
        if on_path and Path(on_path).samefile(called):
            return [NAME]
        return [sys.argv[0] if "/" in sys.argv[0] else f"./{NAME}"]
    if called.parts[-2:] == (NAME, "__main__.py"):
        return [sys.orig_argv[0], "-m", NAME]
    if on_path and Path(on_path).parent == Path(sys.executable).parent:
        return [NAME]
    return [sys.executable, "-m", NAME]
