"""`regard evaluate` and `regard compare`, end to end."""

import gzip
import json

import pytest

from regard.evaluation import corpus_scores
from trained import taught

PAIRS = taught("en-fr")
KEYS = [
    "bleu",
    "bleu_lowercase",
    "chrf",
    "ter",
    "signature",
    "sentences",
    "seconds",
    "lines_per_second",
    "model",
]


@pytest.fixture
def files(tmp_path):
    """Source, reference, pairs, and translations with some mistakes."""
    lines = {
        "s.en": [s for s, _ in PAIRS],
        "t.fr": [t for _, t in PAIRS],
        "p.tsv": [f"{s}\t{t}" for s, t in PAIRS],
        "bad.fr": [
            t if n % 3 else t.lower().replace(" a ", " o ") for n, (_, t) in enumerate(PAIRS)
        ],
    }
    for name, rows in lines.items():
        (tmp_path / name).write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


def test_a_model_on_two_files_or_one(regard, en_fr, files):
    two = regard("evaluate", files / "s.en", files / "t.fr", "--model", en_fr, "--json", "--ter")
    one = regard("evaluate", files / "p.tsv", "--model", en_fr, "--json", "--beam", 1)
    for said in (two, one):
        found = json.loads(said.out)
        assert list(found) == KEYS
        assert found["bleu"] == pytest.approx(100)
        assert found["ter"] == (0 if said is two else None)
        assert found["sentences"] == len(PAIRS)
        assert "tok:13a" in found["signature"]
        assert found["model"] == en_fr and found["seconds"] > 0
        assert found["lines_per_second"] == pytest.approx(len(PAIRS) / found["seconds"])


def test_tokenizer_is_by_language(regard, en_zh, tmp_path):
    pairs = tmp_path / "p.tsv"
    rows = [f"{s}\t{t}" for s, t in taught("en-zh")]
    pairs.write_text("\n".join(rows) + "\n", encoding="utf-8")
    said = regard("evaluate", pairs, "--model", en_zh, "--json")
    assert "tok:zh" in json.loads(said.out)["signature"]


def test_given_translations(regard, files):
    said = regard("evaluate", "--hypotheses", files / "bad.fr", files / "t.fr", "--json")
    found = json.loads(said.out)
    lines = [(files / name).read_text("utf-8").splitlines() for name in ("bad.fr", "t.fr")]
    expected = corpus_scores(*lines, "fr")
    assert list(found) == KEYS
    assert found["bleu"] == expected.bleu < found["bleu_lowercase"]
    assert found["model"] is None and found["lines_per_second"] is None
    by_characters = regard(
        "evaluate", "--hypotheses", files / "bad.fr", files / "t.fr", "--json", "--language", "zh"
    )
    assert "tok:zh" in json.loads(by_characters.out)["signature"]


def test_the_table_and_the_output_file(regard, en_fr, files):
    made = files / "made.gz"
    said = regard("evaluate", files / "s.en", files / "t.fr", "--model", en_fr, "--output", made)
    assert "BLEU, lower case" in said.out and "100.00" in said.out and "TER" not in said.out
    assert "\x1b" not in said.out
    with gzip.open(made, "rt", encoding="utf-8") as file:
        assert file.read() == (files / "t.fr").read_text("utf-8")


def test_every_line_counts_also_one_of_several_sentences_or_none(regard, en_fr, tmp_path):
    (tmp_path / "s").write_text(f"{PAIRS[0][0]} {PAIRS[1][0]}\n\n{PAIRS[2][0]}\n", "utf-8")
    (tmp_path / "t").write_text(f"{PAIRS[0][1]}\nx\n{PAIRS[2][1]}\n", "utf-8")
    said = regard("evaluate", tmp_path / "s", tmp_path / "t", "--model", en_fr, "--json")
    assert json.loads(said.out)["sentences"] == 3


def test_a_model_against_an_output(regard, en_fr, files):
    words = ["compare", en_fr, files / "bad.fr", "--source", files / "s.en"]
    words += ["--reference", files / "t.fr", "--resamples", 200]
    found = json.loads(regard(*words, "--json").out)
    assert found["a"]["bleu"] == pytest.approx(100) and found["a"]["name"] == en_fr
    assert [row["metric"] for row in found["differences"]] == ["BLEU", "chrF"]
    bleu = found["differences"][0]
    assert bleu["difference"] == pytest.approx(found["b"]["bleu"] - found["a"]["bleu"])
    assert bleu["low"] <= bleu["difference"] <= bleu["high"] < 0 < bleu["p_value"] < 0.05
    assert sum(row["sentences"] for row in found["by_length"]) == len(PAIRS)
    table = regard(*words).out
    assert "A is significantly better in BLEU" in table
    assert "source words" in table


def test_a_pair_file_is_compared_on_too(regard, en_fr, files):
    words, few = ("compare", en_fr, files / "bad.fr"), ("--resamples", 20, "--json")
    two = regard(*words, "--source", files / "s.en", "--reference", files / "t.fr", *few)
    assert two.code == 0
    assert regard(*words, files / "p.tsv", *few).out == two.out
    assert regard(*words, files / "s.en", files / "t.fr", *few).out == two.out


def test_files_of_another_encoding(regard, en_fr, files):
    for name in ("s.en", "t.fr", "bad.fr"):
        text = (files / name).read_text("utf-8")
        (files / name).write_text(text + "déjà\n", "latin-1")
    latin = ("--encoding", "latin-1", "--json")
    source, reference, bad = files / "s.en", files / "t.fr", files / "bad.fr"
    said = regard("evaluate", source, reference, "--model", en_fr, *latin)
    assert json.loads(said.out)["sentences"] == len(PAIRS) + 1
    assert regard("evaluate", "--hypotheses", reference, reference, *latin).code == 0
    said = regard("compare", bad, reference, source, reference, *latin, "--resamples", 20)
    assert json.loads(said.out)["b"]["bleu"] == pytest.approx(100)
    refused = regard("evaluate", source, reference, "--model", en_fr)
    assert refused.code == 2 and "--encoding latin-1" in refused.err


def test_an_output_against_itself(regard, files):
    bad = files / "bad.fr"
    words = ["compare", bad, bad, "--source", files / "s.en", "--reference", files / "t.fr"]
    said = regard(*words, "--resamples", 20)
    assert "difference in BLEU is not significant" in said.out


def test_what_is_refused(refused, en_fr, en_zh, lm, files):
    source, reference = files / "s.en", files / "t.fr"
    short, empty = files / "short", files / "empty"
    short.write_text("one\n")
    empty.touch()
    directions = f"must have the same languages, got {en_fr} (en to fr) and {en_zh} (en to zh)"
    listed = sorted(files.iterdir())
    cases = [
        (["evaluate", source, reference], "give either --model DIR or --hypotheses FILE"),
        (["evaluate", reference, "--model", en_fr, "--hypotheses", short], "give either"),
        (["evaluate", source, short, "--model", en_fr], "has 1"),
        (["evaluate", source, "--model", en_fr], "sentence pairs are read from files ending in"),
        (["evaluate", files / "none", reference, "--model", en_fr], "there is no such file"),
        (["evaluate", "--hypotheses", short, reference], "there are 1 translations but"),
        (
            ["evaluate", "--hypotheses", short, source, reference],
            "give one file, the reference",
        ),
        (["evaluate", source, reference, "--model", lm], "regard generate"),
        (["evaluate", source, reference, "--model", en_fr, "--output", files / "no/x"], "no such"),
        (["evaluate", empty, empty, "--model", en_fr], "the file is empty"),
        (["evaluate", files, reference, "--model", en_fr], "this is a folder"),
        (["evaluate", "--hypotheses", short, empty], "the file is empty"),
        (["compare", en_fr, en_zh, source, reference], directions),
        (["compare", short, short], "give the test set once"),
        (["compare", short, short, source, "--reference", reference], "give the test set once"),
        (["compare", short, short, "--source", source, "--reference", reference], "sources, got 1"),
        (["compare", lm, short, "--source", source, "--reference", reference], "kind lm"),
        (["compare", files / "no", short, "--source", source, "--reference", reference], "no such"),
    ]
    for words, message in cases:
        assert message in refused(*words), words
    assert sorted(files.iterdir()) == listed
