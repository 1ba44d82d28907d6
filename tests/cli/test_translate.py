"""`regard translate`, end to end."""

import gzip
import io
import json

import pytest

from trained import regard as process
from trained import taught

PAIRS = taught("en-fr")
SOURCES, TARGETS = [p[0] for p in PAIRS], [p[1] for p in PAIRS]


def test_arguments(regard, en_fr):
    said = regard("translate", "--model", en_fr, SOURCES[0], SOURCES[1])
    assert said.code == 0
    assert said.out == f"{TARGETS[0]}\n{TARGETS[1]}\n"
    assert said.err == ""


def test_a_line_for_each_line(regard, en_fr):
    text = f"\ufeff{SOURCES[0]}\r\n\n{SOURCES[1]} {SOURCES[2]}\n   \n{SOURCES[3]}"
    said = regard("translate", "--model", en_fr, "--threads", 1, stdin=text.encode())
    assert said.out == f"{TARGETS[0]}\n\n{TARGETS[1]} {TARGETS[2]}\n\n{TARGETS[3]}\n"
    assert regard("translate", "--model", en_fr, stdin=b"").out == ""


def test_the_layout_of_a_file_is_kept(regard, en_fr, tmp_path):
    given, made = tmp_path / "in.txt", tmp_path / "out.txt"
    given.write_bytes(f"\ufeff{SOURCES[0]}\r\n  \r\n\t{SOURCES[1]} \n{SOURCES[2]}\r\n".encode())
    expected = f"\ufeff{TARGETS[0]}\r\n  \r\n\t{TARGETS[1]} \n{TARGETS[2]}\r\n"
    words = ("translate", "--model", en_fr, "--threads", 1, "--input", given)
    assert regard(*words, "--output", made).code == 0
    assert made.read_bytes().decode() == expected
    assert regard(*words).out == expected
    assert regard(*words, "--json").out.startswith(f'{{"source": "{SOURCES[0]}", ')


def test_chinese(regard, en_zh):
    pairs = taught("en-zh")
    said = regard("translate", "--model", en_zh, f"{pairs[0][0]} {pairs[1][0]}")
    assert said.out == pairs[0][1] + pairs[1][1] + "\n"


@pytest.mark.parametrize("suffix", ["txt", "txt.gz"])
def test_files(regard, en_fr, tmp_path, suffix):
    given, made = tmp_path / f"in.{suffix}", tmp_path / f"out.{suffix}"
    opened = gzip.open if suffix.endswith("gz") else open
    with opened(given, "wt", encoding="utf-8") as file:
        file.write("\n".join([*SOURCES, ""]) + "\n")
    assert regard("translate", "--model", en_fr, "--input", given, "--output", made).code == 0
    with opened(made, "rt", encoding="utf-8") as file:
        assert file.read() == "\n".join([*TARGETS, ""]) + "\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([given.name, made.name])


def test_json(regard, en_fr):
    said = regard("translate", "--model", en_fr, "--json", SOURCES[0], "")
    one, nothing = (json.loads(line) for line in said.out.splitlines())
    assert one["text"] == TARGETS[0] and one["source"] == SOURCES[0]
    (sentence,) = one["sentences"]
    assert len(sentence["confidence"]) == len(sentence["words"])
    assert sentence["finished"] is True
    nothing_else = {"score": 0.0, "warnings": [], "sentences": []}
    assert nothing == {"source": "", "text": "", **nothing_else}


def test_n_best(regard, en_fr):
    said = regard("translate", "--model", en_fr, "--n-best", 3, SOURCES[0], SOURCES[1])
    rows = [line.split("\t") for line in said.out.splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "1", "2", "2", "2"]
    assert rows[0][2] == TARGETS[0] and rows[3][2] == TARGETS[1]
    assert float(rows[0][1]) >= float(rows[1][1]) >= float(rows[2][1])


def test_search_flags(regard, en_fr):
    words = ("translate", "--model", en_fr, SOURCES[0])
    assert regard(*words, "--beam", 1).out == TARGETS[0] + "\n"
    assert regard(*words, "--prefix", "Une").out.startswith("Une ")
    short = regard(*words, "--max-length", 2, "--json").out
    assert len(json.loads(short)["sentences"][0]["tokens"]) <= 2
    bold = [*words, "--sample", "--temperature", 4, "--seed"]
    assert regard(*bold, 1).out == regard(*bold, 1).out != regard(*bold, 2).out
    both = f"{SOURCES[0]} {SOURCES[1]}"
    whole = regard("translate", "--model", en_fr, "--no-split", "--json", both)
    assert len(json.loads(whole.out)["sentences"]) == 1


def test_the_same_line_twice_is_drawn_twice(regard, en_fr):
    words = ("translate", "--model", en_fr, "--sample", "--temperature", 4)
    lines = regard(*words, stdin=f"{SOURCES[0]}\n".encode() * 6).out.splitlines()
    assert len(lines) == 6 and len(set(lines)) > 1


def test_the_drawing(regard, en_fr):
    said = regard("translate", "--model", en_fr, "--align", f"{SOURCES[0]} {SOURCES[1]}")
    lines = said.out.splitlines()
    assert lines[0] == f"{TARGETS[0]} {TARGETS[1]}"
    assert "\x1b" not in said.out
    for word in TARGETS[0].rstrip(".").split() + TARGETS[1].rstrip(".").split():
        assert any(line.startswith(word.partition("'")[0]) for line in lines[1:])
    assert said.out.count("● link") == 1


def test_somebody_types(regard, en_fr, capsys):
    """Each line is answered before the next one is read."""
    heard = []

    class Keyboard(io.RawIOBase):
        lines = iter([*(f"{source}\n".encode() for source in SOURCES[:3]), b""])

        def readable(self):
            return True

        def readinto(self, buffer):
            heard.append(capsys.readouterr().out)
            line = next(self.lines)
            buffer[: len(line)] = line
            return len(line)

    said = regard("translate", "--model", en_fr, stdin=io.BufferedReader(Keyboard()), typed=True)
    assert said.code == 0
    assert "".join(heard) == "".join(f"{target}\n" for target in TARGETS[:3])
    assert heard[1] == f"{TARGETS[0]}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x", "--input", "y"], "text and --input were both given"),
        (["--input", "nowhere.txt"], "nowhere.txt: there is no such file"),
        (["x", "--output", "no/such/folder.txt"], "there is no such folder"),
        (["x", "--temperature", "2"], "--temperature is for sampling"),
        (["x", "--sample", "--beam", "3"], "--beam is for searching, not for sampling"),
        (["x", "--sample", "--temperature", "0"], "temperature must be above 0"),
        (["x", "--n-best", "4", "--beam", "2"], "raise --beam"),
        (["x", "--length-penalty", "-1"], "decoding.length_penalty must be at least 0"),
        (["x", "--align", "--json"], "--align draws for people"),
        (["One. Two.", "", "--prefix", "Un"], "prefix is for one sentence"),
    ],
)
def test_what_is_refused(refused, en_fr, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refused("translate", "--model", en_fr, *words)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "flag", [["--beam", "0"], ["--beam", "x"], ["--threads", "-1"], ["--nonsense"]]
)
def test_flags_that_argparse_refuses(regard, en_fr, flag):
    said = regard("translate", "--model", en_fr, "x", *flag)
    assert said.code == 2 and said.err.count("\n") == 1 and "; see `regard" in said.err


def test_a_file_that_is_not_utf8_names_its_line_and_leaves_the_old_output(refused, en_fr, tmp_path):
    given, made = tmp_path / "in.txt", tmp_path / "out.txt"
    given.write_bytes(f"{SOURCES[0]}\n".encode() + "déjà\n".encode("latin-1"))
    made.write_text("before")
    said = refused("translate", "--model", en_fr, "--input", given, "--output", made)
    assert f"{given}, line 2: not valid UTF-8 (byte 0xe9)" in said
    assert "`iconv -f LATIN1 -t UTF-8` or give --encoding latin-1" in said
    assert made.read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 2
    latin = "déjà\n".encode("latin-1")
    assert "standard input, line 1" in refused("translate", "--model", en_fr, stdin=latin)


def test_a_process_of_its_own_pipes_plain_text(en_fr):
    done = process("translate", "--model", en_fr, input=f"{SOURCES[0]}\n\n{SOURCES[1]}\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{TARGETS[0]}\n\n{TARGETS[1]}\n"


def test_wording(regard, refused, en_fr, tmp_path):
    word = TARGETS[0].split()[1].strip(".")
    said = regard("translate", "--model", en_fr, "--forbid", word, SOURCES[0])
    assert said.code == 0 and word not in said.out.split()
    terms = tmp_path / "terms.tsv"
    terms.write_text(f"{SOURCES[0].split()[1]}\txylophone\n", "utf-8")
    said = regard("translate", "--model", en_fr, "--glossary", terms, SOURCES[1], SOURCES[0])
    first, second = said.out.splitlines()
    assert first == TARGETS[1] and "xylophone" in second.split()
    assert said.err.startswith("line 2: ") and "→ xylophone: the model could not write" in said.err
    terms.write_text("one column\n", "utf-8")
    message = refused("translate", "--model", en_fr, "--glossary", terms, SOURCES[0])
    assert "terms.tsv, line 1: a term and its translation are expected" in message
    said = regard(
        "translate",
        "--model",
        en_fr,
        "--beam-groups",
        4,
        "--n-best",
        3,
        "--diversity-penalty",
        20,
        SOURCES[0],
    )
    assert len({row.split("\t")[2] for row in said.out.splitlines()}) == 3
    for flags in (["--coverage-penalty", 0.2], ["--min-length", 2, "--no-repeat-ngram", 9]):
        assert regard("translate", "--model", en_fr, *flags, SOURCES[0]).out == TARGETS[0] + "\n"
    message = refused("translate", "--model", en_fr, "--beam", 2, "--beam-groups", 3, SOURCES[0])
    assert "3 groups and --beam 2" in message
    assert "must be at least 0, got -1" in refused(
        "translate", "--model", en_fr, "--no-repeat-ngram", -1, SOURCES[0]
    )


def test_check_says_what_may_be_wrong(regard, en_fr):
    said = regard("translate", "--model", en_fr, "--check", "--min-length", 25, SOURCES[0])
    assert all(line.startswith("line 1: ") for line in said.err.splitlines())
    assert "repeated" in said.err or "translated twice" in said.err
    said = regard("translate", "--model", en_fr, "--json", "--min-length", 25, SOURCES[0])
    assert json.loads(said.out)["sentences"][0]["flags"] and not said.err


def test_alternatives_at_a_word(regard, refused, en_fr):
    said = regard("translate", "--model", en_fr, "--alternatives", 1, "--n-best", 3, SOURCES[0])
    rows = [line.split("\t") for line in said.out.splitlines()]
    assert rows[0][1] == TARGETS[0] and len(rows) == 4
    assert len({text.split()[1] for _, text in rows}) == 4
    shares = [float(share) for share, _ in rows]
    assert shares[1:] == sorted(shares[1:], reverse=True) and max(shares) <= 1
    said = regard("translate", "--model", en_fr, "--alternatives", 0, "--json", SOURCES[0])
    assert json.loads(said.out.splitlines()[0])["text"] == TARGETS[0]
    assert "got 99" in refused("translate", "--model", en_fr, "--alternatives", 99, SOURCES[0])
    assert "one TEXT" in refused("translate", "--model", en_fr, "--alternatives", 0, "a", "b")


def test_several_models_translate_together(regard, refused, en_fr, en_zh):
    said = regard("translate", "--model", en_fr, "--model", en_fr, SOURCES[0])
    assert said.out == TARGETS[0] + "\n"
    message = refused("translate", "--model", en_fr, "--model", en_zh, SOURCES[0])
    assert "same languages" in message


def test_memories(regard, refused, en_fr, tmp_path):
    memory, text, output = (tmp_path / name for name in ("m.tsv", "in.txt", "out.txt"))
    memory.write_text(f"{SOURCES[0]}\tDu souvenir.\n", "utf-8")
    text.write_text(f"{SOURCES[0]}\n{SOURCES[1]}\n", "utf-8")
    words = ["translate", "--model", en_fr, "--memory", memory]
    said = regard(*words, "--input", text, "--output", output)
    assert said.code == 0
    assert output.read_text("utf-8") == f"Du souvenir.\n{TARGETS[1]}\n"
    near = SOURCES[0].replace(".", " !")
    said = regard(*words, "--json", near)
    (match,) = json.loads(said.out)["sentences"][0]["matches"]
    assert match["translation"] == "Du souvenir." and 0.75 <= match["score"] < 1
    said = regard(*words, "--fuzzy-threshold", "0.8", near)
    assert said.out == "Du souvenir.\n" and f"line 1: {SOURCES[0]}: " in said.err
    message = refused("translate", "--model", en_fr, "--fuzzy-threshold", "0.8", near)
    assert "give --memory FILE" in message
