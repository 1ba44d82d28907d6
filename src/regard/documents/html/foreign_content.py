"""Foreign content (svg, math) inside HTML: where it ends, and where HTML is nested in it.

Inside svg and math there is CDATA, and scripts and styles are not raw text. Browsers repair
ill-formed foreign content by closing it early; here the rest of such a page is not parsed.
"""

from __future__ import annotations

VOID = frozenset({
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "image", "img",
    "input", "keygen", "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip
BREAKOUT = frozenset({
    "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em",
    "embed", "font", "h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing",
    "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s", "small", "span", "strike", "strong",
    "sub", "sup", "table", "tt", "u", "ul", "var",
})  # fmt: skip
"""Start tags at which a browser closes foreign content."""
IGNORED = frozenset({
    "body", "caption", "col", "colgroup", "frame", "frameset", "head", "html", "mglyph",
    "malignmark", "tbody", "td", "tfoot", "th", "thead", "tr",
})  # fmt: skip
"""Tags that browsers ignore, or may ignore, inside the HTML of foreign content."""
INTEGRATION_POINTS = frozenset({
    ("svg", "foreignobject"), ("svg", "desc"), ("svg", "title"),
    ("math", "mi"), ("math", "mo"), ("math", "mn"), ("math", "ms"), ("math", "mtext"),
})  # fmt: skip
"""Foreign elements with HTML inside (HTML standard: integration points)."""
NOT_IN_SELECT = frozenset({
    "svg", "math", "style", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext",
    "textarea", "title",
})  # fmt: skip
"""Elements that only some browsers accept inside a select."""


class ForeignContent:
    """The open elements inside the outermost svg or math element, if one is open."""

    def __init__(self) -> None:
        self._open: list[tuple[str, str]] = []  # namespace (svg, math or html) and name
        self._select = False
        self._templates = 0

    def __len__(self) -> int:
        return len(self._open)

    @property
    def html(self) -> bool:
        """Whether a start tag at this position is an HTML tag."""
        return not self.cdata or self._open[-1] in INTEGRATION_POINTS

    @property
    def cdata(self) -> bool:
        """Whether CDATA is allowed at this position."""
        return bool(self._open) and self._open[-1][0] != "html"

    def start(self, name: str, self_closing: bool) -> bool:
        """Process a start tag; returns whether browsers agree on its meaning."""
        if self.html:
            return self._start_html(name, self_closing)
        if name in BREAKOUT or name == "annotation-xml":
            return False
        if not self_closing:
            self._open.append((self._open[-1][0], name))
        return True

    def _start_html(self, name: str, self_closing: bool) -> bool:
        ambiguous = name == "frameset" or (self._select and name in NOT_IN_SELECT)
        ambiguous |= bool(self._open) and (name in IGNORED or name == "select")
        ambiguous |= self._templates > 0 and name in ("col", "colgroup")
        if ambiguous:
            return False
        self._select |= name == "select"
        self._templates += name == "template"
        if name in ("svg", "math"):
            if not self_closing:
                self._open.append((name, name))
        elif self._open and name not in VOID:
            self._open.append(("html", name))
        return True

    def end(self, name: str) -> bool:
        """Process an end tag; returns whether browsers agree on its meaning."""
        if not self.cdata:
            self._select &= name != "select"
            self._templates -= name == "template" and self._templates > 0
            return not self._open or self._open.pop()[1] == name
        while self.cdata:
            if self._open.pop()[1] == name:
                return True
        return False
