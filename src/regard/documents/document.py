"""Documents: the texts to be translated, and everything else verbatim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from regard.documents.blocks import Part, blocks
from regard.documents.projection import LinkedTranslation
from regard.documents.render import render_parts


@dataclass(frozen=True)
class DocumentOptions:
    """Options of reading and writing a document.

    source, target  codes of the languages, e.g. "en" and "fr"
    fuzzy           whether new messages of a catalog are marked as needing review
    replace         whether messages of a catalog that are translated already are translated again
    encoding        of text whose format declares none
    name            of the file, for errors
    force_language  whether a catalog that declares another target language is filled all the same
    language_remedy  what to do about such a catalog, for the error
    max_bytes       most bytes that a compressed document may expand to
    """

    source: str = ""
    target: str = ""
    fuzzy: bool = True
    replace: bool = False
    encoding: str = "utf-8"
    name: str = "the document"
    force_language: bool = False
    language_remedy: str = "translate it into that language"
    max_bytes: int = 256 << 20


class Document(Protocol):
    """A file whose texts can be translated."""

    @property
    def texts(self) -> list[str]:
        """The texts to be translated."""
        ...

    @property
    def has_markup(self) -> bool:
        """Whether a text has inline elements or code, which are placed by word links."""
        ...

    def render(self, translations: Sequence[LinkedTranslation]) -> bytes:
        """The file with translations of its texts."""
        ...


@dataclass(frozen=True)
class TextDocument:
    """Verbatim text, and blocks to be translated between it."""

    parts: tuple[Part, ...]

    @property
    def texts(self) -> list[str]:
        """The texts to be translated."""
        return [block.text for block in blocks(self.parts)]

    @property
    def has_markup(self) -> bool:
        """Whether a text has inline elements or code, which are placed by word links."""
        return any(block.inner or block.verbatim for block in blocks(self.parts))

    def render(self, translations: Sequence[LinkedTranslation]) -> str:
        """The text with translations of its texts."""
        by_block = dict(zip(blocks(self.parts), translations, strict=True))
        return render_parts(self.parts, by_block)


@dataclass(frozen=True)
class EncodedDocument:
    """A document of text as bytes.

    encode  makes bytes of it, in its own encoding, with its byte order mark
    """

    document: TextDocument
    encode: Callable[[str], bytes]

    @property
    def texts(self) -> list[str]:
        """The texts to be translated."""
        return self.document.texts

    @property
    def has_markup(self) -> bool:
        """Whether a text has inline elements or code, which are placed by word links."""
        return self.document.has_markup

    def render(self, translations: Sequence[LinkedTranslation]) -> bytes:
        """The bytes with translations of its texts."""
        return self.encode(self.document.render(translations))
