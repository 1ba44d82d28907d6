"""A kind of model that another package registers is trained, loaded and used like ours."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent / "sixth_kind"
ENTRY_POINTS = "[regard.tasks]\nbigram = bigram:KINDS\n"
SETTINGS = (
    "--model.kind bigram --preset tiny --training.learning_rate 0.05 --training.precision fp32 "
    "--training.threads 2 --training.tensorboard false --training.validate_every 20"
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs Python where the package is installed."""
    installed = tmp_path_factory.mktemp("site")
    info = installed / "bigram-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bigram\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    paths = [str(installed), str(PACKAGE), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}

    def run(*words):
        command = [sys.executable, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    return run


def test_its_folder_has_at_most_150_lines():
    files = list((PACKAGE / "bigram").glob("*.py"))
    assert sum(len(file.read_text().splitlines()) for file in files) <= 150


def test_a_kind_from_another_package(run, tmp_path):
    text, folder = tmp_path / "text.txt", tmp_path / "model"
    text.write_text("the cat and the dog and the bee " * 40)
    assert "spell" in run("-m", "regard", "--help").stdout
    assert "bigram" in run("-m", "regard", "train", "--help").stdout
    assert "--model.dim N  (8)" in run(
        "-m", "regard", "train", "--help-all", *SETTINGS.split()[:4]
    ).stdout  # fmt: skip

    words = ("train", text, "--out", folder, *SETTINGS.split(), "--training.steps")
    stopped = run("-m", "regard", *words, "60")
    assert stopped.returncode == 0, stopped.stderr
    assert f"spell '…' --model {folder}" in stopped.stderr
    resumed = run("-m", "regard", "train", "--resume", folder, "--training.steps", "80")
    assert "Continuing after update 60." in resumed.stderr
    assert "continues words" in (folder / "README.md").read_text()

    info = json.loads(run("-m", "regard", "info", folder, "--json").stdout)
    assert (info["kind"], info["command"], info["metrics"]["steps"]) == ("bigram", "spell", 80)
    assert info["model"] == {"dim": 8, "max_length": 64}

    assert run("-m", "regard", "spell", "d", "--model", folder).stdout == "d\n"
    loaded = run("-c", f"import regard; print(regard.load({str(folder)!r}).spell('th'))")
    assert loaded.stdout == "the\n", loaded.stderr
    refused = run("-m", "regard", "translate", "x", "--model", folder)
    assert refused.returncode == 2
    assert "a model of the kind bigram; use it with `regard spell" in refused.stderr


def test_settings_and_the_kind_are_checked(run, tmp_path):
    words = ("-m", "regard", "train", "x.txt", "--out", tmp_path / "m", "--model.kind")
    wrong = run(*words, "bigram", "--model.num_heads", "3")
    assert wrong.returncode == 2 and "belongs to --model.kind transformer" in wrong.stderr
    assert "handwriting, bigram, got 'trigram'" in run(*words, "trigram").stderr
