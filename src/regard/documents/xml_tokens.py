"""An XML tokenizer that keeps every character and expands no entity:

    "".join(token.raw for token in xml_tokens(source)) == source

It checks what translation relies on: tags that are closed and nested. Entities other than the five
of XML and character numbers are not looked up; no file and no network is read. (A parser such as
lxml gives no positions inside of tags, and writes attributes and entities in its own way.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from regard.errors import InputError

Kind = Literal["text", "cdata", "start", "end", "empty", "other"]
"""text: with references; cdata: without; empty: a tag such as <x/>; other: comment, declaration."""

MAX_XML_DEPTH = 1000
_NAME = r"[A-Za-z_:\u0080-\U0010ffff][\w:.\-\u00b7]*"
_SPACE = "\t\n\r "
_ATTRIBUTE = re.compile(rf"[{_SPACE}]+({_NAME})[{_SPACE}]*=[{_SPACE}]*(\"[^\"<]*\"|'[^'<]*')")
_START = re.compile(rf"<({_NAME})")
_START_END = re.compile(rf"[{_SPACE}]*(/?)>")
_END = re.compile(rf"</({_NAME})[{_SPACE}]*>")
_REFERENCE = re.compile(r"&(?:#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));")
_PREDEFINED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_DOCTYPE_MARK = re.compile(r"""[\[\]>"']|<!--|<\?""")


class XmlToken(NamedTuple):
    """A piece of XML.

    name        of a tag, without its prefix
    attributes  name (with prefix) and span of the value in `raw`, without quotes
    start       its position in the source
    """

    kind: Kind
    raw: str
    name: str = ""
    attributes: tuple[tuple[str, int, int], ...] = ()
    start: int = 0

    def get(self, name: str) -> str:
        """An attribute's value, decoded; empty if there is none."""
        return next(
            (unescape_xml(self.raw[a:b]) for key, a, b in self.attributes if key == name), ""
        )

    @property
    def end(self) -> int:
        """The position after it."""
        return self.start + len(self.raw)


def xml_tokens(source: str) -> Iterator[XmlToken]:
    """All tokens of a document; tags that are not closed or not nested are an error.

    >>> [token.raw for token in xml_tokens("<a b='c'>d<!-- e --><f/></a>")]
    ["<a b='c'>", 'd', '<!-- e -->', '<f/>', '</a>']
    """
    position = 0
    open_names: list[str] = []
    while position < len(source):
        token = _token(source, position)
        if token.kind == "start":
            open_names.append(_full_name(token))
            if len(open_names) > MAX_XML_DEPTH:
                raise _error(source, position, "too many elements are inside each other")
        elif token.kind == "end":
            if not open_names or open_names.pop() != _full_name(token):
                raise _error(source, position, f"{token.raw} closes no open element")
        elif not open_names and token.kind in ("text", "cdata") and token.raw.strip(_SPACE):
            raise _error(source, position, "there is text outside of the root element")
        yield token
        position = token.end
    if open_names:
        raise _error(source, len(source), f"<{open_names[-1]}> is not closed")


def unescape_xml(text: str) -> str:
    """Text without the references that XML defines; others stay as they are.

    >>> unescape_xml("a &lt; b &#x26; &other;")
    'a < b & &other;'
    """
    return _REFERENCE.sub(_character, text) if "&" in text else text


def escape_xml(text: str) -> str:
    """Text of an element; characters that XML does not allow are left out."""
    return _NOT_XML.sub("", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def text_pieces(raw: str) -> Iterator[tuple[str, str]]:
    """Text as pairs of decoded and raw text; an unknown entity stands by itself, as ("", raw)."""
    done = 0
    for match in _UNKNOWN.finditer(raw):
        if _REFERENCE.fullmatch(match[0]):
            continue
        if match.start() > done:
            yield unescape_xml(raw[done : match.start()]), raw[done : match.start()]
        yield "", match[0]
        done = match.end()
    if done < len(raw):
        yield unescape_xml(raw[done:]), raw[done:]


_UNKNOWN = re.compile(r"&[^;\s&<]{1,100};")


def _character(match: re.Match[str]) -> str:
    if match[3]:
        return _PREDEFINED[match[3]]
    code = int(match[1]) if match[1] else int(match[2], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else match[0]


def _token(source: str, at: int) -> XmlToken:
    if source[at] != "<":
        end = source.find("<", at)
        return XmlToken("text", source[at : end if end >= 0 else len(source)], start=at)
    if match := _END.match(source, at):
        return XmlToken("end", match[0], _local(match[1]), start=at)
    if match := _START.match(source, at):
        return _tag(source, at, match)
    for opening, closing, kind in _SECTIONS:
        if source.startswith(opening, at):
            end = source.find(closing, at + len(opening))
            if end < 0:
                raise _error(source, at, f"{opening} has no end")
            return XmlToken(kind, source[at : end + len(closing)], start=at)
    if source.startswith("<!DOCTYPE", at):
        return XmlToken("other", source[at : _doctype_end(source, at)], start=at)
    raise _error(source, at, f"{source[at : at + 20]!r} is no tag")


_SECTIONS: tuple[tuple[str, str, Kind], ...] = (
    ("<!--", "-->", "other"),
    ("<![CDATA[", "]]>", "cdata"),
    ("<?", "?>", "other"),
)


def _tag(source: str, at: int, name: re.Match[str]) -> XmlToken:
    attributes = []
    position = name.end()
    while match := _ATTRIBUTE.match(source, position):
        attributes.append((match[1], match.start(2) + 1 - at, match.end(2) - 1 - at))
        position = match.end()
    end = _START_END.match(source, position)
    if end is None:
        raise _error(source, at, f"<{name[1]}> has no end, or a damaged attribute")
    kind: Kind = "empty" if end[1] else "start"
    return XmlToken(kind, source[at : end.end()], _local(name[1]), tuple(attributes), at)


def _doctype_end(source: str, at: int) -> int:
    """The end of a document type declaration; what it declares is not read."""
    position, depth = at + 9, 0
    while match := _DOCTYPE_MARK.search(source, position):
        mark, position = match[0], match.end()
        if mark == "[":
            depth += 1
        elif mark == "]":
            depth -= 1
        elif mark == ">":
            if depth <= 0:
                return position
        else:
            closing = {"<!--": "-->", "<?": "?>"}.get(mark, mark)
            end = source.find(closing, position)
            if end < 0:
                break
            position = end + len(closing)
    raise _error(source, at, "<!DOCTYPE has no end")


def _full_name(token: XmlToken) -> str:
    return re.split(rf"[{_SPACE}/>]", token.raw.lstrip("</"), maxsplit=1)[0]


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _error(source: str, at: int, problem: str) -> InputError:
    line = source.count("\n", 0, at) + 1
    return InputError(f"line {line}: this is not well-formed XML ({problem}); correct the file.")
