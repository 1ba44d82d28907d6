"""A run over two processes with ring attention makes the model of one process, in float64."""

import json

import pytest
import torch

from processes import run
from rank_processes import REGARD_IN_FLOAT64, assert_same_run, together, torchrun
from regard.config import LanguageModelSettings, TransformerSettings
from regard.config.processes import check_ranks
from regard.corpus.grammar import sample
from regard.errors import InputError
from regard.models.sequence_parallel import SequenceParallel, SequenceShard, local_labels
from regard.tasks import build

COMMON = (
    "--preset",
    "tiny",
    "--model.dim",
    "16",
    "--model.num_heads",
    "2",
    "--model.ff",
    "32",
    "--model.dropout",
    "0",
    "--text.unit",
    "word",
    "--text.vocab_size",
    "300",
    "--training.precision",
    "fp32",
    "--training.batch_tokens",
    "300",
    "--training.validate_sentences",
    "0",
    "--training.average",
    "none",
    "--training.schedule",
    "constant",
    "--training.warmup",
    "0",
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    pairs = sample("train", 120, language="fr", seed=0)
    (folder / "pairs.tsv").write_text("".join(f"{p.source}\t{p.target}\n" for p in pairs), "utf-8")
    (folder / "lines.txt").write_text("".join(f"{p.source}\n" for p in pairs), "utf-8")
    return folder


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
        "train",
        *common,
        "--model.attention",
        "ring",
        "--training.steps",
        str(stop or 6),
        "--out",
        str(tmp_path / "two"),
        code=REGARD_IN_FLOAT64,
    )
    assert code == 0, errors
    if stop:
        words = ("train", "--resume", str(tmp_path / "two"), "--training.steps", "6")
        code, errors = start(*words, code=REGARD_IN_FLOAT64)
        assert code == 0, errors
    done = run(
        "train",
        *common,
        "--training.steps",
        "6",
        "--training.threads",
        "1",
        "--out",
        str(tmp_path / "one"),
        code=REGARD_IN_FLOAT64,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "one" / "metrics.json").read_text())["steps"] == 6
    assert_same_run(tmp_path / "one", tmp_path / "two")


def test_a_ring_needs_ranks(monkeypatch):
    with pytest.raises(InputError, match="torchrun"):
        check_ranks(LanguageModelSettings(attention="ring"))
    check_ranks(LanguageModelSettings())
    monkeypatch.setenv("WORLD_SIZE", "2")
    check_ranks(LanguageModelSettings(attention="ring"))
    check_ranks(TransformerSettings(attention="ring", decoder_attention="ring"))
    check_ranks(LanguageModelSettings())  # the processes share the rows of each batch
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
    network = build(LanguageModelSettings(dim=8, num_heads=2, num_layers=1, ff=8), 20, 20)
    assert local_labels(network, tokens) is tokens
    assert local_labels(SequenceParallel(network, SequenceShard(1, 3)), tokens).equal(parts[1])
