"""Files in and out: nothing guessable, nothing executed, nothing for ever."""

import io
import re
import zipfile
from urllib.parse import unquote

import pytest

from regard.server.api.files import FileStore
from trained import taught

FRENCH = taught("en-fr")
SOURCE, TARGET = FRENCH[0]
FIELDS = {"source": "en", "target": "fr"}


def sent(client, name, content, status=200, **fields):
    answer = client.post(
        "/translate_file", data={**FIELDS, **fields}, files={"file": (name, content)}
    )
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", f"\ufeff{SOURCE}\n\n{FRENCH[1][0]}\n", f"\ufeff{TARGET}\n\n{FRENCH[1][1]}\n"),
        ("a.txt", f"\t{SOURCE}\r\n \r\n  {SOURCE}\r\n", f"\t{TARGET}\r\n \r\n  {TARGET}\r\n"),
        ("a.md", f"# *{SOURCE}*\n\n    x\n", f"# *{TARGET}*\n\n    x\n"),
        ("a.json", f'{{"{SOURCE}": "{SOURCE}"}}', f'{{"{SOURCE}": "{TARGET}"}}'),
        (
            "a.po",
            f'msgid "{SOURCE}"\nmsgstr ""\n',
            f'#, fuzzy\nmsgid "{SOURCE}"\nmsgstr "{TARGET}"\n',
        ),
        ("a.txt", f"{SOURCE}\r{SOURCE}\n\r\n", f"{TARGET}\r{TARGET}\n\r\n"),
        ("a.HTML", f"<p>{SOURCE}</p>\n<hr>", f"<p>{TARGET}</p>\n<hr>"),
    ],
)
def test_a_file_there_and_back(client, name, content, expected):
    url = sent(client, name, content.encode())["translatedFileUrl"]
    assert url.startswith(f"{client.address}/download_file/")
    answer = client.get(url)
    assert answer.status_code == 200
    assert answer.content.decode() == expected
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == f'attachment; filename="a_fr{name[1:].lower()}"'
    other = sent(client, name, content.encode())["translatedFileUrl"]
    assert other != url and len(url.rpartition("/")[2]) >= 43


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd.txt", "passwd"),
        ("C:\\dir\\x.txt", "x"),
        ("<script>.txt", "script"),
        ('a"\r\nx: y.txt', None),
        ("a;filename=b.txt", "a-filename-b"),
        ("%2e%2e%2f'\\x00.txt", None),
        ("....txt", "file"),
        ("é" * 300 + ".txt", "é" * 60),
        ("猫 と 犬.txt", "猫-と-犬"),
        ("\u202egpj.txt", "gpj"),
    ],
)
def test_names_of_files_are_harmless(client, name, kept):
    answer = client.get(sent(client, name, SOURCE.encode())["translatedFileUrl"])
    said = answer.headers["content-disposition"]
    whole = re.fullmatch(
        r"attachment; filename=\"([A-Za-z0-9-]+_fr\.txt)\"(?:; filename\*=UTF-8''([\w%.-]+))?", said
    )
    assert whole is not None, said
    found = unquote(whole[2]) if whole[2] else whole[1]
    stem = found.removesuffix("_fr.txt")
    assert stem.replace("-", "").isalnum()
    assert kept is None or stem == kept
    assert "x" not in answer.headers


def damaged_member(method):
    """A DOCX whose text is compressed in a way, and then changed."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", method) as file:
        file.writestr("word/document.xml", "<w:document>" + "a" * 500 + "</w:document>")
    data = bytearray(output.getvalue())
    at = data.index(b"document.xml") + len("document.xml") + 12
    data[at : at + 8] = b"\xff" * 8
    return bytes(data)


def bomb():
    """A small archive that expands to forty megabytes."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", b" " * 40_000_000)
    return output.getvalue()


def test_what_cannot_be_translated(client):
    assert "file format not supported" in sent(client, "a.exe", b"MZ", 400)["error"]
    assert "UTF-8" in sent(client, "a.txt", b"\xffab", 400)["error"]
    assert "empty file" in sent(client, "a.txt", b"", 400)["error"]
    assert "empty file" in sent(client, "a.html", b"\xef\xbb\xbf", 400)["error"]
    assert sent(client, "a.txt", b"x", 400, target="tlh")["error"]
    assert client.post("/translate_file", data=FIELDS).status_code == 400
    assert client.post("/translate_file", json=FIELDS).status_code == 400
    assert "not JSON" in sent(client, "a.json", b"{", 400)["error"]
    assert "zip archive" in sent(client, "a.docx", b"PK", 400)["error"]
    german = b'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "x"\nmsgstr ""\n'
    said = sent(client, "a.po", german, 400)["error"]
    assert "declares German (de)" in said and "into French (fr)" in said and "--" not in said
    assert "expands" in sent(client, "a.docx", bomb(), 400)["error"]
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        assert "zip archive" in sent(client, "a.docx", damaged_member(method), 400)["error"]
    declared = b"<?xml version='1.0' encoding='idna'?><xliff/>"
    assert "the encoding idna is unknown" in sent(client, "a.xlf", declared, 400)["error"]
    assert "--max-characters" in sent(client, "a.txt", b"x" * 20_001, 400)["error"]


@pytest.mark.parametrize("name", ["x", "%2e%2e", "..%2fx", "%2e%2e%2fetc%2fpasswd", "x" * 3000])
def test_nothing_else_is_handed_out(client, name):
    assert client.get(f"/download_file/{name}").status_code in (400, 404)


def test_files_go_in_time_and_when_there_are_too_many():
    now = 0.0
    shelf = FileStore(10.0, 5, clock=lambda: now)
    first = shelf.put("a", b"123")
    assert shelf.get(first).content == b"123"
    now = 1.0
    second = shelf.put("b", b"456")  # with their names, ten bytes are too many
    assert shelf.get(first) is None and shelf.get(second)
    now = 12.0
    assert shelf.get(second) is None
