"""Training in blocks gives the losses and gradients of the modules, which run when recorded."""

import pytest
import torch

from regard.attention import record
from regard.config import LanguageModelSettings, Run, TransformerSettings
from regard.dropout import dropout_stream
from regard.models.batch import batch_of
from regard.models.lookups import collected_lookups, gradients_of
from regard.tasks import build
from regard.tasks.text.loss import token_loss

SOURCES = [[5, 6, 7, 8], [9, 10], [11, 12, 13]]
TARGETS = [[6, 7], [8, 9, 10, 11, 5], [12]]
SIZES = {"dim": 16, "num_heads": 4, "ff": 24, "positions": "sinusoidal", "activation": "relu"}
DROPOUTS = ({}, {"dropout": 0.3, "attention_dropout": 0.2, "activation_dropout": 0.4})


def settings(kind, **given):
    if kind == "lm":
        return LanguageModelSettings(**SIZES | given, num_layers=2)
    return TransformerSettings(**SIZES | given, num_encoder_layers=2, num_decoder_layers=2)


def gradients(network, batch, *, recorded):
    """The loss and its gradients; the modules compute them while they are recorded."""
    run = Run()
    with dropout_stream(1, 2, 3), collected_lookups() as lookups:
        if recorded:
            with record(network):
                loss = token_loss(run, network, batch, 0.1)
        else:
            loss = token_loss(run, network, batch, 0.1)
    return loss, gradients_of(loss, list(network.parameters()), lookups)


@pytest.mark.parametrize("given", [{}, {"positions": "rotary"}, {"activation": "gelu"}], ids=str)
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("dropouts", DROPOUTS, ids=["plain", "dropout"])
@pytest.mark.parametrize("kind", ["transformer", "lm"])
def test_blocks_have_the_gradients_of_the_modules(kind, dropouts, norm, given):
    torch.manual_seed(0)
    chosen = settings(kind, norm=norm, **({"dropout": 0.0} | dropouts | given))
    network = build(chosen, 20, 20).double().train()
    batch = batch_of(SOURCES if kind == "transformer" else None, TARGETS)
    loss, found = gradients(network, batch, recorded=False)
    reference, expected = gradients(network, batch, recorded=True)
    torch.testing.assert_close(loss, reference, rtol=1e-12, atol=0)
    largest = max(float(part.abs().max()) for part in expected)
    for (name, _), part, other in zip(network.named_parameters(), found, expected, strict=True):
        assert float((part - other).abs().max()) < 1e-12 * largest, name


@pytest.mark.parametrize("factor", [30.0, 1e3, 1e6])
def test_large_scores_do_not_overflow_in_blocks(factor):
    torch.manual_seed(0)
    network = build(settings("transformer", dropout=0.0), 20, 20).double().train()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "query_proj" in name:
                parameter.mul_(factor)
    batch = batch_of(SOURCES, TARGETS)
    loss, found = gradients(network, batch, recorded=False)
    reference, expected = gradients(network, batch, recorded=True)
    torch.testing.assert_close(loss, reference, rtol=1e-9, atol=0)
    largest = max(float(part.abs().max()) for part in expected)
    for part, other in zip(found, expected, strict=True):
        assert float((part - other).abs().max()) < 1e-8 * largest


def test_plain_layers_run_in_blocks_unless_they_are_recorded():
    """So that the test above compares two ways, not one with itself."""
    network = build(LanguageModelSettings(**SIZES, num_layers=2), 20, 20).train()
    for recorded, expected in ((False, 2), (True, 0)):
        loss, _ = gradients(network, batch_of(None, TARGETS), recorded=recorded)
        names = functions_of(loss)
        assert sum("AttentionBlock" in name for name in names) == expected


def functions_of(loss):
    """The names of the backward functions behind a loss."""
    names, waiting, seen = [], [loss.grad_fn], set()
    while waiting:
        function = waiting.pop()
        if function is not None and function not in seen:
            seen.add(function)
            names.append(function.name())
            waiting += [earlier for earlier, _ in function.next_functions]
    return names


def test_without_a_way_for_blocks_the_modules_run():
    """With another activation, position or normalizer."""
    torch.manual_seed(0)
    batch = batch_of(None, TARGETS)
    for given in ({"activation": "silu"}, {"positions": "alibi"}, {"normalizer": "sparsemax"}):
        network = build(settings("lm", **given), 20, 20).double().train()
        loss, found = gradients(network, batch, recorded=False)
        reference, expected = gradients(network, batch, recorded=True)
        torch.testing.assert_close(loss, reference)
        torch.testing.assert_close(found, expected)
