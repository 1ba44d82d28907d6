"""`python -m benchmarks quality`: what is held out, and what is evaluated."""

import json

from benchmarks.__main__ import main
from benchmarks.quality import HELD_OUT, HeldOut
from trained import taught, trained


def test_needs_the_corpora(capsys):
    assert main(["quality"]) == 2
    assert "--data is missing" in capsys.readouterr().err


def test_no_english_sentence_is_on_both_sides(tmp_path):
    path = tmp_path / "tatoeba" / "en-fr.tsv"
    path.parent.mkdir()
    rows = [f"sentence {n // 3}\tphrase {n}\tattribution\n" for n in range(7000)]
    path.write_text("".join(rows), "utf-8")
    corpus = HeldOut(path, "en-fr", tmp_path / "out")
    (train,), (test,) = corpus.files()
    lines = [file.read_text("utf-8").splitlines() for file in (train, test)]
    assert sum(map(len, lines)) == len(rows) and abs(len(lines[1]) - HELD_OUT) < 3
    english = [{line.split("\t")[0] for line in part} for part in lines]
    assert not english[0] & english[1]
    assert corpus.files() == ([train], [test])  # kept


def test_a_model_that_is_there_is_evaluated(tmp_path, tmp_path_factory, capsys):
    folder = tmp_path / "multi30k-en-de"
    folder.mkdir()
    for side, texts in zip(("en", "de"), zip(*taught("en-fr"), strict=True), strict=True):
        (folder / f"test_2016_flickr.{side}").write_text("\n".join(texts) + "\n", "utf-8")
    out = tmp_path / "out"
    out.mkdir()
    (out / "multi30k").symlink_to(trained("en-fr", tmp_path_factory))
    words = ["quality", "--data", str(tmp_path), "--out", str(out), "--only", "de, lower"]
    assert main([*words, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["ours"] > 90 and row["holds"]
