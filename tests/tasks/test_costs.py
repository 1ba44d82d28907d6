"""What the attention of a model costs: counted against the networks themselves."""

import json

import pytest

from regard import load
from regard.cli import main
from regard.errors import InputError
from regard.tasks.costs import model_costs
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
