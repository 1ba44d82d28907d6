"""Translation memories (TMX): units without the target language get a variant in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from regard.documents.blocks import Value, blocks, unescaped
from regard.documents.catalogs.coded_segments import (
    Edits,
    line_lead,
    prefix,
    raw_text,
    segment_parts,
)
from regard.documents.catalogs.target_language import check_target_language
from regard.documents.document import DocumentOptions, TextDocument
from regard.documents.xml_tokens import XmlToken, xml_tokens
from regard.errors import InputError


@dataclass
class _Variant:
    """A tuv: its language, and the tokens that begin and end it and its seg."""

    language: str
    first: int
    last: int = 0
    segment: tuple[int, int] | None = None


@dataclass
class _Unit:
    variants: list[_Variant] = field(default_factory=list)


def parse_tmx(source: str, options: DocumentOptions) -> TextDocument:
    """The segments in the source language whose unit has none in the target language."""
    if not (options.source and options.target):
        raise InputError(
            "a translation memory has many languages; the languages to translate from and to "
            "must be known."
        )
    tokens = list(xml_tokens(source))
    root = next((token for token in tokens if token.kind in ("start", "empty")), None)
    if root is None or root.name != "tmx":
        raise InputError("this is XML but not a TMX file; export it again as TMX.")
    edits, unit, segment = Edits(source), _Unit(), 0
    for number, token in enumerate(tokens):
        if token.kind == "start" and token.name == "prop" and token.get("type") == "targetlang":
            if tokens[number + 1].kind == "text":
                check_target_language(tokens[number + 1].raw, options)
        elif token.kind == "start" and token.name == "tu":
            unit = _Unit()
        elif token.kind == "start" and token.name == "tuv":
            unit.variants.append(_Variant(token.get("xml:lang") or token.get("lang"), number))
        elif token.kind == "start" and token.name == "seg":
            segment = number
        elif token.name == "seg" and unit.variants:
            unit.variants[-1].segment = (segment if token.kind == "end" else number), number
        elif token.kind == "end" and token.name == "tuv" and unit.variants:
            unit.variants[-1].last = number
        elif token.kind == "end" and token.name == "tu":
            _fill(source, tokens, unit, options, edits)
            unit = _Unit()
    return edits.document()


def _fill(
    source: str,
    tokens: Sequence[XmlToken],
    unit: _Unit,
    options: DocumentOptions,
    edits: Edits,
) -> None:
    source_variant, target_variant = _best(unit, options.source), _best(unit, options.target)
    if source_variant is None or source_variant is target_variant or source_variant.segment is None:
        return
    parts = segment_parts(
        tokens[source_variant.segment[0] + 1 : source_variant.segment[1]], preserve=False
    )
    if not any(True for _ in blocks(parts)):
        return
    value = Value(parts, None, unescaped)
    if target_variant is None:
        _add_variant(
            source, tokens, source_variant, unit.variants[-1], value, options.target, edits
        )
    elif target_variant.segment is not None:
        first, last = (tokens[number] for number in target_variant.segment)
        inside = raw_text(tokens[target_variant.segment[0] + 1 : target_variant.segment[1]])
        if first.kind == "empty":
            name = f"{prefix(first)}seg"
            opening = first.raw[:-2].rstrip() + ">"
            edits.replace(first.start, first.end, opening, value, f"</{name}>")
        elif options.replace or not inside.strip():
            edits.replace(first.end, last.start, value)


def _add_variant(
    source: str,
    tokens: Sequence[XmlToken],
    source_variant: _Variant,
    last: _Variant,
    value: Value,
    language: str,
    edits: Edits,
) -> None:
    """A tuv after the last one, laid out as the source's is."""
    assert source_variant.segment is not None
    tuv, segment = tokens[source_variant.first], tokens[source_variant.segment[0]]
    end = tokens[source_variant.last]
    name, inner = f"{prefix(tuv)}tuv", f"{prefix(segment)}seg"
    attribute = "xml:lang" if tuv.get("xml:lang") else "lang"
    after = tokens[last.last].end
    edits.replace(
        after,
        after,
        f'{line_lead(source, tuv.start)}<{name} {attribute}="{language}">',
        f"{line_lead(source, segment.start)}<{inner}>",
        value,
        f"</{inner}>{line_lead(source, end.start)}</{name}>",
    )


def _best(unit: _Unit, language: str) -> _Variant | None:
    """The variant in a language: the same code, else the same language of another country."""
    wanted = language.lower().replace("_", "-")
    codes = [(variant.language.lower().replace("_", "-"), variant) for variant in unit.variants]
    for code, variant in codes:
        if code == wanted:
            return variant
    primary = wanted.partition("-")[0]
    return next((v for code, v in codes if code.partition("-")[0] == primary), None)
