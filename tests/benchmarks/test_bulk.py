"""`python -m benchmarks bulk`: a short real run."""

import json

import pytest

from benchmarks.__main__ import main
from trained import trained


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
