"""`regard translate` on whole documents, by a small model that knows its sentences."""

import io
import json
import zipfile
from functools import partial

import pytest

from regard.documents import processes
from regard.documents.processes import ParserLimits, ParserPool
from trained import taught

(SOURCE, TARGET), (OTHER, AUTRE) = taught("en-fr")[:2]
TIMES = "1\r\n00:00:01,000 --> 00:00:02,000\r\n"
PO = f'msgid "{SOURCE}"\nmsgstr ""\n\nmsgid "x"\nmsgstr "y"\n'
XLIFF = "<xliff version='1.2'><file><trans-unit><source>{}</source>{}</trans-unit></file></xliff>"
FILES = {
    "a.md": (
        f"# {SOURCE}\n\n- *{OTHER}*\n\n```\n{SOURCE}\n```\n",
        f"# {TARGET}\n\n- *{AUTRE}*\n\n```\n{SOURCE}\n```\n",
    ),
    "a.po": (PO, "#, fuzzy\n" + PO.replace('msgstr ""', f'msgstr "{TARGET}"')),
    "a.xlf": (
        XLIFF.format(SOURCE, ""),
        XLIFF.format(SOURCE, f'<target state="needs-review-translation">{TARGET}</target>').replace(
            "<file>", '<file target-language="fr">'
        ),
    ),
    "a.tmx": (
        f"<tmx><tu><tuv xml:lang='en'><seg>{SOURCE}</seg></tuv></tu></tmx>",
        f"<tmx><tu><tuv xml:lang='en'><seg>{SOURCE}</seg></tuv>"
        f'<tuv xml:lang="fr"><seg>{TARGET}</seg></tuv></tu></tmx>',
    ),
    "a.srt": (f"{TIMES}<i>{SOURCE}</i>\r\n", f"{TIMES}<i>{TARGET}</i>\r\n"),
    "a.vtt": (
        f"WEBVTT\n\n00:01.000 --> 00:02.000\n{SOURCE}\n",
        f"WEBVTT\n\n00:01.000 --> 00:02.000\n{TARGET}\n",
    ),
    "a.json": (
        json.dumps({"a": [SOURCE, 1], SOURCE: OTHER}, indent=1),
        json.dumps({"a": [TARGET, 1], SOURCE: AUTRE}, indent=1, ensure_ascii=False),
    ),
    "a.yaml": (
        f"# {SOURCE}\na: {SOURCE}\nb: >-\n  {OTHER}\n",
        f"# {SOURCE}\na: {TARGET}\nb: >-\n  {AUTRE}\n",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_document_is_translated_and_the_rest_kept(regard, en_fr, tmp_path, name):
    given, expected = FILES[name]
    (tmp_path / name).write_bytes(given.encode())
    words = ("translate", "--model", en_fr, "--input", tmp_path / name)
    assert regard(*words, "--output", tmp_path / f"out-{name}").code == 0
    assert (tmp_path / f"out-{name}").read_bytes().decode() == expected


def test_a_word_processors_document(regard, refused, en_fr, tmp_path):
    given, made = tmp_path / "a.docx", tmp_path / "b.docx"
    body = f"<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>{SOURCE}</w:t></w:r></w:p>"
    with zipfile.ZipFile(given, "w") as archive:
        archive.writestr("word/media/a.png", b"\x89PNG")
        archive.writestr("word/document.xml", f"<w:document><w:body>{body}</w:body></w:document>")
    words = ("translate", "--model", en_fr, "--input", given)
    assert "docx is not text; give --input FILE and --output FILE" in refused(*words)
    assert "not .odt" in refused(*words, "--output", tmp_path / "b.odt")
    assert regard(*words, "--output", made).code == 0
    with zipfile.ZipFile(io.BytesIO(made.read_bytes())) as archive:
        assert archive.namelist() == ["word/media/a.png", "word/document.xml"]
        assert f">{TARGET}</w:t>" in archive.read("word/document.xml").decode()
        assert archive.read("word/media/a.png") == b"\x89PNG"


def test_messages_of_a_catalog(regard, refused, en_fr):
    words = ("translate", "--model", en_fr, "--format", "po")
    old = f'msgid "{SOURCE}"\nmsgstr "x"\n'
    assert regard(*words, stdin=old.encode()).out == old
    said = regard(*words, "--retranslate", "--no-fuzzy", stdin=old.encode())
    assert said.out == f'msgid "{SOURCE}"\nmsgstr "{TARGET}"\n'
    assert "are for PO, XLIFF and TMX files, not markdown" in refused(
        "translate", "--model", en_fr, "--format", "markdown", "--no-fuzzy", "x"
    )


def test_a_catalog_for_another_language_is_refused_unless_forced(regard, refused, en_fr, tmp_path):
    given, made = tmp_path / "a.xlf", tmp_path / "b.xlf"
    german = XLIFF.format(SOURCE, "").replace("<file>", "<file target-language='de-AT'>")
    given.write_text(german, "utf-8")
    words = ("translate", "--model", en_fr, "--input", given, "--output", made)
    said = refused(*words)
    assert f"{given}: the file declares German (de-AT) as its target language, but the" in said
    assert "is into French (fr); give a model that translates into it, or --force-language" in said
    assert not made.exists()
    assert regard(*words, "--force-language").code == 0
    assert TARGET in made.read_text("utf-8")


def test_a_damaged_document_leaves_no_file(refused, en_fr, tmp_path):
    given, made = tmp_path / "a.json", tmp_path / "b.json"
    given.write_text('{"a": ', "utf-8")
    said = refused("translate", "--model", en_fr, "--input", given, "--output", made)
    assert f"{given}: line 1: this is not JSON" in said
    assert not made.exists()


def test_a_document_that_takes_too_long_ends_the_command(refused, en_fr, tmp_path, monkeypatch):
    given, made = tmp_path / "a.md", tmp_path / "b.md"
    given.write_text("# The *black* cat\n" * 100_000, "utf-8")
    pool = partial(ParserPool, 1, ParserLimits(0.05, 0))
    monkeypatch.setattr(processes, "ParserPool", pool)
    said = refused("translate", "--model", en_fr, "--input", given, "--output", made)
    assert f"{given} takes longer than 0.05 s to read; split it" in said
    assert not made.exists()


def test_only_documents_have_a_process(regard, en_fr, monkeypatch):
    monkeypatch.delattr(processes, "ParserPool")
    assert regard("translate", "--model", en_fr, SOURCE).out == f"{TARGET}\n"
    assert regard("translate", "--model", en_fr, stdin=SOURCE.encode()).out == f"{TARGET}\n"
    with pytest.raises(ImportError):
        regard("translate", "--model", en_fr, "--format", "markdown", SOURCE)
