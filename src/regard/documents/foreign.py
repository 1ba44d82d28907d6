"""Drawings and formulas inside HTML: how far they reach, and where HTML is inside them again.

Inside of svg and math there is CDATA, and a script or a style is no raw text. Browsers mend what
is ill-formed by leaving the drawing in the middle; here such a page is given up instead.
"""

from __future__ import annotations

from typing import NamedTuple

VOID = frozenset({
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "image", "img",
    "input", "keygen", "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip
LEAVING = frozenset({
    "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em",
    "embed", "font", "h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing",
    "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s", "small", "span", "strike", "strong",
    "sub", "sup", "table", "tt", "u", "ul", "var",
})  # fmt: skip
"""Tags at which a browser leaves a drawing."""
IGNORED = frozenset({
    "body", "caption", "col", "colgroup", "frame", "frameset", "head", "html", "mglyph",
    "malignmark", "tbody", "td", "tfoot", "th", "thead", "tr",
})  # fmt: skip
"""Tags that browsers pass over, or may, inside the HTML of a drawing."""
DOORS = frozenset({
    ("svg", "foreignobject"), ("svg", "desc"), ("svg", "title"),
    ("math", "mi"), ("math", "mo"), ("math", "mn"), ("math", "ms"), ("math", "mtext"),
})  # fmt: skip
"""Elements of drawings and formulas with HTML inside."""
NOT_IN_SELECT = frozenset({
    "svg", "math", "style", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext",
    "textarea", "title",
})  # fmt: skip
"""Of a select's content some browsers know these, others pass over them."""


class _Open(NamedTuple):
    name: str
    space: str  # svg, math or html


class Foreign:
    """The elements that are open in the outermost drawing or formula, if one is open."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._select = False
        self._templates = 0

    def __len__(self) -> int:
        return len(self._open)

    @property
    def html(self) -> bool:
        """Whether a start tag here is one of HTML."""
        return not self._open or self._open[-1].space == "html" or self._open[-1][::-1] in DOORS

    @property
    def cdata(self) -> bool:
        """Whether there may be CDATA here."""
        return bool(self._open) and self._open[-1].space != "html"

    def start(self, name: str, closes_itself: bool) -> bool:
        """Take a start tag; returns whether it is clear what a browser does with it."""
        if self.html:
            return self._start_html(name, closes_itself)
        if name in LEAVING or name == "annotation-xml":
            return False
        if not closes_itself:
            self._open.append(_Open(name, self._open[-1].space))
        return True

    def _start_html(self, name: str, closes_itself: bool) -> bool:
        unclear = name == "frameset" or (self._select and name in NOT_IN_SELECT)
        unclear |= bool(self._open) and (name in IGNORED or name == "select")
        unclear |= self._templates > 0 and name in ("col", "colgroup")
        if unclear:
            return False
        self._select |= name == "select"
        self._templates += name == "template"
        if name in ("svg", "math"):
            if not closes_itself:
                self._open.append(_Open(name, name))
        elif self._open and name not in VOID:
            self._open.append(_Open(name, "html"))
        return True

    def end(self, name: str) -> bool:
        """Take an end tag; returns whether it is clear what a browser does with it."""
        if not self._open or self._open[-1].space == "html":
            self._select &= name != "select"
            self._templates -= name == "template" and self._templates > 0
            if not self._open:
                return True
            return self._open.pop().name == name
        while self._open and self._open[-1].space != "html":
            if self._open.pop().name == name:
                return True
        return False
