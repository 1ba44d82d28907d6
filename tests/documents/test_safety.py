"""Hostile documents: a clear error or safe handling, in bounded time and memory."""

import bz2
import gzip
import io
import lzma
import tracemalloc
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.samples import CASES, data_of, docx, odt
from documents.translators import cyrillic, same, through
from growth import LINEAR, growth
from regard.documents.document import DocumentOptions
from regard.documents.registry import FORMATS, parse_document
from regard.documents.xml_tokens import xml_tokens
from regard.errors import InputError
from regard.formats.compressed import read_bytes

OPTIONS = DocumentOptions("en", "fr", name="the file")
LAUGHS = "".join(
    f"<!ENTITY l{n} '{f'&l{n - 1};' * 10 if n else 'lol'}'>" for n in range(10)
)  # a billion lols if expanded
EXTERNAL = "<!ENTITY x SYSTEM 'file:///etc/passwd'><!ENTITY y SYSTEM 'http://127.0.0.1:9/'>"


def parsed(data, name):
    return parse_document(data, name, OPTIONS)


@pytest.mark.parametrize("declarations", [LAUGHS, EXTERNAL])
def test_entities_are_never_expanded(declarations):
    kept = "&l9;" if declarations is LAUGHS else "&x;&y;"
    start = f"<?xml version='1.0'?><!DOCTYPE xliff [{declarations}]>"
    unit = f"<trans-unit><source>one {kept} two</source></trans-unit>"
    source = f"{start}<xliff version='1.2'><file><body>{unit}</body></file></xliff>"
    made = through(parsed(source.encode(), "xliff"), cyrillic).decode()
    assert made.count(kept) == 2 and "root:" not in made and len(made) < 2 * len(source)
    tmx = f"{start}<tmx><tu><tuv xml:lang='en'><seg>one {kept}</seg></tuv></tu></tmx>"
    assert through(parsed(tmx.encode(), "tmx"), same).decode().count(kept) == 2
    for data, name in [
        (docx(f"<w:p><w:r><w:t>a {kept}</w:t></w:r></w:p>"), "docx"),
        (odt(f"<text:p>a {kept}</text:p>"), "odt"),
    ]:
        with zipfile.ZipFile(io.BytesIO(through(parsed(data, name), cyrillic))) as archive:
            texts = b"".join(map(archive.read, archive.namelist()))
        assert kept.partition(";")[0].encode() in texts and b"root:" not in texts


def test_aliases_of_yaml_are_never_expanded():
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 10)]
    source = "\n".join(["l0: &l0 [lol]", *levels]).encode()
    document = parsed(source, "yaml")
    assert document.texts == ["lol"]
    assert through(document, same) == source


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("xliff", "<xliff", "line 1: this is not well-formed XML"),
        ("xliff", "<xliff>\n<a></b></xliff>", "line 2: .*</b> closes no open element"),
        ("xliff", "<xliff><a>", "<a> is not closed"),
        ("xliff", "<xliff a='<'/>", "damaged attribute"),
        ("xliff", "<xliff><!-- </xliff>", "<!-- has no end"),
        ("xliff", "<!DOCTYPE xliff [ <xliff/>", "<!DOCTYPE has no end"),
        ("xliff", "<html/>", "not an XLIFF document"),
        ("xliff", "<a>" * 5000, "inside each other"),
        ("xliff", "plain", "text outside of the root"),
        ("tmx", "<xliff/>", "not a TMX file"),
        ("po", "msgid 'x'", "line 1: this is not a PO catalog"),
        ("po", 'msgid "x', "line 1: the string has no end"),
        ("json", '{"a": "b"', "line 1: this is not JSON"),
        ("json", "[" * 100_000, "inside each other"),
        ("yaml", "a: [b", r"line \d: this is not YAML"),
        ("yaml", "a: 'b", "this is not YAML"),
        ("yaml", "a: \x00", "this is not YAML"),
        ("html", "<b>" * 5000, "inside each other"),
        ("docx", "PK", "not a whole zip archive"),
        ("odt", "x" * 100, "not a whole zip archive"),
        ("text", b"\xff\xfe\xff", "not valid utf-16-le"),
        ("po", b'msgstr "charset=none\\n"', "the encoding none is unknown"),
    ],
)
def test_damaged_documents(name, source, message):
    data = source if isinstance(source, bytes) else source.encode()
    with pytest.raises(InputError, match=message) as raised:
        parsed(data, name)
    assert str(raised.value).startswith("the file")


@pytest.mark.parametrize(("name", "number"), CASES)
def test_a_cut_document_is_an_error_or_unchanged(name, number):
    data = data_of(name, number)
    for size in {len(data) // 3, len(data) // 2, max(0, len(data) - 3)}:
        try:
            made = through(parsed(data[:size], name), same)
        except InputError:
            continue
        assert made == data[:size] or FORMATS[name].is_catalog


@given(data=st.binary(max_size=60), name=st.sampled_from(sorted(FORMATS)))
def test_any_bytes_are_an_error_or_unchanged(data, name):
    try:
        document = parsed(data, name)
    except InputError as error:
        assert str(error)
        return
    assert through(document, same) == data or FORMATS[name].is_catalog


def bomb(num_bytes, member="word/document.xml"):
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(member, b" " * num_bytes)
    return output.getvalue()


@pytest.mark.parametrize(("name", "member"), [("docx", "word/document.xml"), ("odt", "x.png")])
def test_a_zip_bomb_is_refused_before_it_expands(name, member):
    data = bomb(40_000_000, member)
    assert len(data) < 50_000
    tracemalloc.start()
    with pytest.raises(InputError, match=rf"{member} in the document expands from .* to over"):
        parsed(data, name)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 36_000_000


def test_an_archive_that_lies_about_a_size():
    data = bytearray(bomb(10_000_000))
    at = data.rindex(b"PK\x01\x02") + 24  # the expanded size, in the directory
    data[at : at + 4] = (1000).to_bytes(4, "little")
    with pytest.raises(InputError):
        parsed(bytes(data), "docx")


def test_archives_that_are_no_documents():
    for name in ("docx", "odt"):
        with pytest.raises(InputError, match="is a zip archive but not"):
            parsed(bomb(10, "x"), name)


@pytest.mark.parametrize(("suffix", "module"), [("gz", gzip), ("bz2", bz2), ("xz", lzma)])
def test_a_compressed_file_that_expands_without_bounds_is_refused(tmp_path, suffix, module):
    file = tmp_path / f"bomb.txt.{suffix}"
    with module.open(file, "wb") as output:
        for _ in range(40):
            output.write(b"a" * 1_000_000)
    with pytest.raises(InputError, match="expands from"):
        read_bytes(file)


TAGS = st.sampled_from(
    ["<a>", "</a>", "<b x='y'/>", "<!-- -->", "<?p?>", "t", "&lt;", "<![CDATA[<]]>"]
)


@given(st.lists(TAGS, max_size=20).map(lambda pieces: "<a>" + "".join(pieces) + "</a>"))
def test_no_character_of_xml_is_lost(source):
    try:
        assert "".join(token.raw for token in xml_tokens(source)) == source
    except InputError:
        return


@pytest.mark.parametrize("piece", ["<a b='c'", "<a>", "<!DOCTYPE ", "&a", "<a b", "<a\n", "]]>"])
def test_damaged_xml_takes_linear_time(piece):
    def run(size):
        with pytest.raises(InputError):
            parsed(("<tmx>" + piece * (size // len(piece))).encode(), "tmx")

    assert growth(run, 100_000) < LINEAR
