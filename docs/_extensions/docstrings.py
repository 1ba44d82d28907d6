"""Docstrings as they are written here, made into reStructuredText.

Ours are plain text: paragraphs with `code` between backticks and formulas as they are, lists of
"name  meaning" in two columns, indented blocks as they stand, and doctests.
"""

import re
from collections.abc import Iterator

from sphinx.application import Sphinx

ENTRY = re.compile(r"^(?P<name>\S.*?)\s{2,}(?P<about>\S.*)$")
CODE = re.compile(r"(`[^`]+`)")


def restructured(lines: list[str]) -> Iterator[str]:
    """The lines of a docstring as reStructuredText."""
    for block in _blocks(lines):
        if block[0].lstrip().startswith(">>>"):
            yield from block
        elif all(line.startswith("  ") for line in block):
            yield "::"
            yield ""
            yield from (f"    {line}" for line in block)
        elif ENTRY.match(block[0]):
            yield from _entries(block)
        elif block[0].startswith(("- ", "* ")):
            yield from (_escaped(line, keep="-" if line.startswith("- ") else "") for line in block)
        else:
            yield _escaped(" ".join(line.strip() for line in block))
        yield ""


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Runs of lines between blank ones; a list of two columns that follows a paragraph is one."""
    block: list[str] = []
    for line in [*lines, ""]:
        columns = bool(ENTRY.match(line))
        if block and columns and not ENTRY.match(block[0]) and not block[0].startswith(">>>"):
            yield block
            block = []
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []


def _entries(block: list[str]) -> Iterator[str]:
    for line in block:
        if found := ENTRY.match(line):
            name = found["name"].replace("`", "")
            yield f"- ``{name}``: {_escaped(found['about'])}"
        else:
            yield f"  {_escaped(line.strip())}"


def _escaped(line: str, keep: str = "") -> str:
    """The line with code as literals and without markup by accident."""
    pieces = CODE.split(line[len(keep) :])
    written = keep
    for piece in pieces:
        if CODE.fullmatch(piece):
            written += f"`{piece}`"
        else:
            apart = "\\ " if written.endswith("`") and piece[:1].isalnum() else ""
            written += apart + re.sub(r"([*|_\\`])", r"\\\1", piece)
    return written


def process(app, what, name, obj, options, lines: list[str]) -> None:
    """Replace the docstring's lines, unless they are in scikit-learn's form, with sections."""
    if name.endswith("NadarayaWatson"):
        return
    lines[:] = list(restructured(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", process, priority=100)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
