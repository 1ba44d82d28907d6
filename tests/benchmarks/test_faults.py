"""`python -m benchmarks faults`: what it reads from a run, and a short real one."""

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.faults.child import one_sentence
from benchmarks.faults.io_cases import chosen
from benchmarks.faults.workspace import continued_step, reported_step, saved_step
from regard.errors import InputError


def test_what_a_run_has_reported(tmp_path):
    said = "step 8  dev loss 6.1  (best)\nstep 16  dev loss 6.2\n"
    assert reported_step(said) == 8
    assert reported_step(said + "Stopped after update 20; all is saved. Continue with:\n") == 20
    assert continued_step("Continuing after update 7.\n") == 7
    assert continued_step("This run has come to its end after 1,200 updates.") == 1200
    assert continued_step("Starting anew.") == 0 and continued_step("") is None
    assert saved_step(tmp_path) == 0
    (tmp_path / "latest").write_text("step-12\n")
    assert saved_step(tmp_path) == 12


@pytest.mark.parametrize(
    "said", ["", "regard: one.\nregard: two.\n", "Traceback …\nregard: one.\n", "regard: no end\n"]
)
def test_what_is_not_one_sentence(said):
    assert one_sentence("a line\nregard: one.\n") == "regard: one."
    with pytest.raises(InputError, match="not one clear sentence"):
        one_sentence(said)


def test_many_writes_of_one_file_are_passed_over():
    names = ["open", *["write a"] * 100, "fsync", "write a", "write b"]
    assert list(chosen(names)) == [1, 2, 42, 82, 102, 103, 104]


@pytest.mark.slow
def test_a_few_kills(capsys):
    assert main(["faults", "--kills", "5", "--only", "sigkill", "--json"]) == 0
    kills, _, lost, unequal, unclear = (row["ours"] for row in json.loads(capsys.readouterr().out))
    assert kills == 5 and lost == unequal == unclear == 0


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["disk", "nan", "corpus"])
def test_other_faults(fault, capsys):
    assert main(["faults", "--only", fault, "--json"]) == 0
    assert [row["ours"] for row in json.loads(capsys.readouterr().out)] == [0]
