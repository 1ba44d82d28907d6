"""The encoding of documents of text: found, kept, and written with the byte order mark it had."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from regard.errors import InputError
from regard.formats.lines import decode_chunks, is_utf8

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_XML_ENCODING = re.compile(rb"""<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_HTML_CHARSET = re.compile(
    rb"""<meta\s(?:(?!<meta\s)[^>])*?charset\s*=\s*["']?([A-Za-z0-9._-]+)""", re.I
)
_PO_CHARSET = re.compile(rb"charset=\s*([\w.:-]+)")

Declared = Callable[[bytes], str | None]
"""Finds the encoding that a document's content declares."""


def declared_by_nothing(data: bytes) -> str | None:
    """None: the format has no declaration of its encoding."""
    return None


def declared_by_xml(data: bytes) -> str | None:
    """The encoding that an XML declaration names; UTF-8 without one."""
    match = _XML_ENCODING.match(data.lstrip())
    return match[1].decode() if match else "utf-8"


def declared_by_po(data: bytes) -> str | None:
    """The charset of a PO catalog's header, unless it is the template's placeholder."""
    match = _PO_CHARSET.search(data)
    name = match[1].decode("latin-1") if match else "CHARSET"
    return None if name == "CHARSET" else name


def declared_by_html(data: bytes) -> str | None:
    """The charset that a page declares, if it is not UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        match = _HTML_CHARSET.search(data, 0, 4096)
        return match[1].decode() if match else None
    return None


def decode(
    data: bytes, encoding: str, declared: Declared, name: str = "the document"
) -> tuple[str, str, bytes]:
    """The text, its encoding and its byte order mark.

    The mark decides, then what the document declares, then `encoding`. An error has its `name`.
    """
    for mark, marked in _MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], marked, name), marked, mark
    encoding = declared(data) or encoding
    try:
        is_utf8(encoding)
    except InputError as error:
        raise InputError(
            f"{name}: the encoding {encoding} is unknown; convert it to UTF-8."
        ) from error
    return _decoded(data, encoding, name), encoding, b""


def _decoded(data: bytes, encoding: str, name: str) -> str:
    """Strictly decoded text; an error names the line."""
    try:
        return data.decode(encoding)
    except UnicodeError:
        for _ in decode_chunks([data], name, encoding):
            pass  # raises the error with its line
        raise


def encode(text: str, encoding: str, mark: bytes, references: bool) -> bytes:
    """Bytes of a text.

    references  whether a character that the encoding lacks can be written as `&#…;`
    """
    try:
        return mark + text.encode(encoding, "xmlcharrefreplace" if references else "strict")
    except UnicodeEncodeError as error:
        lacking = error.object[error.start]
        raise InputError(
            f"the translation has {lacking!r}, which {encoding} cannot write; convert the document "
            "to UTF-8 first."
        ) from error
