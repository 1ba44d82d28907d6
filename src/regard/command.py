"""Shell commands for messages: how to call regard in the user's environment."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

NAME = "regard"


def command(*words: object) -> str:
    """A command line to paste: this program and its arguments, quoted for a shell.

    The program is `regard` if that is this program on the PATH; else the path of the program that
    was run, or `python -m regard`.
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
