"""Documents damaged at random: they are read, or refused with a sentence; no reader fails."""

import io
import logging
import random
import zipfile

import pytest

from documents.samples import AROUND, CASES, data_of
from documents.translators import backwards, cyrillic, same, through, upper
from mutations import flipped, spliced
from regard.documents.document import DocumentOptions
from regard.documents.registry import FORMATS, parse_document
from regard.errors import InputError

PIECES = [
    b"\\", b"\r", b"\r\n", b"\n\n", b"---\n", b"|", b"`", b"<", b">", b"<!--", b"-->", b"&#",
    b"&#x", b"]]>", b"<![CDATA[", b"{", b"}", b"[", b"]", b'"', b"'", b"\0", b"\xff", b"\t",
    b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\\ud800", b"\\x", b"%", b"*", b"- ", b"? ",
    b"9" * 5000, b"&#" + b"1" * 5000 + b";", b"encoding='idna'", b"charset=punycode", b"!!int ",
    b"!!binary ", b"msgstr[99] ", b"translate='no'", b"<w:p>", b"</w:p>", b"<text:p>",
    b"text:c='" + b"7" * 5000 + b"'",
]  # fmt: skip
"""What readers have special rules for."""
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def mutant(name, rng):
    """A damaged document of a format."""
    data = data_of(name, rng.choice([number for case, number in CASES if case == name]))
    if FORMATS[name].is_binary and rng.random() < 0.8:
        return archived(data, rng)
    return damaged(data, rng)


def damaged(data, rng):
    """Bytes with something in them changed, or put where it does not belong."""
    for _ in range(rng.choice([1, 1, 2, 5])):
        act = rng.random()
        if act < 0.6:
            at = rng.randrange(len(data) + 1)
            data = data[:at] + rng.choice(PIECES) + data[at + rng.choice([0, 0, 1, 7]) :]
        elif act < 0.8:
            data = spliced(data, rng)
        elif act < 0.9:
            data = flipped(data, rng)
        else:
            data = data[: rng.randrange(len(data) + 1)]
    return data


def archived(data, rng):
    """An archive with a damaged text in it, or whole text in a damaged archive."""
    output, method = io.BytesIO(), rng.choice(METHODS)
    inside = rng.random() < 0.7
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(output, "w", method) as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, damaged(content, rng) if inside else content * rng.choice([1, 50]))
    return output.getvalue() if inside else flipped(output.getvalue(), rng)


def failures(name, count, first, caplog):
    """With which documents a format's reader or writer failed, by the log: seeds and errors."""
    caplog.set_level(logging.ERROR, "regard.documents")
    failed = []
    for seed in range(first, first + count):
        rng = random.Random(seed)
        data = mutant(name, rng)
        options = DocumentOptions("en", "fr", replace=rng.random() < 0.5, name="the file")
        try:
            document = parse_document(data, name, options)
            through(document, rng.choice([same, upper, backwards, cyrillic]))
        except InputError as error:
            assert str(error).startswith("the file") and str(error).endswith("."), error
        if caplog.records:
            failed.append((seed, caplog.text.splitlines()[-1]))
            caplog.clear()
    return failed


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_documents(name, caplog):
    assert not failures(name, 60, 0, caplog)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_ten_thousand_damaged_documents(name, caplog):
    assert not failures(name, 10_000, 1000, caplog)


def test_damaged_members_of_every_compression(caplog):
    caplog.set_level(logging.ERROR, "regard.documents")
    for method in METHODS:
        output = io.BytesIO()
        with zipfile.ZipFile(output, "w", method) as file:
            file.writestr("word/document.xml", "<w:document>" + "a" * 500 + "</w:document>")
        data = output.getvalue()
        for at in range(len("word/document.xml") + 30, len(data) // 2):
            wrong = data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]
            try:
                parse_document(wrong, "docx", DocumentOptions(name="the file"))
            except InputError as error:
                assert str(error).startswith("the file: ")
    assert not caplog.records


class Broken:
    """A document whose reader has a mistake."""

    has_markup = False
    texts = ("one",)

    def render(self, translations):
        return translations[10**6]


@pytest.mark.parametrize("moment", ["read", "written"])
def test_a_mistake_of_a_reader_is_a_sentence_and_a_trace(moment, caplog):
    from regard.documents.guarded import guarded

    def read():
        if moment == "read":
            raise KeyError("secret text of the user")
        return Broken()

    with pytest.raises(InputError) as raised:
        guarded(read, "markdown", "the file").render([])
    sentence = str(raised.value)
    assert sentence.startswith(f"the file: the document cannot be {moment} as markdown (")
    assert "secret" not in sentence and sentence.endswith(".") and raised.value.__cause__
    (record,) = caplog.records
    assert record.exc_info and record.name == "regard.documents"


@pytest.mark.parametrize(
    ("name", "source", "text"),
    [
        ("markdown", "| a | b |\n|--|--|\n| c | d\\", "d\\"),
        ("json", '{"a": ' + "7" * 4300 + ', "b": 1e999999, "c": "d"}', "d"),
        ("json", '{"a": -' + "7" * 9000 + ', "c": "d"}', "d"),
        ("html", "<p>a &#" + "7" * 5000 + "; d</p>", None),
        ("odt", None, "a"),
    ],
)
def test_odd_documents_are_read(name, source, text):
    if source is None:
        from documents.samples import odt

        source = odt(f"<text:p><text:s text:c='{'9' * 5000}'/>a</text:p>")
    data = source if isinstance(source, bytes) else source.encode()
    document = parse_document(data, name, DocumentOptions())
    assert text is None or document.texts[-1] == text
    assert through(document, same) == data


REFUSED = ["zlib", "rot13", "punycode", "utf-7", "idna", "unicode_escape", "undefined", "base64"]


@pytest.mark.parametrize("encoding", REFUSED)
@pytest.mark.parametrize("name", ["po", "xliff", "html"])
def test_encodings_that_are_no_encodings_of_files(name, encoding, tmp_path):
    sources = {
        "po": f'msgid ""\nmsgstr "charset={encoding}\\n"\n\nmsgid "a b"\nmsgstr ""\n',
        "xliff": f"<?xml version='1.0' encoding='{encoding}'?>{AROUND['xliff'][0]}a",
        "html": f"<meta charset={encoding}>é",
    }
    data = sources[name].encode("latin-1")
    with pytest.raises(InputError, match=f"the encoding {encoding} is unknown"):
        parse_document(data, name, DocumentOptions("en", "fr"))
