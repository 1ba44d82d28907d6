"""Results that `python -m benchmarks … --keep DIR` keeps for the documentation."""

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.results import about_run, command, keep_rows, read_runs
from benchmarks.subjects import SUBJECTS
from regard.bench.row import Row
from regard.errors import InputError

FIRST = [Row("a step", 1.0, 2.0, 0.5, "<=", 1.0), Row("a race", 3.0, 2.0, 1.5, ">=", 2.0)]
AGAIN = [Row("a race", 5.0, 2.0, 2.5, ">=", 2.0)]


def test_a_run_says_how_and_where_it_was_made(tmp_path):
    path = keep_rows(tmp_path, "train", about_run(["train", "--keep", str(tmp_path)]), FIRST)
    values = json.loads(path.read_text("utf-8"))
    assert (path.name, values["subject"]) == ("train.json", "train")
    (run,) = values["runs"]
    assert run["command"] == "python -m benchmarks train"
    assert run["processor"] and run["cores"] >= 1 and run["torch"] and run["date"]
    assert run["rows"] == [row.as_json() for row in FIRST]


def test_rows_measured_again_replace_those_before(tmp_path):
    keep_rows(tmp_path, "train", about_run(["train"]), FIRST)
    path = keep_rows(tmp_path, "train", about_run(["train", "--only", "race"]), AGAIN)
    first, second = read_runs(path)
    assert [row["name"] for row in first["rows"]] == ["a step"]
    assert [(row["name"], row["holds"]) for row in second["rows"]] == [("a race", True)]
    keep_rows(tmp_path, "train", about_run(["train"]), FIRST)
    assert len(read_runs(path)) == 1


def test_the_command_has_no_path_of_this_machine(tmp_path):
    (tmp_path / "multi30k").mkdir()
    words = ["decode", "--data", str(tmp_path / "multi30k"), "--only", "over bare", "--json"]
    assert command([*words, f"--keep={tmp_path}"]) == (
        "python -m benchmarks decode --data multi30k --only 'over bare'"
    )
    assert str(tmp_path) not in command(["decode", f"--data={tmp_path / 'multi30k'}"])


def test_what_cannot_be_kept(tmp_path, capsys):
    assert main(["attention", "--keep", str(tmp_path / "missing")]) == 2
    assert "not a folder" in capsys.readouterr().err
    (tmp_path / "train.json").write_text("[]")
    with pytest.raises(InputError, match="not a file of benchmark results"):
        keep_rows(tmp_path, "train", about_run(["train"]), FIRST)
    assert (tmp_path / "train.json").read_text() == "[]"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_subject_is_a_command(subject, capsys):
    with pytest.raises(SystemExit) as stop:
        main([subject, "--help"])
    assert not stop.value.code and "--keep" in capsys.readouterr().out
