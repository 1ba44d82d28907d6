"""`regard train --model.kind handwriting` and `regard write`."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

import regard as package
from regard.cli import main
from regard.tasks.handwriting.strokes.lines import sample
from stroke_files import as_json
from trained import made_once

TINY = [
    "--model.kind",
    "handwriting",
    "--model.dim",
    "16",
    "--model.embedding",
    "8",
    "--model.mixture",
    "2",
    "--model.components",
    "2",
    "--model.max_length",
    "400",
    "--training.batch_tokens",
    "2000",
    "--training.threads",
    "1",
    "--training.precision",
    "fp32",
    "--training.tensorboard",
    "false",
]


def train(*words):
    return main(["train", *TINY, *map(str, words)])


@pytest.fixture(scope="session")
def pen(tmp_path_factory):
    """A model of the built-in strokes, hardly trained."""

    def hardly(folder):
        return train("--model.lines", 60, "--training.steps", 4, "--out", folder)

    return made_once("pen", tmp_path_factory, hardly)


def test_training_leaves_a_whole_folder(pen):
    metrics = json.loads((pen / "metrics.json").read_text("utf-8"))
    assert metrics["train_sentences"] == 60 and metrics["steps"] == 4
    assert 0 <= metrics["dev"]["recognised"] <= 1
    card = (pen / "README.md").read_text("utf-8")
    assert "writes by hand" in card and "regard write" in card and "nats per point" in card
    assert "unit: 0.3" in (pen / "config.yaml").read_text("utf-8")


def test_info_knows_the_command(regard, pen):
    assert "regard write" in regard("info", pen).out


def test_a_resumed_run_ends_with_the_same_weights(pen, tmp_path, capsys):
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    common = ["--model.lines", 40, "--training.schedule", "constant", "--training.warmup", "0"]
    common += ["--training.validate_sentences", "0", "--training.validate_every", 3]
    assert train(*common, "--training.steps", 6, "--out", whole) == 0
    assert train(*common, "--training.steps", 3, "--out", parted) == 0
    assert main(["train", "--resume", str(parted), "--training.steps", "6"]) == 0
    first, second = ((f / "model.safetensors").read_bytes() for f in (whole, parted))
    assert first == second


def test_a_picture_of_the_line(regard, pen, tmp_path):
    out = tmp_path / "line.svg"
    said = regard("write", "attention", "--model", pen, "--out", out, "--seed", 3)
    assert said.code == 0 and "points" in said.err
    root = ElementTree.fromstring(out.read_text("utf-8"))
    assert root.tag.endswith("svg")
    again = tmp_path / "again.svg"
    regard("write", "attention", "--model", pen, "--out", again, "--seed", 3)
    assert again.read_bytes() == out.read_bytes()
    regard("write", "attention", "--model", pen, "--out", again, "--seed", 4)
    assert again.read_bytes() != out.read_bytes()


def test_json_has_strokes_and_alignment(regard, pen):
    found = json.loads(regard("write", "two words", "--model", pen, "--json").out)
    assert found["text"] == "two words" and len(found["strokes"]) == len(found["weights"])
    assert len(found["weights"][0]) == 9 and max(found["characters"]) <= 8
    assert all(lift in (0, 1) for _, _, lift in found["strokes"])


def test_without_a_file_the_terminal_shows_it(regard, pen):
    said = regard("write", "hi", "--model", pen)
    assert any(0x2800 < ord(c) < 0x2900 for c in said.out)


def test_measures_what_is_read_back(regard, pen):
    found = json.loads(regard("write", "--measure", 5, "--model", pen, "--json").out)
    assert found["lines"] == 5 and found["recognised"] == max(0, 1 - found["character_error"])
    assert "characters are read back" in regard("write", "--measure", 2, "--model", pen).out


def test_the_facade(pen):
    writer = package.load(pen)
    line = writer.write("Read", bias=1.0, seed=2)
    assert line.strokes.shape == (len(line.weights), 3) and line.weights.shape[1] == 4
    again = writer.write("Read", bias=1.0, seed=2)
    assert np.array_equal(line.strokes, again.strokes)
    assert set("Read") <= set(writer.alphabet)


def test_bad_input_is_refused(refused, pen, tmp_path):
    assert "regard train --model.kind handwriting" in refused("write", "hi")
    assert "has not learned to write é 字" in refused("write", "é字", "--model", pen)
    assert "give a text" in refused("write", "--model", pen)
    assert "give a text" in refused("write", "hi", "--measure", 2, "--model", pen)
    both = ("--measure", 2, "--out", tmp_path / "line.svg")
    assert "leave --out out" in refused("write", "--model", pen, *both)
    assert "line.svg" in refused("write", "hi", "--model", pen, "--out", tmp_path / "line.png")
    assert "bias" in refused("write", "hi", "--model", pen, "--bias", -1)
    assert "no text" in refused("write", " ", "--model", pen)
    assert "several" in refused("write", "a" * 21, "--model", pen)
    assert "regard write" in refused("translate", "hi", "--model", pen)
    assert "model.stride" in refused("train", *TINY, "--model.stride", 0, "--out", tmp_path / "x")


def test_trains_on_lines_of_a_file(regard, refused, tmp_path):
    mine, out = tmp_path / "mine.jsonl", tmp_path / "own"
    lines = [line for line in sample("train", 30) if len(line.strokes) < 150]
    mine.write_text("\n".join(map(as_json, lines)), "utf-8")
    words = [*TINY, "--training.steps", 2, "--out", out]
    assert regard("train", mine, *words).code == 0
    metrics = json.loads((out / "metrics.json").read_text("utf-8"))
    assert metrics["dev"]["recognised"] is None  # whose letters they are is not known
    some = lines[0].text[:3].strip()
    assert regard("write", some, "--model", out, "--json").code == 0
    mine.write_text('{"text": "a"}\n', "utf-8")
    assert "mine.jsonl, line 1" in refused("train", mine, *TINY, "--out", tmp_path / "no")
