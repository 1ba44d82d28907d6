"""`python -m benchmarks view` as a user runs it; a busy machine may miss bars."""

import json
import subprocess
import sys

import pytest

from benchmarks.view import measurements
from trained import trained


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_page_and_report_are_measured(tmp_path_factory):
    folder = trained("en-fr", tmp_path_factory)
    words = ["view", "--repeats", "1", "--model", str(folder), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *words], capture_output=True, encoding="utf-8"
    )
    assert done.returncode in (0, 1), done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert set(rows) == {measurement.name for measurement in measurements(1)}
    assert all(row["ours"] > 0 for row in rows.values())
    assert rows["report of 4,000 tokens: megabytes"]["holds"]


def test_without_a_browser_it_says_so(tmp_path, monkeypatch):
    from benchmarks import view
    from regard.errors import InputError

    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="needs Chromium"), view._tab():
        pass
