"""The benchmark of placeholders and glossaries, on a small model."""

import json

import pytest

from benchmarks.__main__ import main
from trained import taught


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in taught("en-fr")), "utf-8")
    return path


def test_nothing_is_lost_in_silence(trained_folder, pairs, capsys):
    words = ["wording", "--model", trained_folder, "--pairs", pairs, "--number", 4, "--terms", 3]
    main([*map(str, words), "--json"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    silent, flagged, present, change = rows.values()
    assert silent["ours"] == 0 and silent["holds"]
    assert 0 <= flagged["ours"] <= 4
    assert present["ours"] == 100
    assert -100 <= change["ours"] <= 100


def test_what_is_missing_is_said(trained_folder, tmp_path, capsys):
    assert main(["wording", "--model", str(trained_folder)]) == 2
    assert "give --model DIR, and --messages FILE or --pairs" in capsys.readouterr().err
    few = tmp_path / "few.jsonl"
    few.write_text('{"en": "Open %s", "fr": "x"}\n{"en": "Nothing", "fr": "x"}\n', "utf-8")
    assert main(["wording", "--model", str(trained_folder), "--messages", str(few)]) == 2
    assert "there are 1 messages, 1,000 are needed" in capsys.readouterr().err


@pytest.fixture
def trained_folder(tmp_path_factory):
    from trained import trained

    return trained("en-fr", tmp_path_factory)
