"""What cannot be exported says so, naming the setting, and writes nothing."""

import pytest

from regard.cli import main
from trained import trained

REFUSED = [
    ({"attention": "local"}, "onnx", "model.attention local"),
    ({"normalizer": "sparsemax"}, "onnx", "model.normalizer sparsemax"),
    ({"activation": "mish"}, "onnx", "model.activation mish"),
    ({"positions": "rotary"}, "huggingface", "model.positions rotary"),
    ({"positions": "learned"}, "huggingface", "model.positions learned"),
    ({"positions": "rotary"}, "ctranslate2", "model.positions rotary"),
]


@pytest.mark.parametrize(("settings", "to", "named"), REFUSED, ids=str)
def test_a_setting_that_the_format_lacks(make_model, tmp_path, capsys, settings, to, named):
    if "attention" in settings:
        from regard.config.mechanisms import LocalSettings

        settings = {"attention": LocalSettings(window=8)}
    make_model(**settings)
    refused(tmp_path / "model", to, tmp_path, capsys, named)


@pytest.mark.parametrize("to", ["onnx", "huggingface", "ctranslate2"])
def test_other_kinds_and_tokens(tmp_path, tmp_path_factory, capsys, to):
    refused(trained("rnn", tmp_path_factory), to, tmp_path, capsys, "model.kind rnn")
    if to == "huggingface":
        words = trained("en-fr", tmp_path_factory)
        refused(words, to, tmp_path, capsys, "text.unit word")


def refused(model, to, tmp_path, capsys, named):
    capsys.readouterr()
    words = ["export", "--model", model, "--to", to, "--out", tmp_path / "out"]
    assert main([str(word) for word in words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("regard: ") and named in error and error.count("\n") == 1
    assert not list(tmp_path.glob("*out*")) and not list(tmp_path.glob(".*out*"))
