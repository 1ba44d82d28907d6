"""Every format of documents, and what is done to any text, takes time that is linear in it."""

import contextlib
import json

import pytest

from documents.samples import AROUND, MEMBERS, docx, odt
from documents.translators import backwards, through
from growth import MOST, TIMES, steepness
from linear.pattern_strings import PatternReader
from linear.patterns import used_patterns
from regard.config import CleaningSettings
from regard.documents.document import DocumentOptions
from regard.documents.registry import FORMATS, parse_document
from regard.errors import InputError
from regard.tasks.translation.checks import quality_flags
from regard.tasks.translation.glossary import TermFinder
from regard.text import normalize
from regard.text.placeholders import (
    find_placeholders,
    lost_placeholders,
    protected_spans,
    unpaired_tags,
)
from regard.text.segments import segment_protected
from regard.text.vocabulary import train_words
from regard.text.words import words

OPTIONS = DocumentOptions("en", "fr", name="the file")
TOKENIZER = train_words(["open the file X Z , . ( ) 猫 été d'"], None, "en")
CHARACTERS = 4096
MODULES = {
    "html": "html|xml_tokens",
    "markdown": "markdown|html|inline_tags",
    "po": "catalogs.po|inline_tags",
    "xliff": "xml_tokens",
    "tmx": "xml_tokens",
    "srt": "subtitles|inline_tags",
    "vtt": "subtitles|inline_tags",
    "json": "json|inline_tags",
    "yaml": "yaml|inline_tags",
    "text": "plain",
    "docx": "xml_tokens",
    "odt": "xml_tokens",
}
"""Where the patterns of a format stand, from whose characters its texts are made."""


def linear(run, unit, size=CHARACTERS, before="", after=""):
    """Whether a text takes as many times the CPU time as it is longer, about."""
    texts = [
        before + unit * max(1, number // len(unit)) + after for number in (size, size // TIMES)
    ]
    return steepness(run, *texts) <= MOST


def translated(data, name):
    """Parse a document, and render it with its words in another order."""
    with contextlib.suppress(InputError):
        through(parse_document(data, name, OPTIONS), backwards)


def of_format(name):
    """A function that has a text translated, as the content of a document of a format."""
    if name in MEMBERS:
        make, begin, _, end = MEMBERS[name]
    else:
        make, (begin, _, end) = str, AROUND[name]

    def run(text):
        text = text.replace("\x00", "")
        if name == "json":
            text = json.dumps(text)[1:-1]
        made = make(begin + text + end)
        translated(made if isinstance(made, bytes) else made.encode("utf-8", "replace"), name)

    return run


@pytest.mark.parametrize(
    ("name", "unit", "before", "after"),
    [
        ("markdown", "a\r\n", "---\r\n", ""),
        ("markdown", " ", "# a", "b"),
        ("markdown", " ", "# {", ""),
        ("markdown", "- ", "", "a"),
        ("markdown", "![a", "", ""),
        ("markdown", "![", "", "a" + "](b)" * 2000),
        ("markdown", " ", "x <a", "x"),
        ("markdown", " ", "x <a b", "="),
        ("markdown", " ", "[a](", ""),
        ("markdown", "` ", "a | b\n--|--\na ", "\\"),
        ("markdown", "`", "a | b\n--|--\na ", "\\"),
        ("markdown", "- a\n", "", ""),
        ("markdown", "- a\n  - b\n 1) c\n", "", ""),
        ("markdown", "> ", "", "a"),
        ("markdown", "`", "", "a" * 2000 + "`"),
        ("markdown", " ", "a", "b\nc"),
        ("markdown", " ", "", "x\n|"),
        ("html", "<!--", "<p>a <svg><![CDATA[", "]]></svg> b"),
        ("html", "<code>a</code>b<sup>1</sup> ", "", ""),
        ("json", "<!--", "", ""),
        ("po", "<!--", "", ""),
        ("yaml", "<!--", "", ""),
        ("srt", "<!--", "", ""),
        ("vtt", "<!--", "", ""),
    ],
)
def test_known_attacks(name, unit, before, after):
    begin, _, end = AROUND[name]

    def run(text):
        translated((begin + before + text + after[: len(text)] + end).encode(), name)

    assert linear(run, unit, 1 << 14)


@pytest.mark.parametrize(
    ("name", "unit", "before", "after"),
    [
        ("yaml", "[", "", ""),
        ("yaml", "- ", "", ""),
        ("yaml", "{a: ", "", ""),
        ("yaml", "? ", "", ""),
        ("po", 'msgstr ""\n', 'msgid "a"\n', ""),
        ("po", 'msgid "a"\n', "", ""),
        ("html", "<p", "", ""),
        ("xliff", "<trans-unit><source>", "<xliff>", ""),
    ],
)
def test_known_attacks_on_structure(name, unit, before, after):
    def run(text):
        translated((before + text + after).encode(), name)

    assert linear(run, unit, 1 << 15)


def test_codes_that_all_differ():
    def run(text):
        translated(" ".join(f"a `{n}`" for n in range(len(text))).encode(), "markdown")

    assert linear(run, "x", 2048)


def test_names_of_members_and_properties_of_runs():
    def names(text):
        translated(docx("<w:p/>").replace(b"word/document.xml", text.encode()), "docx")

    def style(text):
        body = f"<w:p><w:pPr><w:pStyle w:val=\"Verbatim{text}'/></w:pPr></w:p>"
        translated(docx(body.replace("'", '" x="')), "docx")

    assert linear(style, "w", 1 << 15)
    for make in (docx, odt):
        assert linear(lambda text, make=make: translated(make(text), make.__name__), "<a>")


def units(name):
    """Characters and words of the patterns of a format."""
    found = []
    for used in used_patterns():
        if any(
            f"documents.{part}" in used.name or f".{part}" in used.name
            for part in MODULES[name].split("|")
        ):
            found += [word for word in PatternReader(used.pattern).words if len(word) < 30]
    return sorted(set(found))


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_repeated_pieces_of_its_patterns(name):
    run = of_format(name)
    found, most = units(name), 10 if name in MEMBERS else 30
    slow = [unit for unit in found[:: max(1, len(found) // most)] if not linear(run, unit, 2048)]
    assert not slow


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_pairs_of_pieces_of_its_patterns(name):
    run = of_format(name)
    found = units(name)
    pairs = [(a, b) for a in found for b in found[:: max(1, len(found) // 12)]]
    for one, other in [("", unit) for unit in found] + pairs:
        assert linear(run, one + other), (one, other)
        assert linear(run, other, before=one), (one, other)


TEXTS = {
    "placeholders": find_placeholders,
    "protected": protected_spans,
    "tags": unpaired_tags,
    "lost": lambda text: lost_placeholders(text, text[: len(text) // 2]),
    "extra": lambda text: lost_placeholders(text[: len(text) // 2], text),
    "segments": lambda text: segment_protected(text, "en", TOKENIZER, 50, ["X", "Y", "Z"]),
    "normalized": normalize,
    "words": lambda text: words(text, "fr"),
    "terms": TermFinder((("a", "b"), ("bank account", "c"), ("a a a a a b", "d"))).find,
    "checks": lambda text: quality_flags(None, text.split(" "), text.split(), CleaningSettings()),
}
KNOWN = {
    "placeholders": [("{} ", "", ""), (" ", "a {", "!! }"), ("{", "", "}"), ("`a ", "", "")],
    "tags": [("a", "<", "/>"), ("<a", "", ""), ("a:", "<a", "/>")],
    "protected": [("/a++++--a", "", ""), ("+", "", "%s"), ("%s......", "", "")],
    "lost": [("--a1 ", "", ""), ("1", "", "")],
    "segments": [("%s a. ", "", ""), ("a. ", "", ""), ("a " * 9 + "%s ", "", "")],
    "checks": [("a ", "", ""), ("1 ", "", ""), ("a b c ", "", "")],
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_attacks_on_any_text(name):
    size = 1 << 16 if name == "checks" else 1 << 14  # in a short text few words follow a phrase
    for unit, before, after in KNOWN[name]:
        assert linear(TEXTS[name], unit, size, before, after), unit


def test_numbers_that_all_differ():
    def run(text):
        numbers = " ".join(str(number) for number in range(len(text)))
        lost_placeholders(numbers, numbers[::-1])
        lost_placeholders(" ".join(f"--a{n}" for n in range(len(text))), numbers)

    assert linear(run, "x", 4096)


@pytest.mark.parametrize("name", TEXTS)
def test_repeated_pieces_of_the_patterns_of_texts(name):
    found = sorted(
        {
            word
            for used in used_patterns()
            if used.name.startswith("text.")
            for word in PatternReader(used.pattern).words
            if len(word) < 30
        }
    )
    step, size = (40, 1 << 14) if name == "segments" else (9, 2048)  # which cuts texts at 50 tokens
    assert not [unit for unit in found[::step] if not linear(TEXTS[name], unit, size)]
