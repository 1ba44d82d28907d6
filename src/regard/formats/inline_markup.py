"""The text of a TMX or XLIFF segment without its inline codes.

Elements around text (`g`, `hi`, `mrk`, `pc`) contribute their text. Elements with native codes
(`<bpt>&lt;b&gt;</bpt>`) and placeholders (`<x/>`, `<ph/>`) contribute nothing: their content is
markup. XLIFF 2's `<cp hex="…"/>` contributes its character.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CODES = frozenset({"bpt", "ept", "ph", "it", "ut", "x", "bx", "ex", "sc", "ec", "sm", "em"})


def plain_text(element: Any) -> str:
    """The text inside an lxml element, as displayed."""
    return "".join(_runs(element))


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
