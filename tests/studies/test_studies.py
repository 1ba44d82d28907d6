"""Every study, run quickly from the command line, writes its table, figures and JSON."""

import json
import subprocess
import sys

import pytest

from regard.cli import main
from regard.studies import STUDIES, run_study
from regard.studies.output import restored, stored
from regard.studies.study import StudyOptions

LONG = (
    "alignment",
    "faithful",
    "kernel",
    "length",
    "mask",
)  # over three seconds even when they are quick


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in STUDIES]
)
def test_a_study_runs_and_its_findings_can_be_stored(name, tmp_path):
    options = StudyOptions(quick=True, models=tmp_path)
    about = {"command": "", "date": "", "seconds": 0.0, "quick": True, "seed": 0}
    findings = run_study(name, options)
    values = json.loads(json.dumps(stored(name, findings, about)))
    assert findings.claims
    assert findings.tables
    assert findings.panels
    (tmp_path / "found.json").write_text(json.dumps(values), "utf-8")
    again, _ = restored(tmp_path / "found.json")
    assert json.loads(json.dumps(stored(name, again, about))) == values


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_study_writes_its_files(name, tmp_path, capsys):
    assert main(["study", name, "--quick", "--json", "--out", str(tmp_path)]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["study"] == name
    assert values["claims"]
    for claim in values["claims"]:
        assert all(claim["claimed"])
        assert all(claim["measured"])
        assert isinstance(claim["holds"], bool)
    assert values["tables"]
    assert values["panels"]
    written = {path.name for path in (tmp_path / name).iterdir()}
    endings = (".md", ".png", ".svg", "-dark.png", "-dark.svg", ".json")
    assert written == {f"{name}{ending}" for ending in endings}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder with the results of one quick study."""
    out = tmp_path_factory.mktemp("studies")
    assert main(["study", "scaling", "--quick", "--out", str(out)]) == 0
    return out


def test_results_are_the_same_for_the_same_seed(finished, tmp_path):
    assert main(["study", "scaling", "--quick", "--out", str(tmp_path)]) == 0
    one, other = (
        json.loads((folder / "scaling" / "scaling.json").read_text())
        for folder in (finished, tmp_path)
    )
    for values in (one, other):
        del values["seconds"]
    assert one == other
    assert (finished / "scaling/scaling.png").read_bytes() == (
        tmp_path / "scaling/scaling.png"
    ).read_bytes()


@pytest.mark.needs("cjk-font")
def test_redrawn_in_chinese_without_measuring_again(finished, capsys):
    before = (finished / "scaling/scaling.json").read_bytes()
    arguments = ["study", "scaling", "--redraw", "--language", "zh", "--out", str(finished)]
    assert main(arguments) == 0
    assert "测量结果" in capsys.readouterr().out
    page = (finished / "scaling/scaling.zh.md").read_text("utf-8")
    assert STUDIES["scaling"].title.zh in page
    assert "scaling.zh.png" in page
    assert (finished / "scaling/scaling.json").read_bytes() == before


def test_the_list_names_every_study(capsys):
    assert main(["study", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(STUDIES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nosuch"], "'nosuch'"),
        (["scaling", "--data", "pairs.tsv"], "draws its own data"),
        (["scaling", "--redraw"], "run the study first"),
    ],
)
def test_bad_input_is_one_sentence(arguments, said, tmp_path, capsys):
    assert main(["study", *arguments, "--out", str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_a_file_that_is_no_result_is_one_sentence(tmp_path, capsys):
    (tmp_path / "scaling").mkdir()
    (tmp_path / "scaling" / "scaling.json").write_text("[]")
    assert main(["study", "scaling", "--redraw", "--out", str(tmp_path)]) == 2
    assert "not the results of a study" in capsys.readouterr().err


def test_listing_imports_no_torch():
    code = (
        "import sys; from regard.cli import main; main(['study', 'list']);"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
