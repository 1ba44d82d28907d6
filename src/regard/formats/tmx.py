"""Translation memories (TMX 1.x), read as a stream: a memory of any size takes no more room.

(translate-toolkit reads a memory whole, about 2 kB a pair; lxml's stream needs none of that.)
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import Any

from regard.formats.compressed import open_read
from regard.formats.inline_markup import local_name, plain_text
from regard.formats.pair import Languages, RawPair, ReadReport, best_match, format_error

_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def read_tmx(
    path: str | PathLike[str],
    languages: Languages | None = None,
    encoding: str = "utf-8",
    report: ReadReport | None = None,
) -> Iterator[RawPair]:
    """The pairs of the units that hold both languages; units without one of them are passed over.

    A memory in which no unit holds both is an error that says which languages there are. The
    encoding is the one that the XML declares.
    """
    if languages is None:
        raise format_error(
            path,
            None,
            "a translation memory may hold many languages",
            "say which two to read, e.g. en-fr",
        )
    seen: set[str] = set()
    found = False
    for line, variants in _units(path):
        tags = [tag for tag, _ in variants]
        places = [best_match(tags, language) for language in languages]
        seen.update(tags)
        if places[0] is not None and places[1] is not None and places[0] != places[1]:
            found = True
            yield RawPair(variants[places[0]][1], variants[places[1]][1], str(path), line)
        elif report is not None:
            report.add("language", path, line)
    if not found:
        raise format_error(
            path,
            None,
            f"no unit holds both {languages[0]} and {languages[1]}; "
            f"the file has {', '.join(sorted(seen)) or 'no units'}",
            "ask for languages that are there",
        )


def _units(path: str | PathLike[str]) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """For each unit its line and its (language, text) variants, in the order of the file."""
    from lxml import etree

    with open_read(path) as file:
        try:
            stream = etree.iterparse(
                file, tag="{*}tu", resolve_entities=False, no_network=True, load_dtd=False
            )
            for _, unit in stream:
                yield unit.sourceline, [_variant(tuv) for tuv in unit if local_name(tuv) == "tuv"]
                _forget(unit)
        except etree.XMLSyntaxError as error:
            raise format_error(
                path, error.lineno, f"this is not well-formed XML ({error.msg})", "mend the file"
            ) from error


def _variant(tuv: Any) -> tuple[str, str]:
    text = next((plain_text(part) for part in tuv if local_name(part) == "seg"), "")
    return tuv.get(_LANG) or tuv.get("lang") or "", text


def _forget(unit: Any) -> None:
    """Free the unit and all before it, or the stream would grow into the whole document."""
    unit.clear()
    while unit.getprevious() is not None:
        del unit.getparent()[0]
