"""`regard data clean`: what is dropped and why, in every format, from Python and the command."""

import gzip
import json
import subprocess
import sys

import pytest

import regard
from regard.cli import main
from regard.corpus.pairs import Pair
from regard.formats import RawPair
from regard.tasks.data.clean import ModelCheck, judge
from regard.tasks.data.pair_scores import alignment_score, score_pairs
from trained import taught, trained

ROWS = [
    ("The cat sleeps on the old chair.", "Le chat dort sur la vieille chaise."),
    ("The cat sleeps on the  old chair.", "Le chat dort sur la vieille chaise."),
    ("OK", "OK"),
    ("This is a rather long English sentence.", "This one is English as well, not French."),
    ("Ceci est une phrase en français, sans doute.", "Ceci est une phrase en français."),
    ("", "vide"),
    ("one", "mot " * 40),
    ("Yes.", "Oui."),
]
REASONS = ["duplicate", "identical", "target language", "source language", "empty", "ratio"]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in ROWS), encoding="utf-8")
    return path


def test_the_command(pairs, tmp_path, capsys):
    """What is kept is unchanged; what is dropped has its reason, file and line."""
    kept, dropped = tmp_path / "kept.tsv", tmp_path / "dropped.jsonl.gz"
    words = ["data", "clean", pairs, "--languages", "en-fr", "--out", kept, "--dropped", dropped]
    assert main([*map(str, words), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["read"], report["kept"]) == (8, 2)
    assert report["dropped"] == dict.fromkeys(REASONS, 1)
    assert report["first"]["duplicate"] == f"{pairs}:2"
    assert kept.read_text("utf-8").splitlines() == ["\t".join(ROWS[0]), "\t".join(ROWS[-1])]
    lines = [json.loads(line) for line in gzip.decompress(dropped.read_bytes()).splitlines()]
    assert [(line["reason"], line["line"]) for line in lines] == [
        (reason, number) for number, reason in enumerate(REASONS, start=2)
    ]
    assert lines[0]["source"] == ROWS[1][0]
    assert main([*map(str, words)]) == 0
    assert "target in another language" in capsys.readouterr().out


def test_rules_can_be_relaxed_and_any_format_is_read(tmp_path):
    """Aligned files in, JSON Lines out; languages are not detected unless they are named."""
    for side, name in enumerate(("a.en", "a.fr")):
        (tmp_path / name).write_text("".join(f"{row[side]}\n" for row in ROWS), encoding="utf-8")
    out = tmp_path / "kept.jsonl"
    rules = regard.data.CleaningSettings(max_ratio=0, drop_duplicates=False)
    files = [tmp_path / "a.en", tmp_path / "a.fr"]
    report = regard.data.clean(files, out, rules=rules)
    assert (report.kept, dict(report.dropped)) == (7, {"empty": 1})
    assert json.loads(out.read_text("utf-8").splitlines()[2]) == {"source": "OK", "target": "OK"}
    report = regard.data.clean(files, out, languages="en-fr", any_language=True)
    assert set(report.dropped) == {"empty", "ratio", "duplicate", "identical"}


def test_bad_input_leaves_no_file(pairs, tmp_path):
    refusals = [
        ({"out": "kept.xml"}, "pairs are written as .tsv"),
        ({"dropped": "kept.tsv"}, "need a file each"),
        ({"min_alignment": 0.5}, "give --model DIR"),
        ({"min_probability": 2.0}, "from 0 to 1"),
        ({"languages": "en-xh_XX"}, "xh_XX"),
    ]
    for options, message in refusals[:-1]:
        paths = {name: tmp_path / options.get(name, "kept.tsv") for name in ("out", "dropped")}
        paths["dropped"] = paths["dropped"] if "dropped" in options else None
        with pytest.raises(regard.InputError, match=message):
            regard.data.clean(pairs, **{**options, **paths})
    with pytest.raises(regard.InputError, match="tlh cannot be detected"):
        regard.data.clean(pairs, tmp_path / "kept.tsv", languages="en-tlh")
    (tmp_path / "bad.tsv").write_text("a\tb\nno tab\n")
    with pytest.raises(regard.InputError, match="line 2"):
        regard.data.clean(tmp_path / "bad.tsv", tmp_path / "kept.tsv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.tsv", "pairs.tsv"]


def test_a_model_finds_wrong_translations(tmp_path_factory, tmp_path):
    """Pairs that it was taught are probable and aligned; exchanged translations are not."""
    folder = trained("en-fr", tmp_path_factory)
    right = taught("en-fr")
    wrong = [(s, right[(n + 5) % len(right)][1]) for n, (s, _) in enumerate(right)]
    long = [("The cat " * 60, "Le chat " * 60)]
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in right + wrong + long), encoding="utf-8")
    dropped = tmp_path / "dropped.tsv"
    report = regard.data.clean(
        path, tmp_path / "kept.tsv", model=folder, min_probability=0.5, dropped=dropped
    )
    assert report.kept == len(right)
    assert report.dropped == {"probability": len(wrong), "tokens": 1}
    rows = [line.split("\t") for line in dropped.read_text("utf-8").splitlines()]
    assert all(0 <= float(row[5]) < 0.5 for row in rows[:-1])

    translator = regard.load(folder, threads=1)
    good = score_pairs(translator, [Pair(*pair) for pair in right])
    bad = score_pairs(translator, [Pair(*pair) for pair in wrong])
    assert sum(s.alignment for s in good) > sum(s.alignment for s in bad)
    assert all(0 <= score.alignment <= 1 for score in good + bad)
    with pytest.raises(regard.InputError, match="say what the model is to drop"):
        regard.data.clean(path, tmp_path / "kept.tsv", model=folder)


def test_both_engines_score_alike_and_one_without_torch(tmp_path_factory):
    folder = trained("en-fr", tmp_path_factory)
    right = taught("en-fr")
    pairs = [Pair(s, right[n // 2][1]) for n, (s, _) in enumerate(right)]
    pairs += [Pair("The cat " * 60, "Le chat"), Pair(right[0][0], "xyzzy")]
    fast, slow = (
        regard.load(folder, threads=1, engine=engine, precision="fp32")
        for engine in ("ctranslate2", "torch")
    )
    ours = score_pairs(fast, pairs, alignment=False)
    theirs = score_pairs(slow, pairs, alignment=False)
    assert ours[-2] is theirs[-2] is None
    for one, other in zip(ours, theirs, strict=True):
        if one is not None:
            assert one.probability == pytest.approx(other.probability, abs=1e-5)
    for one, other in zip(score_pairs(fast, pairs[:4]), score_pairs(slow, pairs[:4]), strict=True):
        assert one == pytest.approx(other, abs=1e-5)
    told = (
        "import sys, regard\nfrom regard.corpus.pairs import Pair\n"
        "from regard.tasks.data.pair_scores import score_pairs\n"
        f"model = regard.load({str(folder)!r}, threads=1, precision='fp32')\n"
        "(score,) = score_pairs(model, [Pair('The cat.', 'Le chat.')], alignment=False)\n"
        "assert score.probability\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", told], check=True)


def test_a_window_is_read_while_the_one_before_is_scored(tmp_path_factory, monkeypatch):
    """The order and the faults are those of one window."""
    model = ModelCheck(regard.load(trained("en-fr", tmp_path_factory), threads=1), 0.5)
    right = taught("en-fr")
    right = [*right, (right[0][0], right[1][1]), right[3]]
    raw = [RawPair(s, t, "f", n) for n, (s, t) in enumerate(right)]
    read = []

    def pairs():
        for pair in raw:
            read.append(pair)
            yield pair

    whole = list(judge(raw, model=model))
    assert {pair.reason for pair in whole} == {None, "probability", "duplicate"}
    monkeypatch.setattr(sys.modules["regard.tasks.data.clean"], "WINDOW", 5)
    windows = judge(pairs(), model=model)
    first = next(windows)
    assert len(read) == 10
    for one, other in zip([first, *windows], whole, strict=True):
        assert one[:2] == other[:2]
        assert one.score == pytest.approx(other.score)


def test_the_alignment_score():
    import numpy as np

    assert alignment_score(np.eye(3)) == 1
    assert alignment_score(np.full((2, 4), 0.25)) == pytest.approx(0.25)
    assert alignment_score(np.zeros((0, 3))) == 0
