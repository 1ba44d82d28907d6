"""The text of a TMX or XLIFF segment without its inline codes.

Elements around text (`g`, `hi`, `mrk`, `pc`) contribute their text. Elements with native codes
(`<bpt>&lt;b&gt;</bpt>`) and placeholders (`<x/>`, `<ph/>`) contribute nothing: their content is
markup. XLIFF 2's `<cp hex="…"/>` contributes its character.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from regard.errors import InputError
from regard.formats.pair import Path, format_error

CODES = frozenset({"bpt", "ept", "ph", "it", "ut", "x", "bx", "ex", "sc", "ec", "sm", "em"})


def child_text(element: Any, name: str) -> str:
    """The text inside the first child of this name of an lxml element, as displayed."""
    return next(("".join(_runs(child)) for child in element if local_name(child) == name), "")


def xml_error(path: Path, error: Any) -> InputError:
    """The error for lxml's `XMLSyntaxError`."""
    problem = f"this is not well-formed XML ({error.msg})"
    return format_error(path, error.lineno, problem, "correct the file")


def local_name(element: Any) -> str:
    """The element's name without its namespace; empty for comments and entities."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _runs(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        name = local_name(child)
        if name == "cp":
            yield _character(child.get("hex", ""))
        elif name and name not in CODES:
            yield from _runs(child)
        yield child.tail or ""


def _character(code: str) -> str:
    try:
        return chr(int(code, 16))
    except (ValueError, OverflowError):
        return ""
