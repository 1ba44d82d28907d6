"""The formats of documents, by their names and by the suffixes of files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from regard.documents.document import Document, DocumentOptions, EncodedDocument, TextDocument
from regard.documents.encoding import (
    Declared,
    declared_by_html,
    declared_by_nothing,
    declared_by_po,
    declared_by_xml,
    decode,
    encode,
)
from regard.documents.guarded import guarded
from regard.errors import InputError

TextParser = Callable[[str, DocumentOptions], TextDocument]


@dataclass(frozen=True)
class DocumentFormat:
    """A format of documents.

    parse       reads the bytes of a file
    suffixes    of its files
    is_binary   whether it is no text, so that it cannot be written to a terminal
    is_catalog  whether translations stand beside the source and only missing ones are filled in
    """

    name: str
    suffixes: tuple[str, ...]
    parse: Callable[[bytes, DocumentOptions], Document]
    is_binary: bool = False
    is_catalog: bool = False


def _html(source: str, options: DocumentOptions) -> TextDocument:
    from regard.documents.html import parse_html

    return parse_html(source)


def _markdown(source: str, options: DocumentOptions) -> TextDocument:
    from regard.documents.markdown import parse_markdown

    return parse_markdown(source)


def _plain(source: str, options: DocumentOptions) -> TextDocument:
    from regard.documents.plain import parse_plain

    return parse_plain(source)


def _po(source: str, options: DocumentOptions) -> TextDocument:
    from regard.documents.catalogs.po import parse_po

    return parse_po(source, options)


def _xliff(source: str, options: DocumentOptions) -> TextDocument:
    from regard.documents.catalogs.xliff import parse_xliff

    return parse_xliff(source, options)


def _tmx(source: str, options: DocumentOptions) -> TextDocument:
    from regard.documents.catalogs.tmx import parse_tmx

    return parse_tmx(source, options)


def _subtitles(source: str, options: DocumentOptions, *, escaped: bool) -> TextDocument:
    from regard.documents.subtitles import parse_subtitles

    return parse_subtitles(source, escaped=escaped)


def _json(source: str, options: DocumentOptions) -> TextDocument:
    from regard.documents.tables.json_table import parse_json

    return parse_json(source)


def _yaml(source: str, options: DocumentOptions) -> TextDocument:
    from regard.documents.tables.yaml_table import parse_yaml

    return parse_yaml(source)


def _docx(data: bytes, options: DocumentOptions) -> Document:
    from regard.documents.office.document import parse_docx

    return parse_docx(data, options.max_bytes)


def _odt(data: bytes, options: DocumentOptions) -> Document:
    from regard.documents.office.document import parse_odt

    return parse_odt(data, options.max_bytes)


def _encoded(
    data: bytes,
    options: DocumentOptions,
    *,
    parse: TextParser,
    declared: Declared,
    references: bool,
) -> Document:
    """A document of text, in its encoding."""
    text, encoding, mark = decode(data, options.encoding, declared, options.name)
    writer = partial(encode, encoding=encoding, mark=mark, references=references)
    return EncodedDocument(parse(text, options), writer)


def _text(
    name: str,
    suffixes: str,
    parse: TextParser,
    declared: Declared = declared_by_nothing,
    *,
    references: bool = False,
    is_catalog: bool = False,
) -> DocumentFormat:
    reader = partial(_encoded, parse=parse, declared=declared, references=references)
    return DocumentFormat(name, tuple(suffixes.split()), reader, is_catalog=is_catalog)


_ALL = (
    _text("text", ".txt .text", _plain),
    _text("html", ".html .htm .xhtml", _html, declared_by_html, references=True),
    _text("markdown", ".md .markdown", _markdown, references=True),
    _text("po", ".po .pot", _po, declared_by_po, is_catalog=True),
    _text("xliff", ".xlf .xliff", _xliff, declared_by_xml, references=True, is_catalog=True),
    _text("tmx", ".tmx", _tmx, declared_by_xml, references=True, is_catalog=True),
    _text("srt", ".srt", partial(_subtitles, escaped=False)),
    _text("vtt", ".vtt", partial(_subtitles, escaped=True)),
    _text("json", ".json", _json),
    _text("yaml", ".yaml .yml", _yaml),
    DocumentFormat("docx", (".docx",), _docx, is_binary=True),
    DocumentFormat("odt", (".odt",), _odt, is_binary=True),
)
FORMATS = {form.name: form for form in _ALL}
BY_SUFFIX = {suffix: form for form in _ALL for suffix in form.suffixes}


def parse_document(data: bytes, form: str, options: DocumentOptions) -> Document:
    """A document of a format, which is named as in `FORMATS`.

    >>> parse_document(b"# A cat", "markdown", DocumentOptions()).texts
    ['A cat']
    """
    if form not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, got {form!r}.")
    return guarded(lambda: FORMATS[form].parse(data, options), form, options.name)
