"""The stack of open elements of a page; end tags may be omitted as HTML allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from regard.documents.html.foreign_content import VOID
from regard.documents.html.tokens import Token

_ENDS_P = frozenset({
    "address", "article", "aside", "blockquote", "center", "dd", "details", "dialog", "dir", "div",
    "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5",
    "h6", "header", "hgroup", "hr", "li", "listing", "main", "menu", "nav", "ol", "p",
    "plaintext", "pre", "search", "section", "summary", "table", "ul", "xmp",
})  # fmt: skip
_GROUPS = ("thead", "tbody", "tfoot", "caption", "colgroup")
_SCOPE = ("table", "td", "th", "caption", "template", "object", "marquee", "applet")
_P_SCOPE = (*_SCOPE, "button")
_TABLE_SCOPE = ("table", "template")
_OF_TABLES = frozenset({"table", "tr", "td", "th", *_GROUPS})
_ROW = ("tr", "td", "th")

_ENDED_BY: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "li": (("li",), ("ul", "ol", "menu", *_SCOPE)),
    "dt": (("dt", "dd"), ("dl", *_SCOPE)),
    "dd": (("dt", "dd"), ("dl", *_SCOPE)),
    "option": (("option",), ("select", "datalist", "optgroup", *_SCOPE)),
    "optgroup": (("option", "optgroup"), ("select", *_SCOPE)),
    "rt": (("rt", "rp"), ("ruby", *_SCOPE)),
    "rp": (("rt", "rp"), ("ruby", *_SCOPE)),
    "td": (("td", "th"), ("tr", *_TABLE_SCOPE)),
    "th": (("td", "th"), ("tr", *_TABLE_SCOPE)),
    "tr": ((*_ROW, "caption", "colgroup"), _TABLE_SCOPE),
    **dict.fromkeys(_GROUPS, ((*_ROW, *_GROUPS), _TABLE_SCOPE)),
    "body": (("head",), ()),
}
"""For a start tag: the elements it closes, and those that stop the search for them."""


class OpenElements:
    """The open elements, outermost first."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._positions: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def read(self, token: Token) -> int:
        """Process a tag; returns how many of the open elements stay open."""
        if token.foreign or token.kind not in ("start", "end"):
            return len(self)
        name = token.name
        if token.kind == "end":
            barriers = _TABLE_SCOPE if name in _OF_TABLES else _SCOPE
            return self._close((name,), [barrier for barrier in barriers if barrier != name])
        if name in _ENDS_P:
            self._close(("p",), _P_SCOPE)
        stay = self._close(*_ENDED_BY[name]) if name in _ENDED_BY else len(self)
        if name not in VOID:
            self._positions.setdefault(name, []).append(len(self))
            self._open.append(name)
        return stay

    def _close(self, names: Iterable[str], barriers: Iterable[str]) -> int:
        """Close the outermost of these elements inside the last barrier, and all it contains."""
        barrier = max((self._last(name) for name in barriers), default=-1)
        inside = [position for name in names if (position := self._last(name)) > barrier]
        outermost = min(inside, default=len(self))
        while len(self) > outermost:
            self._positions[self._open.pop()].pop()
        return len(self)

    def _last(self, name: str) -> int:
        positions = self._positions.get(name)
        return positions[-1] if positions else -1
