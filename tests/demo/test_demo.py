"""The demonstration, for real: training, figures, drawing, page."""

import json
import re
from dataclasses import replace

import pytest

from regard.cli import main
from regard.demo.data import draw_data
from regard.demo.head_ablation import AblationSentences, ablate_heads, all_heads
from regard.demo.settings import BUDGETS
from regard.tasks import load

FIGURES = (
    "exact_match",
    "pronoun_accuracy",
    "sense_accuracy",
    "coreference_accuracy",
    "alignment_error_rate",
)


def run(capsys, out, *words):
    assert main(["demo", "--quick", "--json", "--out", str(out), *words]) == 0
    captured = capsys.readouterr()
    return json.loads(captured.out), captured.err


def check(result, kind, languages):
    assert result["kind"] == kind
    assert result["languages"] == languages
    assert all(0 <= result[name] <= 1 for name in FIGURES)
    assert result["seconds"] > 0
    assert len(result["sentences"]) == 16
    for sentence in result["sentences"]:
        assert sentence["exact"] == (sentence["translation"] == sentence["reference"])
    table = result["coreference_heads"]
    assert max(row["accuracy"] for row in table) == result["coreference_accuracy"]
    assert {row["row"] for row in table} >= {"decoder pronoun cross"}


@pytest.mark.parametrize(
    "minutes",
    [pytest.param(None, marks=pytest.mark.slow, id="quick"), pytest.param(0.02, id="hardly")],
)
def test_transformer(capsys, tmp_path, minutes):
    transformer = tmp_path / "out"
    result, printed = run(capsys, transformer, *(["--minutes", str(minutes)] if minutes else []))
    check(result, "transformer", "en-fr")
    rows = {row["row"] for row in result["coreference_heads"]}
    assert rows == {
        "encoder it",
        "encoder adjective",
        "decoder pronoun cross",
        "decoder pronoun self",
    }
    assert result["alignment"]["layer"] in (0, 1)
    assert "The owl chased the bat." in printed
    assert " train yours.tsv" in printed  # what to do next
    assert re.search(r"exact \d+\.\d %", printed)  # of the development set, while it learns
    assert re.search(r"(Target|Time limit) reached: \d+\.\d% exact after [\d,]+ updates", printed)
    page = (transformer / "demo.html").read_text("utf-8")
    assert "The owl chased the bat." in page
    assert not re.search(r"""(src|href)=["']?https?:""", page)

    # the same model, loaded again: switching heads off, on the real thing
    model = load(transformer / "model")
    data = draw_data("fr", replace(BUDGETS["transformer", True], sentences=2))
    sentences = AblationSentences(model, data.dev[: 10 if minutes else 60])
    heads = all_heads(sentences)
    assert len(heads) == 6 * 4
    plain = sentences.effect([])
    assert 0 <= plain.other_words <= 1 and plain.heads == ()
    without = sentences.effect(heads[:2])
    assert without.heads == tuple(heads[:2]) and 0 <= without.pronouns <= 1
    if minutes:
        return
    assert plain.other_words > 0.2  # it has learned something
    assert sentences.effect(heads).other_words < plain.other_words  # and needs its heads for it
    ablation = ablate_heads(model, data.dev[:30], data.test[:30], "fr")
    assert ablation.random
    assert all(len(e.heads) == len(ablation.dev.heads) for e in ablation.random)
    assert ablation.has_specialized_heads == (
        ablation.dev.pronouns < 0.75 and ablation.dev.other_words >= 0.95
    )


def test_other_files_in_the_folder_are_left_alone(capsys, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    assert main(["demo", "--quick", "--out", str(tmp_path)]) == 2
    assert "other files" in capsys.readouterr().err
    assert (tmp_path / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "series --attention full",
            "--attention belongs to the task grammar, spelling and shapes, not to",
        ),
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
    result, _ = run(capsys, tmp_path / "out", "--kind", kind, "--languages", languages)
    check(result, kind, languages)
