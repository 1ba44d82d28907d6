"""Translation memories (TMX 1.x), read as a stream in constant memory.

(translate-toolkit loads the whole file, about 2 kB a pair.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from regard.formats.compressed import open_read
from regard.formats.inline_markup import child_text, local_name, xml_error
from regard.formats.pair import Languages, Path, RawPair, ReadReport, best_match, format_error

_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def read_tmx(
    path: Path, languages: Languages | None, encoding: str, report: ReadReport
) -> Iterator[RawPair]:
    """The pairs of the units that have both languages; other units are skipped.

    A file without such a unit is an error that names its languages. The encoding is the one that
    the XML declares.
    """
    if languages is None:
        problem = "a translation memory may hold many languages"
        raise format_error(path, None, problem, "name the two to read, e.g. en-fr")
    seen: set[str] = set()
    any_pair = False
    for line, variants in _units(path):
        tags = [tag for tag, _ in variants]
        source, target = (best_match(tags, language) for language in languages)
        seen.update(tags)
        if source is not None and target is not None and source != target:
            any_pair = True
            yield RawPair(variants[source][1], variants[target][1], str(path), line)
        else:
            report.add("language", path, line)
    if not any_pair:
        present = ", ".join(sorted(seen)) or "no units"
        problem = f"no unit has both {languages[0]} and {languages[1]}; the file has {present}"
        raise format_error(path, None, problem, "name languages that are in the file")


def _units(path: Path) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """For each unit its line and its (language, text) variants, in the order of the file."""
    from lxml import etree

    with open_read(path, unchanging=True) as file:
        try:
            stream = etree.iterparse(
                file, tag="{*}tu", resolve_entities=False, no_network=True, load_dtd=False
            )
            for _, unit in stream:
                yield unit.sourceline, [_variant(tuv) for tuv in unit if local_name(tuv) == "tuv"]
                _free(unit)
        except etree.XMLSyntaxError as error:
            raise xml_error(path, error) from error


def _variant(tuv: Any) -> tuple[str, str]:
    return tuv.get(_LANG) or tuv.get("lang") or "", child_text(tuv, "seg")


def _free(unit: Any) -> None:
    """Free the unit and all before it, so that the tree does not grow to the whole document."""
    unit.clear()
    while unit.getprevious() is not None:
        del unit.getparent()[0]
