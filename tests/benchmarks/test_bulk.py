"""`python -m benchmarks bulk` and `files`: short real runs."""

import json

import pytest

from benchmarks.__main__ import main
from trained import taught, trained


def test_too_few_lines_to_compare(capsys):
    assert main(["bulk", "--lines", "10"]) == 2
    assert "--lines must be at least 20000, got 10" in capsys.readouterr().err


@pytest.mark.slow
def test_memory_and_speed_of_a_short_run(tmp_path_factory, capsys):
    model = trained("en-fr", tmp_path_factory)
    main(["bulk", "--lines", "20000", "--model", str(model), "--json"])
    memory, speed = json.loads(capsys.readouterr().out)
    assert memory["ours"] >= memory["peer"] > 50
    assert memory["ratio"] < 1.5  # the bar is for a million lines
    assert speed["ours"] > 0


def test_files_need_a_model_and_text(capsys):
    assert main(["files"]) == 2
    assert "--model DIR --source FILE" in capsys.readouterr().err


@pytest.mark.slow
def test_a_file_is_translated_by_both(tmp_path, tmp_path_factory, capsys):
    model, source = trained("pieces", tmp_path_factory), tmp_path / "lines.en"
    source.write_text("".join(f"{text}\n" for text, _ in taught("en-fr")), "utf-8")
    main(
        [
            "files",
            "--model",
            str(model),
            "--source",
            str(source),
            "--lines",
            "20",
            "--repeats",
            "1",
            "--only",
            "a file with a placeholder",
            "--json",
        ]
    )
    (row,) = json.loads(capsys.readouterr().out)
    assert row["ours"] > 0 and row["ratio"] == pytest.approx(row["ours"] / row["peer"])
