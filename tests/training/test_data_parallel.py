"""Processes that share the rows of every batch make the updates that one process makes.

Runs that are compared are in float64: what is left then is the order of sums (`rank_processes`).
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from processes import run
from rank_processes import (
    IN_FLOAT64,
    REGARD_IN_FLOAT64,
    TRAIN_EACH,
    assert_same_run,
    ended,
    start_ranks,
    torchrun_command,
)
from regard.corpus.grammar import sample
from regard.training.processes.ranks import meeting

SMALL = (
    "--preset tiny --training.precision fp32 --training.threads 2 --training.tensorboard false "
    "--training.validate_sentences 0 --training.warmup 0 --training.steps 3"
)
TEXT = f"{SMALL} --training.batch_tokens 300 --text.unit word --text.vocab_size 300"
HEADS = "--model.dim 16 --model.num_heads 2 --model.ff 32"
KINDS = {
    "transformer": f"pairs.tsv --languages en-fr {TEXT} {HEADS} --model.dropout 0.3",
    "guided": f"pairs.tsv --languages en-fr {TEXT} {HEADS} --training.guided_alignment auto "
    "--training.guide encoder:0:1=antecedents --training.guide_weight 1",
    "muon": f"pairs.tsv --languages en-fr {TEXT} {HEADS} --training.optimizer muon "
    "--training.accumulate 2 --training.average checkpoints",
    "rnn": f"pairs.tsv --languages en-fr {TEXT} --model.kind rnn --model.dim 16 "
    "--model.embedding 16",
    "lm": f"lines.txt --model.kind lm {SMALL} --training.batch_tokens 24 --text.unit word "
    f"--text.vocab_size 300 {HEADS} --training.steps 6",  # batches of one sentence, and of two
    "mlm": f"lines.txt --model.kind mlm {TEXT} {HEADS}",
    "classifier": f"labeled.tsv --model.kind classifier {SMALL} {HEADS} --text.unit word "
    "--training.batch_tokens 200",
    "handwriting": f"--model.kind handwriting {SMALL} --model.dim 16 --model.lines 12",
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parallel")
    pairs = sample("train", 60, language="fr", seed=0)
    rows = {
        "pairs.tsv": [f"{pair.source}\t{pair.target}" for pair in pairs],
        "lines.txt": [pair.source for pair in pairs],
        "labeled.tsv": [f"{'ab'[n % 2]}\t{pair.source}" for n, pair in enumerate(pairs)],
        "pairs.antecedents": [
            " ".join(f"{note.pronoun}-{note.antecedent}" for note in pair.coreference)
            for pair in pairs
        ],
    }
    for name, lines in rows.items():
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def commands(names, folder, *more):
    return json.dumps(
        [[*KINDS[name].split(), *more, "--out", f"{folder}/{name}"] for name in names]
    )


@pytest.fixture(scope="module")
def one(corpus):
    """A function that returns the folder of the models that one process makes with two threads."""
    made = set()

    def folder(names):
        if missing := [name for name in names if name not in made]:
            done = run(commands(missing, corpus / "one"), code=IN_FLOAT64 + TRAIN_EACH, cwd=corpus)
            assert done.returncode == 0, done.stderr
            made.update(missing)
        return corpus / "one"

    return folder


ALL = pytest.param(tuple(KINDS), marks=pytest.mark.slow)
FAST = tuple(name for name in KINDS if name != "handwriting")


@pytest.mark.parametrize("names", [FAST, ALL])
def test_two_processes_make_the_model_that_one_makes_with_two_threads(corpus, one, tmp_path, names):
    """Every kind of model, with dropout, uneven batches, and batches of a single row."""
    codes, errors = ended(
        start_ranks(commands(names, tmp_path), code=IN_FLOAT64 + TRAIN_EACH, cwds=[corpus] * 2)
    )
    assert codes == [0, 0], errors
    for name in names:
        assert_same_run(one(names) / name, tmp_path / name)


@pytest.mark.parametrize("names", [("transformer", "guided"), ALL])
def test_processes_with_parts_of_the_weights_make_the_same_model(corpus, one, tmp_path, names):
    words = commands(names, tmp_path, "--training.shard", "fsdp")
    codes, errors = ended(start_ranks(words, code=IN_FLOAT64 + TRAIN_EACH, cwds=[corpus] * 2))
    assert codes == [0, 0], errors
    for name in names:
        assert_same_run(one(names) / name, tmp_path / name)


@pytest.mark.slow
def test_parts_that_two_processes_saved_are_loaded_by_one_and_by_three(corpus, tmp_path):
    """And those of one by two; the weights are the same however many processes there are."""
    steps = "--training.steps"
    common = (
        *KINDS["muon"].split(),
        "--model.dropout",
        "0",
        "--training.average",
        "ema",
        "--training.muon_period",
        "1",
        "--training.schedule",
        "constant",
    )
    first = [*common, "--training.shard", "fsdp", steps, "2", "--out", str(tmp_path / "two")]
    codes, errors = ended(
        start_ranks(json.dumps([first]), code=IN_FLOAT64 + TRAIN_EACH, cwds=[corpus] * 2)
    )
    assert codes == [0, 0], errors
    assert len([*(tmp_path / "two/checkpoints/step-2").glob("*.safetensors")]) == 2
    for name in ("by-one", "by-three"):
        shutil.copytree(tmp_path / "two", tmp_path / name)
    again = ["--resume", str(tmp_path / "by-three"), steps, "4"]
    codes, errors = ended(start_ranks(json.dumps([again]), code=IN_FLOAT64 + TRAIN_EACH, number=3))
    assert codes == [0, 0, 0], errors
    for words in (["--resume", tmp_path / "by-one"], [*common, "--out", tmp_path / "one"]):
        done = run("train", *words, steps, "4", code=REGARD_IN_FLOAT64, cwd=corpus)
        assert done.returncode == 0, done.stderr
    for name in ("by-one", "by-three"):
        assert_same_run(tmp_path / "one", tmp_path / name)
    again = ["--resume", str(tmp_path / "one"), "--training.shard", "fsdp", steps, "5"]
    codes, errors = ended(start_ranks(json.dumps([again]), code=IN_FLOAT64 + TRAIN_EACH))
    assert codes == [0, 0], errors
    words = ("train", "--resume", tmp_path / "by-one", steps, "5")
    done = run(*words, code=REGARD_IN_FLOAT64)
    assert done.returncode == 0, done.stderr
    assert_same_run(tmp_path / "one", tmp_path / "by-one")


def test_an_error_of_one_process_ends_all_and_is_told_once(corpus, tmp_path):
    words = [*KINDS["transformer"].split(), "--out", "model"]
    missing = ["absent.tsv", *words[1:]]
    codes, errors = ended(start_ranks("train", *missing, cwds=[corpus, corpus]))
    assert codes == [2, 2]
    assert "absent.tsv" in errors[0] and not errors[1].strip()
    codes, errors = ended(start_ranks("train", *words, cwds=[corpus, tmp_path]))
    assert codes == [2, 2]
    assert "model" in errors[1].strip().splitlines()[-1]
    assert "Traceback" not in "".join(errors)


LONG = (
    *KINDS["transformer"].split(),
    "--training.steps",
    "100000",
    "--training.checkpoint_minutes",
    "0",
)


def wait_for(path, ranks):
    while not path.exists():
        assert all(rank.poll() is None for rank in ranks), "it ended by itself"
        time.sleep(0.01)


def test_a_signal_to_any_process_stops_and_saves_the_run(corpus, tmp_path):
    ranks = start_ranks("train", *LONG, "--out", tmp_path / "model", cwds=[corpus] * 2)
    wait_for(tmp_path / "model" / "latest", ranks)
    ranks[1].send_signal(signal.SIGTERM)
    codes, errors = ended(ranks)
    assert codes == [130, 0]
    assert "all is saved" in errors[0]


def test_a_killed_process_ends_the_others(corpus, tmp_path):
    ranks = start_ranks("train", *LONG, "--out", tmp_path / "model", cwds=[corpus] * 2)
    wait_for(tmp_path / "model" / "latest", ranks)
    ranks[1].kill()
    codes, errors = ended(ranks)
    assert codes == [2, -signal.SIGKILL]
    assert "the connection to another process of this run is lost" in errors[0]
    assert "Traceback" not in errors[0]


def test_processes_of_a_restart_meet_though_the_store_is_that_of_the_attempt_before():
    store = torch.distributed.HashStore()

    def names():
        with ThreadPoolExecutor(3) as pool:
            return set(pool.map(lambda rank: meeting(store, rank, 3), [2, 1, 0]))

    first, second = names(), names()
    assert len(first) == len(second) == 1
    assert first != second


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_torchrun_restarts_and_the_run_goes_on(corpus, tmp_path, victim):
    """The command of the user is repeated by torchrun as it is, with --out."""
    words = [
        *KINDS["transformer"].split(),
        "--training.checkpoint_minutes",
        "0",
        "--training.steps",
        "60",
    ]
    command = torchrun_command(
        "train",
        *words,
        "--out",
        tmp_path / "killed",
        flags=("--max-restarts", "2"),
        code=REGARD_IN_FLOAT64,
    )
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=corpus, env=env)
    kill_one_of(process, victim, tmp_path / "killed" / "latest")
    errors = process.communicate(timeout=300)[1]
    assert process.returncode == 0, errors
    assert "Continuing after update" in errors
    words = ("train", *words, "--out", tmp_path / "whole")
    done = run(*words, code=REGARD_IN_FLOAT64, cwd=corpus)
    assert done.returncode == 0, done.stderr
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


def kill_one_of(process, number, checkpoint):
    """Kill a child of torchrun, once there is a checkpoint."""
    while not checkpoint.exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[number]), signal.SIGKILL)


SRUN = """#!/usr/bin/env bash
shift # --kill-on-bad-exit=1
"$@" & "$@" & wait -n && wait -n
"""
"""In place of Slurm's: it runs the command twice, as on two hosts."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["train_hosts.sh", "train_slurm.sh"])
def test_the_scripts_train_on_two_hosts(corpus, tmp_path, name):
    """Both are this machine, each with a torchrun of its own; a process of one is killed."""
    for tool, text in (("srun", SRUN), ("scontrol", "#!/usr/bin/env bash\necho localhost\n")):
        (tmp_path / tool).write_text(text)
        (tmp_path / tool).chmod(0o755)
    bin_folder = Path(sys.executable).parent
    env = {
        **os.environ,
        "PATH": f"{tmp_path}:{bin_folder}:{os.environ['PATH']}",
        "HOSTS": "2",
        "HEAD": f"localhost:{free_port()}",
        "RUN": "test",
        "PROCESSES": "1",
        "SLURM_NNODES": "2",
        "SLURM_CPUS_PER_TASK": "1",
        "SLURM_JOB_NODELIST": "this,that",
        "SLURM_JOB_ID": str(os.getpid()),
    }
    script = Path(__file__).parents[2] / "examples" / name
    words = [
        *KINDS["transformer"].split(),
        "--training.checkpoint_minutes",
        "0",
        "--training.steps",
        "60",
        "--out",
        str(tmp_path / "model"),
    ]
    hosts = [
        subprocess.Popen([script, *words], stderr=subprocess.PIPE, text=True, cwd=corpus, env=env)
        for _ in range(2 if name == "train_hosts.sh" else 1)
    ]
    if len(hosts) == 2:
        kill_one_of(hosts[1], 0, tmp_path / "model" / "latest")
    errors = [host.communicate(timeout=300)[1] for host in hosts]
    assert [host.returncode for host in hosts] == [0] * len(hosts), "\n".join(errors)
    assert json.loads((tmp_path / "model" / "metrics.json").read_text())["steps"] == 60
    assert len(hosts) == 1 or "Continuing after update" in "".join(errors)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
