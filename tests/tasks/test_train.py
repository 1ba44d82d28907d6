"""`regard.train`: from files to a model, in one call."""

import pytest

import regard
from trained import write_corpus


def test_training_from_python(tmp_path):
    """The model comes back ready for use; settings are sections, languages may be names."""
    made = regard.train(
        write_corpus("en-fr", tmp_path),
        languages="English-French",
        out=tmp_path / "model",
        preset="tiny",
        progress=False,
        model={"dim": 16, "num_heads": 2, "ff": 16},
        training={"steps": 2, "tensorboard": False},
    )
    assert isinstance(made, regard.Translator)
    assert made.run.languages == "en-fr" and made.run.model.dim == 16
    assert isinstance(made.translate("The cat sleeps.").text, str)
    with pytest.raises(regard.InputError, match="a model is in it already"):
        regard.train(tmp_path / "en-fr.tsv", out=tmp_path / "model")


@pytest.mark.parametrize("kind", ["transformer", "rnn"])
@pytest.mark.parametrize("unit", ["word", "char", "bpe"])
def test_sentences_that_are_cut_are_validated(tmp_path, unit, kind):
    """Their words are more than their tokens; samples and word links are of what is left."""
    made = regard.train(
        write_corpus("en-fr", tmp_path),
        languages="en-fr",
        out=tmp_path / "model",
        preset="tiny",
        progress=False,
        dev=tmp_path / "en-fr.tsv",
        cleaning={"truncate": True},
        text={"unit": unit},
        model={"kind": kind, "dim": 16, "max_length": 8},
        training={"steps": 2, "validate_every": 1, "tensorboard": False},
    )
    assert made.max_length == 8
    assert (tmp_path / "model" / "samples.jsonl").read_text("utf-8").count("\n") == 2
