"""Killed, interrupted, resumed: real processes, and weights that are equal bit for bit."""

import shutil
import signal

import pytest

from processes import run
from regard.cli import main
from regard.folder import load_weights
from trained import write_corpus

FLAGS = (
    "--preset tiny --languages en-fr --text.vocab_size 330 --model.dim 16 --model.num_heads 2 "
    "--model.ff 32 --model.num_encoder_layers 1 --model.num_decoder_layers 1 --model.dropout 0.2 "
    "--model.attention_dropout 0.1 --training.precision fp32 --training.threads 2 "
    "--training.batch_tokens 400 --training.steps 40 --training.validate_every 7 "
    "--training.validate_sentences 2 --training.checkpoint_minutes 0 --training.tensorboard false"
)

KILLER = """
import os, random, signal, sys, threading, time
from pathlib import Path
from regard.cli import main

words, folder, kills = sys.argv[2:], Path(sys.argv[1]), 0
latest, chance = folder / "latest", random.Random(0)
resume = ["train", "--resume", str(folder)]

def newest():
    try:
        return latest.read_text()
    except OSError:
        return None

def kill(before, seconds):
    while newest() == before:  # it has made and saved an update of its own
        time.sleep(0.002)
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)

begun = ["train", *words, "--out", str(folder)]
while kills < 5:
    before, seconds = newest(), chance.random() * 0.03
    child = os.fork()
    if not child:  # it kills itself: another process might wait too long for its turn
        threading.Thread(target=kill, args=(before, seconds), daemon=True).start()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(main(resume if before else begun))
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):  # it was over before the kill
        break
    kills += 1
assert kills >= 3, kills
sys.exit(main(resume))
"""

SIGNALED = """
import os, sys, threading, time
from pathlib import Path
from regard.cli import main

number, folder, *words = sys.argv[1:]

def signal():
    while not Path(folder, "latest").exists():
        time.sleep(0.002)
    os.kill(os.getpid(), int(number))

threading.Thread(target=signal, daemon=True).start()
sys.exit(main(["train", *words, "--out", folder]))
"""
"""A run that sends itself a signal once it has a checkpoint, however busy the machine is."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus("en-fr", tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def uninterrupted(corpus, tmp_path_factory):
    """The folder of a run that nobody stopped."""
    folder = tmp_path_factory.mktemp("run") / "whole"
    assert main(["train", str(corpus), "--out", str(folder), *FLAGS.split()]) == 0
    return folder


def assert_equal(one, other):
    """All weights, moments and running means, and the file of the model."""
    state = "checkpoints/step-40/tensors.safetensors"
    assert (one / state).read_bytes() == (other / state).read_bytes()
    names = load_weights(one / state)
    assert any(name.startswith("optimizer.exp_avg_sq") for name in names)
    assert any(name.startswith("mean.") for name in names)
    assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()


def test_killed_again_and_again_it_ends_as_if_never_stopped(corpus, uninterrupted, tmp_path):
    folder = tmp_path / "killed"
    done = run(folder, corpus, *FLAGS.split(), code=KILLER)
    assert done.returncode == 0, done.stderr
    assert "Continuing after update" in done.stderr
    assert_equal(folder, uninterrupted)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_says_how_to_go_on(corpus, uninterrupted, tmp_path, number):
    folder = tmp_path / "stopped"
    done = run(int(number), folder, corpus, *FLAGS.split(), code=SIGNALED)
    said = done.stderr
    assert done.returncode == 130
    assert "all is saved" in said
    assert f"regard train --resume {folder}" in " ".join(said.split())
    assert "Traceback" not in said
    assert not (folder / "metrics.json").exists()
    assert main(["train", "--resume", str(folder)]) == 0
    assert_equal(folder, uninterrupted)


def test_a_run_that_is_over_can_be_given_more(uninterrupted, tmp_path):
    folder = shutil.copytree(uninterrupted, tmp_path / "more")
    assert main(["train", "--resume", str(folder), "--training.steps", "42"]) == 0
    assert (folder / "checkpoints" / "step-42").is_dir()


def test_a_model_is_not_trained_over(corpus, uninterrupted, capsys):
    before = (uninterrupted / "model.safetensors").read_bytes()
    assert main(["train", str(corpus), "--out", str(uninterrupted), *FLAGS.split()]) == 2
    assert "a model is in it already" in capsys.readouterr().err
    assert (uninterrupted / "model.safetensors").read_bytes() == before
