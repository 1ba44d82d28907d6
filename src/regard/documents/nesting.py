"""Which elements of a page are open, with the end tags that may be left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from regard.documents.foreign import VOID
from regard.documents.tokens import Token

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
"""What a start tag ends, and what must not be between."""


class Nesting:
    """The open elements, outermost first."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._places: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def read(self, token: Token) -> int:
        """Take a tag; returns how many of the elements open before stay open."""
        if token.foreign or token.kind not in ("start", "end"):
            return len(self)
        name = token.name
        if token.kind == "end":
            barriers = _TABLE_SCOPE if name in _OF_TABLES else _SCOPE
            return self._close((name,), [one for one in barriers if one != name])
        if name in _ENDS_P:
            self._close(("p",), _P_SCOPE)
        stay = self._close(*_ENDED_BY[name]) if name in _ENDED_BY else len(self)
        if name not in VOID:
            self._places.setdefault(name, []).append(len(self))
            self._open.append(name)
        return stay

    def _close(self, names: Iterable[str], barriers: Iterable[str]) -> int:
        """Close the outermost of these elements behind the last barrier, and all inside it."""
        barrier = max((self._last(name) for name in barriers), default=-1)
        found = [place for name in names if (place := self._last(name)) > barrier]
        outermost = min(found, default=len(self))
        while len(self) > outermost:
            self._places[self._open.pop()].pop()
        return len(self)

    def _last(self, name: str) -> int:
        places = self._places.get(name)
        return places[-1] if places else -1
