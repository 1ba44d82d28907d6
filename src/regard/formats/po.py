"""Gettext catalogs (PO), read by translate-toolkit: messages translated and not marked fuzzy."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any

from regard.errors import InputError
from regard.formats.compressed import read_bytes
from regard.formats.lines import is_utf8
from regard.formats.pair import (
    Languages,
    Path,
    RawPair,
    ReadReport,
    format_error,
    is_reversed,
    storage_module,
)

_CHARSET = re.compile(rb"charset=\s*([\w.:-]+)")
_LINE = re.compile(r" on line (\d+)")


def read_po(
    path: Path, languages: Languages | None, encoding: str, report: ReadReport
) -> Iterator[RawPair]:
    """The pairs of msgid and msgstr; a message with plural forms gives a pair for each form.

    The header and obsolete messages are skipped; fuzzy and untranslated ones are skipped and
    counted. `encoding` is used where the header declares none. Of a message with plurals, msgstr[0]
    is paired with msgid and the others with msgid_plural; in a language with one form, msgstr[0] is
    paired with both.
    """
    catalog = _parse(_as_utf8(read_bytes(path), path, encoding), path)
    language = catalog.parseheader().get("Language")
    reversed_file = is_reversed(None, language, languages, path)
    for unit in catalog.units:
        if unit.isheader() or unit.isobsolete():
            continue
        if unit.isfuzzy():
            report.add("fuzzy", path, unit._line_number)
            continue
        for source, target in _forms(unit):
            if source and not target:
                report.add("untranslated", path, unit._line_number)
            elif source:
                if reversed_file:
                    source, target = target, source
                yield RawPair(source, target, str(path), unit._line_number)


def _forms(unit: Any) -> list[tuple[str, str]]:
    sources = [str(text) for text in getattr(unit.source, "strings", [unit.source])]
    targets = [str(text) for text in getattr(unit.target, "strings", [unit.target])]
    if not unit.hasplural():
        return [(sources[0], targets[0])]
    if len(targets) == 1:
        return [(source, targets[0]) for source in sources]
    return list(zip([sources[0], *[sources[-1]] * (len(targets) - 1)], targets, strict=True))


def _as_utf8(data: bytes, path: Path, encoding: str) -> bytes:
    """The catalog converted to UTF-8 from the encoding that its header declares."""
    declared = _CHARSET.search(data)
    name = declared.group(1).decode() if declared else encoding
    if name == "CHARSET":  # the template's placeholder
        name = encoding
    try:
        is_utf8(name)
    except InputError as error:
        line = data[: declared.start()].count(b"\n") + 1 if declared else 1
        raise format_error(
            path, line, f"the encoding {name} is unknown", "convert the file to UTF-8"
        ) from error
    lines = []
    for number, line_bytes in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), start=1):
        try:
            lines.append(line_bytes.decode(name))
        except UnicodeError as error:
            start = error.start if isinstance(error, UnicodeDecodeError) else 0
            byte = f"byte 0x{line_bytes[start]:02x} at column {start + 1}"
            remedy = "convert the file or correct the charset in its header"
            raise format_error(path, number, f"this is not {name} ({byte})", remedy) from error
    return _CHARSET.sub(b"charset=UTF-8", "\n".join(lines).encode(), count=1)


def _parse(data: bytes, path: Path) -> Any:
    catalog: Any = storage_module("pypo", path).pofile
    try:
        return catalog.parsestring(data)
    except Exception as error:  # the toolkit has no single class for malformed catalogs
        match = _LINE.search(str(error))
        line = int(match.group(1)) if match else None
        raise format_error(path, line, "this is not a PO catalog", "correct the file") from error
