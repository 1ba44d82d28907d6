"""ONNX graphs compute what the network computes, for every setting that they can hold."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest

from regard.cli import main
from regard.exchange.onnx_export import export_onnx
from regard.tasks import load
from regard.text import BOS, EOS

SETTINGS = [
    {},
    {"norm": "post", "positions": "learned", "activation": "gelu", "shared": False},
    {"positions": "rotary", "activation": "silu", "tied": "none"},
    {"norm": "post", "positions": "alibi", "activation": "tanh"},
    {"positions": "relative", "shared": False},
    {"positions": "none"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_graphs_are_the_model(make_model, tmp_path, settings):
    proof = export_onnx(make_model(**settings), tmp_path / "out", threads=1, count=6)
    assert (proof.sentences, proof.greedy_equal, proof.beam_equal) == (6, 6, 6)
    assert proof.max_difference < 1e-4


def test_the_files_are_enough_to_translate(make_model, tmp_path):
    """Greedy search written here, over the files alone, is that of `regard.load`."""
    saved = make_model()
    export_onnx(saved, tmp_path / "out", threads=1, count=2)
    about = json.loads((tmp_path / "out" / "export.json").read_text("utf-8"))
    encoder, decoder = (
        onnxruntime.InferenceSession(tmp_path / "out" / f"{name}.onnx")
        for name in ("encoder", "decoder")
    )
    ids = saved.tokenizers.source.encode("The cat sleeps.")
    lengths = np.array([len(ids) + 1])
    memory = encoder.run(None, {"tokens": np.array([[*ids, EOS]]), "lengths": lengths})
    state = {value.name: found for value, found in zip(encoder.get_outputs(), memory, strict=True)}
    for name in list(state):
        empty = np.zeros((1, memory[0].shape[1], 0, memory[0].shape[3]), np.float32)
        state[name.replace("memory", "cache")] = empty
    output, token = [], BOS
    while len(output) < 12:
        step = {"tokens": np.array([token]), "lengths": lengths, **state}
        logits, *caches = decoder.run(None, step)
        names = [value.name.replace("present", "cache") for value in decoder.get_outputs()[1:]]
        state |= dict(zip(names, caches, strict=True))
        logits[0, about["never_generated"]] = -np.inf
        token = int(logits[0].argmax())
        if token == EOS:
            break
        output.append(token)
    own = load(saved.path, threads=1, engine="torch").translate(
        "The cat sleeps.", beam=1, max_length=12
    )
    assert own.sentences[0].hypothesis.tokens == tuple(output)


def test_the_command_prints_and_keeps_the_proof(make_model, tmp_path, capsys):
    make_model()
    words = ["export", "--model", tmp_path / "model", "--to", "onnx", "--out", tmp_path / "out"]
    assert main([*map(str, words), "--json", "--sentences", "9", "--threads", "1"]) == 0
    printed = json.loads(capsys.readouterr().out)
    kept = json.loads((tmp_path / "out" / "export.json").read_text("utf-8"))
    assert kept["proof"] == printed and printed["greedy_equal"] == printed["sentences"]
    shape = onnx.load(tmp_path / "out" / "encoder.onnx").graph.input[0].type.tensor_type.shape
    assert [size.dim_param for size in shape.dim] == ["batch", "source"]
    assert main(list(map(str, words))) == 2  # the folder is there
    assert "files in it already" in capsys.readouterr().err
