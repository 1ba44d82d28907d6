"""Every format: what is not translated comes out byte for byte as it went in."""

import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from documents.samples import CASES, FILES, data_of, odt, one_line
from documents.translators import BACK, backwards, cyrillic, same, through
from growth import LINEAR, growth
from regard.documents.document import DocumentOptions
from regard.documents.registry import BY_SUFFIX, FORMATS, parse_document
from regard.errors import InputError

OPTIONS = DocumentOptions("en", "fr")
BOM = b"\xef\xbb\xbf"


def parsed(data, name, options=OPTIONS):
    return parse_document(data, name, options)


def test_every_format_has_files():
    assert set(FILES) == set(FORMATS)
    assert {form.name for form in BY_SUFFIX.values()} == set(FORMATS)


@pytest.mark.parametrize(("name", "number"), CASES)
def test_an_identity_translator_changes_nothing(name, number):
    data = data_of(name, number)
    assert through(parsed(data, name), same) == data
    if not FORMATS[name].is_binary:
        assert through(parsed(BOM + data, name), same) == BOM + data


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("name", [name for name in FORMATS if not FORMATS[name].is_binary])
def test_a_byte_order_mark_names_the_encoding(name, encoding):
    data = FILES[name][0].encode(encoding)
    assert through(parsed(data, name), same) == data


@pytest.mark.parametrize(("name", "number"), CASES)
def test_only_words_change(name, number):
    """Each letter of the texts is replaced by another; replaced back, it is the same document.

    Layout inside of a text (line breaks, references) may be written in another way, so the
    comparison is of what the documents say.
    """
    data = data_of(name, number)
    document = parsed(data, name)
    made = parsed(through(document, cyrillic), name)
    assert [text.translate(BACK) for text in made.texts] == document.texts
    again = made.render([spelled_back(text) for text in made.texts])
    assert parsed(again, name).texts == document.texts
    if name in EXACT:
        assert again == data


EXACT = ("text", "po", "xliff", "tmx")


def spelled_back(text):
    return same(text)._replace(text=text.translate(BACK), words=text.translate(BACK).split())


@pytest.mark.parametrize(("name", "number"), CASES)
def test_reordered_words_leave_a_document_that_can_be_read(name, number):
    document = parsed(data_of(name, number), name)
    made = parsed(through(document, backwards), name)
    assert sorted(" ".join(made.texts).split()) == sorted(" ".join(document.texts).split())


WORDS = st.text("ab é猫ש'\"\\&<>{}[]*_`#:-|%!\t", max_size=12)
FRAGMENTS = {
    "text": ["\n", "\r\n", "  ", "a b", "\u2028"],
    "html": [
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<!-- x -->",
        "&amp;",
        "&nbsp;",
        "<img alt='x y'>",
        "\r\n",
    ],
    "markdown": [
        *("\n", "\n\n", "\r\n", "# ", "- ", "> ", "1. ", "    ", "```\n", "**", "*", "_", "`", "["),
        *(
            "](x)",
            "]",
            "![",
            "<b>",
            "</b>",
            "<!--",
            "-->",
            "|",
            "|--|\n",
            "\\",
            "&amp;",
            "---\n",
            "$",
        ),
        *("[a]: b\n", "[a]", "  \n", "<div>\n", "===\n", "\t", "a", "~~", "[^1]", ":::\n"),
    ],
    "srt": ["\n", "\n\n", "1\n", "00:00:01,000 --> 00:00:02,000\n", "<i>", "</i>", "- ", "{\\an8}"],
    "vtt": ["\n", "WEBVTT\n\n", "00:01.000 --> 00:02.000\n", "<v A>", "&amp;", "NOTE "],
}


@pytest.mark.parametrize("name", FRAGMENTS)
@given(data=st.data())
def test_generated_text_is_unchanged(name, data):
    pieces = st.lists(st.one_of(st.sampled_from(FRAGMENTS[name]), WORDS), max_size=25)
    source = "".join(data.draw(pieces)).encode()
    assert through(parsed(source, name), same) == source
    made = through(parsed(source, name), cyrillic)
    assert sorted(re.findall(rb"\d", made)) == sorted(re.findall(rb"\d", source))


VALUES = st.recursive(
    st.one_of(WORDS, st.integers(), st.booleans(), st.none()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(value=VALUES, indent=st.sampled_from([None, 0, 2, "\t"]), ascii_only=st.booleans())
def test_generated_tables_are_unchanged(value, indent, ascii_only):
    source = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert through(parsed(source.encode(), "json"), same) == source.encode()
    made = json.loads(through(parsed(source.encode(), "json"), cyrillic))
    assert json.dumps(made, ensure_ascii=False).translate(BACK).count("a") == json.dumps(
        value, ensure_ascii=False
    ).count("a")


@given(
    value=VALUES,
    flow=st.sampled_from([True, False, None]),
    style=st.sampled_from([None, "'", '"', "|", ">"]),
    width=st.sampled_from([20, 1000]),
)
def test_generated_yaml_is_unchanged(value, flow, style, width):
    source = yaml.safe_dump(
        value, default_flow_style=flow, default_style=style, width=width, allow_unicode=True
    )
    document = parsed(source.encode(), "yaml")
    assert through(document, same) == source.encode()
    made = yaml.safe_load(through(document, cyrillic).decode())
    assert shape(made) == shape(value)


def shape(value):
    """The structure of a table, with its keys."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return list(map(shape, value))
    return "text" if isinstance(value, str) else value


INLINE = st.sampled_from(
    [
        "<g id='1'>",
        "</g>",
        "<x id='2'/>",
        "&amp;",
        "&#65;",
        "&e;",
        "<!-- c -->",
        "<![CDATA[<]]>",
        "\n",
    ]
)


@given(pieces=st.lists(st.one_of(INLINE, st.text("ab é猫", max_size=5)), max_size=12))
def test_generated_segments_are_filled_with_the_same_text(pieces):
    source = "".join(pieces)
    unit = f"<trans-unit><source>{source}</source></trans-unit>"
    xliff = f"<xliff version='1.2'><file><body>{unit}</body></file></xliff>"
    try:
        document = parsed(xliff.encode(), "xliff")
    except InputError:
        return  # not well-formed
    made = through(document, same).decode()
    if made != xliff:
        target = f'<target state="needs-review-translation">{source}</target>'
        expected = xliff.replace("</source>", f"</source>{target}")
        assert made == expected.replace("<file>", '<file target-language="fr">')
    body = f"<text:p>{re.sub('</?g|<x', '<text:span', source)}</text:p>"
    data = odt(body.replace("<text:span>", "</text:span>"))
    try:
        assert through(parsed(data, "odt"), same) == data
    except InputError:
        return


@pytest.mark.parametrize("name", FORMATS)
def test_a_long_line_takes_linear_time(name):
    documents = {size: one_line(name, size) for size in (2000, 20_000)}

    def run(size):
        document = parsed(documents[size], name)
        through(document, cyrillic)

    assert growth(run, 20_000) < LINEAR


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_five_megabytes_on_one_line(name):
    data = one_line(name, 5_000_000)
    document = parsed(data, name)
    made = through(document, same)
    assert made == data or FORMATS[name].is_catalog
    assert len(through(document, cyrillic)) > 1000


NASTY = ["[", "![", "**a", "`a ``b ", "<!--", "[^a", "<a b='", "$a", "{{", "](", "*a_", "~~a", "]["]


@pytest.mark.parametrize("piece", NASTY)
def test_markdown_without_ends_takes_linear_time(piece):
    def run(size):
        through(parsed((piece * (size // len(piece))).encode(), "markdown"), cyrillic)

    assert growth(run, 20_000) < LINEAR
