"""The demonstration, for real: training, figures, drawing, page."""

import json
import re

import pytest

from regard.cli import main
from regard.demo.explain import Bench, all_heads, explain
from regard.demo.lesson import BUDGETS, lesson
from regard.tasks import load

FIGURES = (
    "exact_match", "pronoun_accuracy", "sense_accuracy", "coreference_accuracy",
    "alignment_error_rate",
)  # fmt: skip


def run(capsys, out, *words):
    assert main(["demo", "--quick", "--json", "--out", str(out), *words]) == 0
    captured = capsys.readouterr()
    return json.loads(captured.out), captured.err


def check(found, kind, languages):
    assert found["kind"] == kind
    assert found["languages"] == languages
    assert all(0 <= found[name] <= 1 for name in FIGURES)
    assert found["seconds"] > 0
    assert len(found["sentences"]) == 16
    for sentence in found["sentences"]:
        assert sentence["exact"] == (sentence["translation"] == sentence["reference"])
    table = found["coreference_heads"]
    assert max(row["accuracy"] for row in table) == found["coreference_accuracy"]
    assert {row["row"] for row in table} >= {"decoder pronoun cross"}


@pytest.mark.parametrize(
    "minutes",
    [pytest.param(None, marks=pytest.mark.slow, id="quick"), pytest.param(0.02, id="hardly")],
)
def test_transformer(capsys, tmp_path, minutes):
    transformer = tmp_path / "out"
    found, told = run(capsys, transformer, *(["--minutes", str(minutes)] if minutes else []))
    check(found, "transformer", "en-fr")
    rows = {row["row"] for row in found["coreference_heads"]}
    assert rows == {
        "encoder it", "encoder adjective", "decoder pronoun cross", "decoder pronoun self",
    }  # fmt: skip
    assert found["alignment"]["layer"] in (0, 1)
    assert "The owl chased the bat." in told
    assert " train yours.tsv" in told  # what to do next
    assert re.search(r"exact \d+\.\d %", told)  # of the development set, while it learns
    assert re.search(r"(Learned|The time is over): \d+\.\d% exact after [\d,]+ updates", told)
    page = (transformer / "demo.html").read_text("utf-8")
    assert "The owl chased the bat." in page
    assert not re.search(r"""(src|href)=["']?https?:""", page)

    # the same model, loaded again: switching heads off, on the real thing
    model = load(transformer / "model")
    taught = lesson("fr", BUDGETS["transformer", True])
    bench = Bench(model, taught.dev[: 10 if minutes else 60])
    heads = all_heads(model, bench)
    assert len(heads) == 6 * 4
    plain = bench.effect([])
    assert 0 <= plain.others <= 1 and plain.heads == ()
    without = bench.effect(heads[:2])
    assert without.heads == tuple(heads[:2]) and 0 <= without.pronouns <= 1
    if minutes:
        return
    assert plain.others > 0.2  # it has learned something
    assert bench.effect(heads).others < plain.others  # and needs its heads for it
    found_set = explain(model, taught.dev[:30], taught.test[:30], "fr")
    assert found_set.random
    assert all(len(e.heads) == len(found_set.dev.heads) for e in found_set.random)
    assert found_set.found == (found_set.dev.pronouns < 0.75 and found_set.dev.others >= 0.95)


def test_other_files_in_the_folder_are_left_alone(capsys, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    assert main(["demo", "--quick", "--out", str(tmp_path)]) == 2
    assert "other files" in capsys.readouterr().err
    assert (tmp_path / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("series --attention full", "--attention belongs to the task grammar and spelling, not to"),
        ("series --minutes 1", "--minutes belongs to"),
        ("series --out regard-demo", "--out belongs to"),
        ("series --languages en-fr", "--languages belongs to the task grammar, not to series"),
        ("series --explain", "--explain belongs to"),
        ("spelling --languages en-zh", "--languages belongs to"),
        ("spelling --explain", "--explain belongs to"),
        ("spelling --kind transformer", "leave --kind out"),
    ],
)
def test_flags_that_a_task_does_not_take(capsys, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--quick", "--task", *words.split()]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "languages"), [("rnn", "en-fr"), ("transformer", "en-zh"), ("rnn", "en-zh")]
)
def test_the_others(capsys, tmp_path, kind, languages):
    found, _ = run(capsys, tmp_path / "out", "--kind", kind, "--languages", languages)
    check(found, kind, languages)
