"""`regard translate` on files: formats, encodings, partial output and resuming."""

import bz2
import gzip
import io
import json
import lzma
import signal
import subprocess
import sys
import time

import pytest

from regard.formats.compressed import read_bytes
from trained import taught

PAIRS = taught("en-fr")
SOURCES, TARGETS = [p[0] for p in PAIRS], [p[1] for p in PAIRS]
TEXT = "".join(f"{source}\n" for source in SOURCES)
MADE = "".join(f"{target}\n" for target in TARGETS)


class Stopped(io.RawIOBase):
    """A keyboard on which some lines are typed, and then Ctrl-C."""

    def __init__(self, lines):
        self.lines = iter(lines)

    def readable(self):
        return True

    def readinto(self, buffer):
        line = next(self.lines, None)
        if line is None:
            raise KeyboardInterrupt
        buffer[: len(line)] = line
        return len(line)


def stop_after(regard, count, *words):
    """Run a command that is stopped after so many lines."""
    typed = io.BufferedReader(Stopped(f"{source}\n".encode() for source in SOURCES[:count]))
    said = regard("translate", *words, stdin=typed, typed=True)
    assert said.code == 130
    return said


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", ["page.html", "page.HTM.gz"])
def test_markup_of_a_page_is_kept(regard, en_fr, tmp_path, name):
    page = f'<!DOCTYPE html>\r\n<p class="The">{SOURCES[0]}</p><script>The = 1</script>'
    given, made = tmp_path / name, tmp_path / f"out-{name}"
    opened = gzip.open if name.endswith("gz") else open
    with opened(given, "wb") as file:
        file.write(b"\xef\xbb\xbf" + page.encode())
    assert regard("translate", "--model", en_fr, "--input", given, "--output", made).code == 0
    with opened(made, "rb") as file:
        assert file.read().decode() == "\ufeff" + page.replace(SOURCES[0], TARGETS[0])


def test_a_page_on_standard_input_or_as_text(regard, en_fr):
    words = ("translate", "--model", en_fr, "--format", "html")
    page = f"<p>{SOURCES[0]}</p>\n<p>{SOURCES[1]}"
    expected = f"<p>{TARGETS[0]}</p>\n<p>{TARGETS[1]}"
    assert regard(*words, stdin=page.encode()).out == expected
    assert regard(*words, page, "<hr>").out == f"{expected}\n<hr>\n"


def test_a_page_keeps_its_encoding(regard, en_fr, tmp_path):
    given, made = tmp_path / "page.html", tmp_path / "out.html"
    given.write_bytes(f"<p>{SOURCES[0]}</p><pre>é</pre>".encode("latin-1"))
    words = ("translate", "--model", en_fr, "--input", given, "--output", made)
    assert regard(*words, "--encoding", "latin-1").code == 0
    assert made.read_bytes().decode("latin-1") == f"<p>{TARGETS[0]}</p><pre>é</pre>"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_text_of_another_encoding(regard, en_fr, tmp_path, encoding):
    given, made = tmp_path / "in.txt", tmp_path / "out.txt"
    given.write_bytes(TEXT.encode(encoding))
    words = ("translate", "--model", en_fr, "--input", given, "--encoding", encoding)
    assert regard(*words, "--output", made).code == 0
    assert made.read_text("utf-8") == MADE


def test_a_format_that_cannot_be_translated_is_refused_unless_plain(
    regard, refused, en_fr, tmp_path
):
    given = tmp_path / "x.rst.gz"
    given.write_bytes(gzip.compress(f"{SOURCES[0]}\n".encode()))
    said = refused("translate", "--model", en_fr, "--input", given)
    assert ".rst files cannot be translated, only text, html, markdown, po, xliff, tmx" in said
    plain = regard("translate", "--model", en_fr, "--input", given, "--plain")
    assert plain.out == f"{TARGETS[0]}\n"
    made = tmp_path / "made.docx"
    said = refused("translate", "--model", en_fr, "x", "--output", made)
    assert "the output is text, not .docx" in said
    assert "not .html" in refused("translate", "--model", en_fr, "x", "--output", "x.html")
    assert regard("translate", "--model", en_fr, "x", "--output", made, "--plain").code == 0
    rows = tmp_path / "rows.jsonl"
    assert regard("translate", "--model", en_fr, "x", "--json", "--output", rows).code == 0


def test_other_refusals(refused, en_fr, tmp_path):
    empty, page = tmp_path / "empty.txt", tmp_path / "page.html"
    empty.touch()
    page.write_text("<p>x")
    wide = tmp_path / "wide.txt"
    wide.write_text("x\n", "utf-16")
    for words, message in [
        (["--input", empty], "empty.txt: the file is empty"),
        (["--input", tmp_path], "this is a folder"),
        (["x", "--output", tmp_path], "this is a folder"),
        (["--input", wide], "looks like UTF-16"),
        (["--input", page, "--json"], "a document is written as a whole"),
        (["--input", page, "--encoding", "ascii", "--plain", "x"], "were both given"),
    ]:
        assert message in refused("translate", "--model", en_fr, *words), words
    assert names(tmp_path) == ["empty.txt", "page.html", "wide.txt"]


@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
def test_the_same_command_resumes(regard, en_fr, tmp_path, name):
    made = tmp_path / name
    made.write_bytes(b"old")
    words = ("--model", en_fr, "--output", made)
    said = stop_after(regard, 5, *words)
    partial = tmp_path / f"{name}.partial"
    assert partial.read_text("utf-8") == "".join(f"{target}\n" for target in TARGETS[:5])
    assert "5 lines are done; run the same command to continue" in said.err
    assert made.read_bytes() == b"old"
    with partial.open("a") as file:
        file.write("half a li")  # as a kill may leave it
    said = regard("translate", *words, stdin=TEXT.encode())
    assert said.code == 0 and f"{partial}: continuing after line 5.\n" in said.err
    opened = gzip.open if name.endswith("gz") else open
    with opened(made, "rt", encoding="utf-8") as file:
        assert file.read() == MADE
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("name", ["in.txt", "in.txt.gz", "in.html"])
@pytest.mark.parametrize("way", ["same", "symlink", "hardlink", "relative"])
def test_the_inputs_own_file_is_kept_unless_overwritten(
    regard, refused, en_fr, tmp_path, monkeypatch, name, way
):
    given, made = tmp_path / name, tmp_path / f"other-{name}"
    with (gzip.open if name.endswith("gz") else open)(given, "wb") as file:
        file.write(TEXT.encode())
    before = given.read_bytes()
    monkeypatch.chdir(tmp_path)
    if way == "symlink":
        made.symlink_to(given)
    elif way == "hardlink":
        made.hardlink_to(given)
    else:
        made = given if way == "same" else f"../{tmp_path.name}/{name}"
    files = names(tmp_path)
    words = ("translate", "--model", en_fr, "--format", "text", "--input", given, "--output", made)
    if name == "in.html":
        words = (*words[:3], *words[5:])
    assert f"{made}: this is the input's own file; give another" in refused(*words)
    assert given.read_bytes() == before and names(tmp_path) == files
    assert regard(*words, "--overwrite").code == 0
    assert read_bytes(made).decode().split() == MADE.split()
    assert names(tmp_path) == files


def test_overwriting_resumes(regard, en_fr, tmp_path):
    given = tmp_path / "in.txt"
    given.write_text(TEXT, "utf-8")
    stop_after(regard, 5, "--model", en_fr, "--output", given)
    assert given.read_text("utf-8") == TEXT
    words = ("translate", "--model", en_fr, "--input", given, "--output", given, "--overwrite")
    assert f"{given}.partial: continuing after line 5.\n" in regard(*words).err
    assert given.read_text("utf-8") == MADE
    assert names(tmp_path) == ["in.txt"]


def test_several_rows_per_line_and_sampling_resume(regard, en_fr, tmp_path):
    words = ("--model", en_fr, "--sample", "--temperature", 4, "--n-best", 2, "--output")
    assert regard("translate", *words, tmp_path / "once.tsv", stdin=TEXT.encode()).code == 0
    stop_after(regard, 3, *words, tmp_path / "twice.tsv")
    assert regard("translate", *words, tmp_path / "twice.tsv", stdin=TEXT.encode()).code == 0
    once, twice = ((tmp_path / name).read_text("utf-8") for name in ("once.tsv", "twice.tsv"))
    assert once == twice
    assert [row.split("\t")[0] for row in once.splitlines()] == [
        str(number) for number in range(1, len(SOURCES) + 1) for _ in range(2)
    ]


def test_another_input_model_or_options_are_refused(regard, refused, en_fr, en_zh, tmp_path):
    given, made = tmp_path / "in.txt", tmp_path / "out.txt"
    words = ("--model", en_fr, "--output", made)
    stop_after(regard, 5, *words)
    lines = (tmp_path / "out.txt.partial").read_bytes()
    given.write_text("".join(f"{source}\n" for source in SOURCES[::-1]), "utf-8")
    said = refused("translate", *words, "--input", given)
    assert "it belongs to another input; give the same input again to continue, or remove" in said
    said = refused("translate", *words, "--beam", 2, stdin=TEXT.encode())
    assert "the options changed since it was written; give the same again to continue" in said
    said = refused("translate", "--model", en_zh, "--output", made, stdin=TEXT.encode())
    assert "the model changed" in said or "the model and options changed" in said
    assert (tmp_path / "out.txt.partial").read_bytes() == lines
    given.write_text(TEXT, "utf-8")
    said = regard("translate", *words, "--input", given)  # whatever way the input comes
    assert said.code == 0 and "continuing after line 5" in said.err
    assert made.read_text("utf-8") == MADE
    assert names(tmp_path) == ["in.txt", "out.txt"]


COMPRESSIONS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("ending", COMPRESSIONS)
def test_compressed_input_and_columns_of_source_and_translation(regard, en_fr, tmp_path, ending):
    given, made = tmp_path / f"in.txt.{ending}", tmp_path / f"out.tsv.{ending}"
    lines = [*SOURCES, SOURCES[0].replace(" ", "\t", 1), ""]
    given.write_bytes(COMPRESSIONS[ending]("".join(f"{line}\n" for line in lines).encode()))
    assert regard("translate", "--model", en_fr, "--input", given, "--output", made).code == 0
    pairs = [*PAIRS, PAIRS[0], ("", "")]  # a tab inside text becomes a space
    expected = "".join(f"{source}\t{target}\n" for source, target in pairs)
    assert read_bytes(made).decode() == expected
    assert names(tmp_path) == sorted([given.name, made.name])


def test_a_jsonl_file_has_scores_and_confidence(regard, en_fr, tmp_path):
    made = tmp_path / "out.jsonl"
    assert regard("translate", "--model", en_fr, "--output", made, stdin=TEXT.encode()).code == 0
    rows = [json.loads(row) for row in made.read_text("utf-8").splitlines()]
    assert [(row["source"], row["text"]) for row in rows] == PAIRS
    assert all(row["score"] < 0 and row["sentences"][0]["confidence"] for row in rows)
    listed = regard("translate", "--model", en_fr, "--json", stdin=TEXT.encode()).out
    assert listed == made.read_text("utf-8")


def test_after_a_kill_whole_lines_are_left_and_a_pipe_is_answered_as_it_comes(en_fr, tmp_path):
    made = tmp_path / "out.txt"
    partial = tmp_path / "out.txt.partial"
    words = [sys.executable, "-m", "regard", "translate", "--model", en_fr, "--output", str(made)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdin.write("".join(f"{source}\n" for source in SOURCES[:3]).encode())
        running.stdin.flush()  # the pipe stays open: more may come
        deadline = time.monotonic() + 120
        while not (partial.exists() and partial.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGKILL)
        running.communicate()
    assert partial.read_text("utf-8") == "".join(f"{target}\n" for target in TARGETS[:3])


def test_a_word_of_a_million_characters_is_copied(regard, en_fr):
    word = "a" * 1_000_000
    text = f"{SOURCES[0]} {word} {SOURCES[1]}\n"
    said = regard("translate", "--model", en_fr, stdin=text.encode())
    assert said.out == f"{TARGETS[0]} {word} {TARGETS[1]}\n"
    assert "words of 1,000 characters or more, copied unchanged: 1\n" in said.err
