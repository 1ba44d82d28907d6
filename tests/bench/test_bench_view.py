"""`regard bench view` as a user runs it; whether bars hold is for a quiet machine to say."""

import json

import pytest

from trained import regard, trained


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_page_and_report_are_measured(tmp_path_factory):
    folder = trained("en-fr", tmp_path_factory)
    done = regard("bench", "view", "--repeats", 1, "--model", folder, "--json")
    assert done.returncode in (0, 1), done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert len(rows) == 5
    assert all(row["ours"] > 0 for row in rows.values())
    assert rows["report of 4,000 tokens: megabytes"]["holds"]


def test_without_a_browser_it_says_so(tmp_path, monkeypatch):
    from regard.bench import view
    from regard.errors import InputError

    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="needs Chromium"), view._tab():
        pass
