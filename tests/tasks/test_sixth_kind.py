"""A kind of model that another package registers is trained, loaded and used like ours."""

import json
from pathlib import Path

import pytest

from processes import run as run_process

COMMANDS = """
import contextlib, io, json, sys
from regard.cli import main
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
PACKAGE = Path(__file__).parent / "sixth_kind"
ENTRY_POINTS = "[regard.tasks]\nbigram = bigram:KINDS\n"
SETTINGS = (
    "--model.kind bigram --preset tiny --training.learning_rate 0.05 --training.precision fp32 "
    "--training.threads 2 --training.tensorboard false --training.validate_every 20"
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs regard where the package is installed."""
    installed = tmp_path_factory.mktemp("site")
    info = installed / "bigram-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bigram\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)

    def run(*words, code=None):
        return run_process(*words, code=code, path=[installed, PACKAGE])

    return run


@pytest.fixture(scope="module")
def commands(run):
    """Runs commands of regard in one process; returns their codes, outputs and errors."""

    def commands(*lists):
        done = run(json.dumps([list(map(str, words)) for words in lists]), code=COMMANDS)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return commands


def test_a_kind_from_another_package(run, commands, tmp_path):
    text, folder = tmp_path / "text.txt", tmp_path / "model"
    text.write_text("the cat and the dog and the bee " * 40)
    words = ("train", text, "--out", folder, *SETTINGS.split(), "--training.steps")
    helped, trained, every, stopped = commands(
        ["--help"],
        ["train", "--help"],
        ["train", "--help-all", *SETTINGS.split()[:4]],
        [*words, 60],
    )
    assert "spell" in helped[1] and "bigram" in trained[1]
    assert "--model.dim N  (8)" in every[1]
    assert stopped[0] == 0 and f"spell '…' --model {folder}" in stopped[2]

    resumed = run("train", "--resume", folder, "--training.steps", "80")
    assert "Continuing after update 60." in resumed.stderr
    assert "continues words" in (folder / "README.md").read_text()

    described, spelled, refused = commands(
        ["info", folder, "--json"],
        ["spell", "d", "--model", folder],
        ["translate", "x", "--model", folder],
    )
    info = json.loads(described[1])
    assert (info["kind"], info["command"], info["metrics"]["steps"]) == ("bigram", "spell", 80)
    assert info["model"] == {"dim": 8, "max_length": 64}
    assert spelled[1] == "d\n"
    assert refused[0] == 2
    assert "a model of the kind bigram; use it with `" in refused[2]
    assert "regard spell" in refused[2]
    loaded = run(code=f"import regard; print(regard.load({str(folder)!r}).spell('th'))")
    assert loaded.stdout == "the\n", loaded.stderr


def test_settings_and_the_kind_are_checked(commands, tmp_path):
    words = ["train", "x.txt", "--out", tmp_path / "m", "--model.kind"]
    wrong, unknown = commands([*words, "bigram", "--model.num_heads", 3], [*words, "trigram"])
    assert wrong[0] == 2 and "belongs to --model.kind transformer" in wrong[2]
    assert "handwriting, bigram, got 'trigram'" in unknown[2]
