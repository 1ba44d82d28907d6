"""A word processor's document: the members of the archive that have text, and all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from regard.documents.blocks import Part
from regard.documents.document import TextDocument
from regard.documents.encoding import declared_by_xml, decode, encode
from regard.documents.office.archive import MAX_BYTES, read_archive, write_archive
from regard.documents.office.docx import MEMBERS, docx_member
from regard.documents.office.odt import odt_member
from regard.documents.projection import LinkedTranslation
from regard.errors import InputError

MAX_XML = 64 << 20
"""Most bytes of all members with text."""
_ODT_MEMBERS = ("content.xml", "styles.xml")


@dataclass(frozen=True)
class OfficeDocument:
    """An archive, and its members with text.

    data     the whole file
    members  the documents of text, by the name of the member
    encoders make bytes of them
    """

    data: bytes
    members: Mapping[str, TextDocument]
    encoders: Mapping[str, Callable[[str], bytes]]

    @property
    def texts(self) -> list[str]:
        """The texts to be translated."""
        return [text for member in self.members.values() for text in member.texts]

    @property
    def has_markup(self) -> bool:
        """Whether a text has inline elements or code, which are placed by word links."""
        return any(member.has_markup for member in self.members.values())

    def render(self, translations: Sequence[LinkedTranslation]) -> bytes:
        """The file with translations of its texts; the same file if none of them changed."""
        position, changed = 0, {}
        for name, member in self.members.items():
            texts = member.texts
            member_translations = translations[position : position + len(texts)]
            position += len(texts)
            if any(
                text != translation.text
                for text, translation in zip(texts, member_translations, strict=True)
            ):
                changed[name] = self.encoders[name](member.render(member_translations))
        return write_archive(self.data, changed) if changed else self.data


def parse_docx(data: bytes, max_bytes: int = MAX_BYTES) -> OfficeDocument:
    """A DOCX file; `max_bytes` may it expand to."""
    members = read_archive(data, max_bytes)
    if "word/document.xml" not in members:
        raise InputError("this is a zip archive but not a DOCX document; save it as DOCX.")
    chosen = {name: content for name, content in members.items() if MEMBERS.fullmatch(name)}
    return _document(data, chosen, docx_member)


def parse_odt(data: bytes, max_bytes: int = MAX_BYTES) -> OfficeDocument:
    """An ODT file; `max_bytes` may it expand to."""
    members = read_archive(data, max_bytes)
    if "content.xml" not in members:
        raise InputError("this is a zip archive but not an ODT document; save it as ODT.")
    chosen = {name: content for name, content in members.items() if name in _ODT_MEMBERS}
    return _document(data, chosen, odt_member)


def _document(
    data: bytes, chosen: Mapping[str, bytes], reader: Callable[[str], list[Part]]
) -> OfficeDocument:
    members, encoders = {}, {}
    size = sum(map(len, chosen.values()))
    if size > MAX_XML:
        raise InputError(f"the document has {size:,} bytes of XML, at most {MAX_XML:,} fit.")
    for name, content in chosen.items():
        try:
            text, encoding, mark = decode(content, "utf-8", declared_by_xml)
            members[name] = TextDocument(tuple(reader(text)))
        except InputError as error:
            raise InputError(f"{name} in the document, {error}") from error
        encoders[name] = partial(encode, encoding=encoding, mark=mark, references=True)
    return OfficeDocument(data, members, encoders)
