"""`python -m benchmarks` as a user runs it."""

import json
import os
import re
import subprocess
import sys

import pytest

from regard.bench.row import Row, print_table


def run(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *words], capture_output=True, text=True, **options
    )


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["serve", "--help"]])
def test_help(words):
    done = run(*words)
    assert done.returncode == 0 and "python -m benchmarks" in done.stdout


def test_rows_of_a_benchmark(capsys, monkeypatch):
    rows = [Row("a step", 1.0, 2.0, 0.5, "<=", 1.0), Row("a race", 3.0, 2.0, 1.5, ">=", 2.0)]
    assert [row.holds for row in rows] == [True, False]
    for row in rows:
        shown = row.as_json()
        assert list(shown) == ["name", "ours", "peer", "ratio", "bar", "holds"]
        assert shown["ratio"] == pytest.approx(shown["ours"] / shown["peer"])
    monkeypatch.setenv("COLUMNS", "160")
    print_table("benchmarks", rows)
    table = capsys.readouterr().out
    assert re.search(r"a step.*≤ 1", table) and re.search(r"a race.*≥ 2", table)


@pytest.mark.slow
def test_bench_prints_rows():
    words = ["attention", "--only", "single-query step", "--repeats", "1"]
    done = run(*words, "--json")
    rows = json.loads(done.stdout)
    assert len(rows) == 2
    for row in rows:
        assert list(row) == ["name", "ours", "peer", "ratio", "bar", "holds"]
        assert row["ratio"] == pytest.approx(row["ours"] / row["peer"])
        assert row["holds"] == (row["ratio"] <= 1.0)
        assert row["bar"] == "<= 1"
    assert done.returncode == (0 if all(row["holds"] for row in rows) else 1)
    table = run(*words, env={**os.environ, "COLUMNS": "160"}).stdout
    assert re.search(r"Additive single-query step.*≤ 1", table)
