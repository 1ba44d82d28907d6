"""XLIFF 1.x and 2.x, read by translate-toolkit: the units with a finished target."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from regard.formats.compressed import read_bytes
from regard.formats.inline_markup import child_text, local_name, xml_error
from regard.formats.pair import (
    Languages,
    Path,
    RawPair,
    ReadReport,
    format_error,
    is_reversed,
    storage_module,
)


def read_xliff(
    path: Path, languages: Languages | None, encoding: str, report: ReadReport
) -> Iterator[RawPair]:
    """The pairs of all files in the document; of 2.x, one pair for each segment.

    Units that are not translatable are skipped; untranslated units and those marked as needing
    work are skipped and counted. The encoding is the one that the XML declares.
    """
    for unit in _document(read_bytes(path), path).units:
        element = unit.xmlelement
        source, target = child_text(element, "source"), child_text(element, "target")
        if not source or not unit.istranslatable():
            continue
        if not target:
            report.add("untranslated", path, element.sourceline or 1)
        elif not _finished(element):
            report.add("fuzzy", path, element.sourceline or 1)
        else:
            stated_source = _stated(element, "source-language", "srcLang")
            stated_target = _stated(element, "target-language", "trgLang")
            if is_reversed(stated_source, stated_target, languages, path, element.sourceline):
                source, target = target, source
            yield RawPair(source, target, str(path), element.sourceline)


def _finished(element: Any) -> bool:
    """Whether the state of the target (1.x) or the segment (2.x) is a finished one."""
    target = next(child for child in element if local_name(child) == "target")
    state = target.get("state") or element.get("state") or ""
    return state not in ("new", "initial") and not state.startswith("needs-")


def _stated(element: Any, *names: str) -> str | None:
    """The language that the unit's file (1.x) or document (2.x) states."""
    for ancestor in element.iterancestors():
        for name in names:
            if ancestor.get(name):
                return str(ancestor.get(name))
    return None


def _document(data: bytes, path: Path) -> Any:
    from lxml import etree

    first, second_version = storage_module("xliff", path), storage_module("xliff2", path)
    try:
        _, root = next(iter(etree.iterparse(BytesIO(data), events=("start",), no_network=True)))
        second = root.get("version", "").startswith("2")
        kind: Any = second_version.Xliff2File if second else first.xlifffile
        return kind.parsestring(data)
    except etree.XMLSyntaxError as error:
        raise xml_error(path, error) from error
    except Exception as error:  # the toolkit checks documents by assertions
        raise format_error(
            path, None, "this is XML but not an XLIFF document", "export it again as XLIFF"
        ) from error
