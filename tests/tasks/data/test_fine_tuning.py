"""`regard train --from`: what is kept of the model, what begins anew, and what does not fit."""

import pytest
import torch

import regard
from regard.cli import main
from regard.config.fine_tuning import RATE
from regard.folder import load_weights
from regard.tasks import load_run
from trained import taught, trained, write_corpus


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained("en-fr", tmp_path_factory)


def train(corpus, model, out, *flags):
    words = ["train", corpus, "--dev", corpus, "--from", model, "--out", out, *flags]
    return main([str(word) for word in words])


def test_the_model_is_kept(model, tmp_path, capsys):
    """After one update with a tiny rate it knows what it knew; its settings are its own."""
    corpus = write_corpus("en-fr", tmp_path)
    flags = ["--training.steps", "1", "--training.learning_rate", "1e-9", "--model.dropout", "0.1"]
    assert train(corpus, model, tmp_path / "tuned", *flags) == 0
    assert f"Starting from {model.resolve()}" in capsys.readouterr().err
    old, new = load_run(model), load_run(tmp_path / "tuned")
    assert (new.model.dim, new.text, new.languages) == (old.model.dim, old.text, "en-fr")
    assert (new.model.dropout, new.training.steps) == (0.1, 1)
    before, after = (load_weights(f / "model.safetensors") for f in (model, tmp_path / "tuned"))
    assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in before)
    names = [path.name for path in model.glob("tokenizer*")]
    assert all((model / n).read_bytes() == (tmp_path / "tuned" / n).read_bytes() for n in names)


def test_new_tags_and_a_new_schedule(model, tmp_path):
    """From Python: a tag is a new last row of the embeddings, the others are as they were."""
    corpus = write_corpus("en-fr", tmp_path)
    tuned = regard.train(
        corpus,
        corpus=f"{corpus}:tag=bt",
        start_from=model,
        out=tmp_path / "tuned",
        dev=corpus,
        progress=False,
        training={"steps": 2, "tensorboard": False},
    )
    assert tuned.run.training.learning_rate == pytest.approx(
        RATE * load_run(model).training.learning_rate
    )
    assert list(tuned.tokenizers.source.tags) == ["<bt>"]
    assert len(tuned.tokenizers.source) == len(regard.load(model).tokenizers.source) + 1
    source, target = taught("en-fr")[0]
    assert tuned.translate(source).text == target
    assert tuned.translate(source, tag="bt").sentences[0].source_tokens[0] == "<bt>"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--model.dim 64", "model.dim is 48 in"),
        ("--text.unit char", "text.unit is word in"),
        ("--preset tiny", "--preset is for a new model"),
        ("--model.kind rnn", "the model is of the kind transformer"),
    ],
)
def test_what_does_not_fit(model, tmp_path, capsys, flags, message):
    corpus = write_corpus("en-fr", tmp_path)
    assert train(corpus, model, tmp_path / "tuned", *flags.split()) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "tuned").exists()
