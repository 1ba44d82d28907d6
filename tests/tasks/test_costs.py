"""What the attention of a model costs: counted against the networks themselves."""

import json

import pytest
import torch

from regard import load
from regard.attention import MultiHead
from regard.attention.mechanisms import Local, Sparse
from regard.cli import main
from regard.config import TransformerSettings
from regard.config.mechanisms import (
    MECHANISM_SETTINGS,
    FullSettings,
    LocalSettings,
    ReformerSettings,
    SparseSettings,
)
from regard.errors import InputError
from regard.tasks.costs import layer_products, model_costs
from trained import trained


@pytest.mark.parametrize("name", ["en-fr", "rnn", "lm"])
def test_parameters_are_those_of_the_network(name, tmp_path_factory):
    folder = trained(name, tmp_path_factory)
    costs, network = model_costs(folder), load(folder).network
    named = {n: p.numel() for n, p in network.named_parameters()}
    assert costs.parameters == sum(named.values())
    aligned = [n for n in named if ".attention." in n or ".cross." in n]
    assert costs.alignment == sum(named[n] for n in aligned) > 0
    assert 0 < costs.rest < costs.parameters
    assert costs.alignment_products < costs.products
    longer = model_costs(folder, length=50)
    assert longer.parameters == costs.parameters and longer.products > costs.products


MECHANISMS = ["full", "blockwise", "local", "sparse", "linear", "performer", "linformer"]


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_simple_mechanism_is_counted(name):
    attention = MECHANISM_SETTINGS[name]()
    decoder = FullSettings() if name == "linformer" else "same"
    model = TransformerSettings(attention=attention, decoder_attention=decoder, max_length=1024)

    def products(length, causal=False):
        return layer_products(attention, model, length, causal=causal)

    full = 2 * model.dim * 1024
    assert products(1024) == full if name in ("full", "blockwise") else products(1024) < full
    if attention.facts.causal:
        assert products(1024, causal=True) <= products(1024)
    growth = products(8192) / products(4096)  # as its facts say, up to the constant part
    assert growth == pytest.approx(2 ** (attention.facts.growth - 1), rel=0.3)


def test_patterns_are_counted_as_they_are_masked():
    """The average number of visible keys, the edges of the text aside."""
    model = TransformerSettings(dim=8, num_heads=1, max_length=400)
    for settings, mechanism in (
        (LocalSettings(window=9), Local(9)),
        (SparseSettings(stride=20), Sparse("strided", 20)),
        (SparseSettings(pattern="fixed", stride=20, summary=2), Sparse("fixed", 20, 2)),
    ):
        layer = MultiHead(8, num_heads=1, mechanism=mechanism)
        maps = layer(torch.randn(1, 400, 8), weights=True).weights[0, 0]
        counted = layer_products(settings, model, 400, causal=False) / 2 / 8
        assert counted == pytest.approx(float((maps > 0).sum(1).float().mean()), rel=0.12)


def test_a_mechanism_that_is_not_counted_says_so():
    model = TransformerSettings(attention=ReformerSettings(), max_length=64)
    assert layer_products(model.attention, model, 20, causal=False) is None


def test_a_recurrent_network_goes_word_by_word(tmp_path_factory):
    ours, rnn = (model_costs(trained(n, tmp_path_factory), 40) for n in ("en-fr", "rnn"))
    assert ours.path == 1 and rnn.path == 40
    assert ours.reading < 40 <= rnn.reading


def test_two_folders_side_by_side(tmp_path_factory, capsys):
    folders = [str(trained(name, tmp_path_factory)) for name in ("en-fr", "rnn")]
    assert main(["info", *folders, "--length", "30", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["length"] == 30
    assert [model["kind"] for model in printed["models"]] == ["transformer", "rnn"]
    assert main(["info", *folders]) == 0
    out = capsys.readouterr().out
    assert "parameters" in out and "of alignment alone" in out and "context" in out


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["nowhere"], "nowhere"),
        (["--length", "9"], "--length is for two folders"),
        (["{model}", "--prune"], "--prune is for one folder"),
    ],
)
def test_bad_input(flags, sentence, tmp_path_factory, capsys):
    folder = str(trained("en-fr", tmp_path_factory))
    assert main(["info", folder, *(flag.format(model=folder) for flag in flags)]) == 2
    assert sentence in capsys.readouterr().err


def test_no_tokens(tmp_path_factory):
    with pytest.raises(InputError, match="length must be at least 1 token, got 0"):
        model_costs(trained("en-fr", tmp_path_factory), 0)
