"""A run over two processes with ring attention makes the same model as one process alone."""

import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from processes import Process
from regard.cli import main
from regard.config import LanguageModelSettings, TransformerSettings
from regard.config.mechanisms import check_ranks
from regard.corpus.grammar import sample
from regard.errors import InputError
from regard.models.sequence_parallel import SequenceShard, shard_of

COMMON = (
    "--preset", "tiny", "--model.dim", "16", "--model.num_heads", "2", "--model.ff", "32",
    "--model.dropout", "0", "--text.unit", "word", "--text.vocab_size", "300",
    "--training.batch_tokens", "300", "--training.validate_sentences", "0",
    "--training.average", "none", "--training.schedule", "constant", "--training.warmup", "0",
)  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    pairs = sample("train", 120, language="fr", seed=0)
    (folder / "pairs.tsv").write_text("".join(f"{p.source}\t{p.target}\n" for p in pairs), "utf-8")
    (folder / "lines.txt").write_text("".join(f"{p.source}\n" for p in pairs), "utf-8")
    return folder


def together(*words):
    """`regard` in two processes with what torchrun gives each: its number and a meeting place."""
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    given = {
        "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }  # fmt: skip
    ranks = [Process(*words, RANK=str(rank), **given) for rank in range(2)]
    errors = [rank.communicate(timeout=120)[1] for rank in ranks]
    return max(abs(rank.returncode) for rank in ranks), "\n".join(errors)


def torchrun(*words):
    """`regard` in two processes that torchrun starts."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2",
               "--master-port", "0", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0",
               "-m", "regard", *words]  # fmt: skip
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("start", "kind", "file", "stop"),
    [
        (together, "transformer", "pairs.tsv", None),
        pytest.param(torchrun, "transformer", "pairs.tsv", None, marks=pytest.mark.slow),
        pytest.param(torchrun, "transformer", "pairs.tsv", 4, marks=pytest.mark.slow),
        pytest.param(torchrun, "lm", "lines.txt", 4, marks=pytest.mark.slow),
    ],
)
def test_two_processes_make_the_model_that_one_makes(corpus, tmp_path, start, kind, file, stop):
    """In one go, or stopped and resumed."""
    common = (str(corpus / file), "--model.kind", kind, *COMMON)
    common = (*common, "--languages", "en-fr") if kind == "transformer" else common
    code, errors = start(
        "train", *common, "--model.attention", "ring", "--training.steps", str(stop or 6),
        "--out", str(tmp_path / "two"),
    )  # fmt: skip
    assert code == 0, errors
    if stop:
        code, errors = start("train", "--resume", str(tmp_path / "two"), "--training.steps", "6")
        assert code == 0, errors
    code = main(
        ["train", *common, "--training.steps", "6", "--training.threads", "1", "--out",
         str(tmp_path / "one")]
    )  # fmt: skip
    assert code == 0
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert one.keys() == two.keys()
    metrics = [
        json.loads((tmp_path / name / "metrics.json").read_text()) for name in ("one", "two")
    ]
    assert metrics[0]["steps"] == metrics[1]["steps"] == 6
    for name, weights in one.items():
        if name.endswith(("attention.key_proj.bias", "cross.key_proj.bias")):
            continue  # softmax does not see it: its gradient is rounding, and Adam makes it large
        torch.testing.assert_close(two[name], weights, atol=2e-4, rtol=1e-3)


def test_a_ring_needs_ranks_and_ranks_need_a_ring(monkeypatch):
    with pytest.raises(InputError, match="torchrun"):
        check_ranks(LanguageModelSettings(attention="ring"))
    check_ranks(LanguageModelSettings())
    monkeypatch.setenv("WORLD_SIZE", "2")
    check_ranks(LanguageModelSettings(attention="ring"))
    check_ranks(TransformerSettings(attention="ring", decoder_attention="ring"))
    with pytest.raises(InputError, match="ring"):
        check_ranks(LanguageModelSettings())
    with pytest.raises(InputError, match="multiple of 2"):
        check_ranks(LanguageModelSettings(attention="ring", positions="learned", max_length=63))
    with pytest.raises(InputError, match="ring"):
        check_ranks(TransformerSettings(attention="ring", decoder_attention="full"))


def test_parts_of_a_sentence():
    tokens = torch.arange(1, 8)[None]
    parts = [SequenceShard(rank, 3).local(tokens) for rank in range(3)]
    assert torch.cat(parts, 1)[:, :7].equal(tokens)
    assert {part.shape for part in parts} == {(1, 3)}
    assert [SequenceShard(rank, 3).offset(7) for rank in range(3)] == [0, 3, 6]
    assert shard_of(torch.nn.Linear(2, 2)) == SequenceShard(0, 1)
