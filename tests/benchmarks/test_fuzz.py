"""`python -m benchmarks fuzz`: its targets take their seeds, and what it does with a finding."""

import json
import re
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.fuzz import run
from benchmarks.fuzz.groups import GROUPS
from benchmarks.fuzz.run import FuzzedTarget, bars
from benchmarks.fuzz.target import failure, failure_name
from benchmarks.fuzz.workspace import CurrentInput, Workspace, executions, running_input
from regard.documents.registry import FORMATS
from regard.errors import InputError

NAMES = [(group, name) for group, members in GROUPS.items() for name in members]


@pytest.mark.parametrize(
    ("group", "name"),
    [
        pytest.param(group, name, marks=[pytest.mark.slow] * (group == "folders"))
        for group, name in NAMES
    ],
)
def test_seeds_of_a_target_are_read(group, name, tmp_path):
    target = GROUPS[group][name](tmp_path)
    for seed in target.seeds:
        assert len(seed) <= target.max_bytes
        assert failure(target.read, seed) is None
    target.read(target.seeds[0])  # without an error at all


def test_every_format_of_documents_is_a_target():
    assert set(FORMATS) <= set(GROUPS["documents"])
    assert len({name for _, name in NAMES}) == len(NAMES)


def test_what_counts_as_a_failure():
    def read(data):
        raise {b"a": InputError("no."), b"b": KeyError("x")}[data]

    assert failure(read, b"a") is None and isinstance(failure(read, b"b"), KeyError)
    error = failure(lambda data: re.compile(data.decode()), b"(")
    assert failure_name(error) == f"{type(error).__name__}-outside"


def test_the_running_input_is_known_to_others(tmp_path):
    path = tmp_path / "now"
    assert executions(path) == (0, 0)
    current = CurrentInput(path)
    current.begin(b"one")
    assert executions(path) == (1, 0) and running_input(path) == b"one"
    current.end()
    current.begin(b"")
    assert executions(path) == (2, 1) and running_input(path) == b""


def test_bars(tmp_path):
    target = FuzzedTarget("folders", "rnn", 200)
    assert [row.holds for row in bars([target], 0.5)] == [True, True, True]
    workspace = Workspace(tmp_path, "rnn")
    workspace.create()
    workspace.save_finding("hang-1", b"")
    workspace.save_finding("KeyError-folder-3", b"")
    target.findings = tuple(workspace.findings())
    assert (len(target.hangs), len(target.failures)) == (1, 1)
    assert [row.holds for row in bars([target], 1)] == [False, False, False]


def test_what_cannot_be_fuzzed(tmp_path, capsys):
    for words in (["--group", "x"], ["--only", "no such target"], ["--replay", str(tmp_path)]):
        assert main(["fuzz", *words]) == 2
        assert capsys.readouterr().err.startswith("benchmarks: ")


def test_a_finding_is_executed_again(tmp_path, capsys):
    path = tmp_path / "json.KeyError-json-1"
    path.write_bytes(b"{")
    assert main(["fuzz", "--replay", str(path)]) == 0
    assert "nothing but an input error" in capsys.readouterr().out


FAULTY = """
import re
from benchmarks.fuzz import groups
from benchmarks.fuzz.target import Target

def read(data):
    if data == b"wrong":
        raise KeyError(data)
    if data == b"hang":
        re.search("(a|a)*b", "a" * 40)

groups.GROUPS["documents"] = {"faulty": lambda _: Target(read, [b"", b"wrong", b"hang"])}
"""


@pytest.mark.needs("atheris")
@pytest.mark.slow
def test_findings_are_kept_and_tried_again(tmp_path, monkeypatch):
    """A process of a target with a mistake and a hang, which is put into it at its start."""
    (tmp_path / "sitecustomize.py").write_text(FAULTY)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parents[2]}")
    monkeypatch.setattr(run, "MAX_DEATHS", 1)
    for _ in range(2):
        fuzzed = run.fuzz("documents", "faulty", tmp_path / "corpus", 4)
        assert [path.read_bytes() for path in fuzzed.failures] == [b"wrong"]
        assert [path.read_bytes() for path in fuzzed.hangs] == [b"hang"]
        assert fuzzed.executions


@pytest.mark.needs("atheris")
@pytest.mark.slow
def test_the_whole_command(tmp_path, capsys):
    words = ["fuzz", "--only", "inline-tags", "--minutes", "0.1", "--corpus", str(tmp_path)]
    main([*words, "--json"])
    result = json.loads(capsys.readouterr().out)
    (target,) = result["targets"]
    assert target["executions"] > 0 and target["inputs"] >= 3
    assert target["failures"] == target["hangs"] == []
    assert [row["holds"] for row in result["bars"][1:]] == [True, True]
    assert (tmp_path / "inputs" / "inline-tags").is_dir()
