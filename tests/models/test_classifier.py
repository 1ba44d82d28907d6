"""The classifier network: invariances, exact sums, and explanations."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.config import ClassifierSettings
from regard.errors import InputError
from regard.models.classifier import explain
from regard.models.classifier.batch import LabeledBatch, series_batch, text_batch
from regard.models.classifier.inputs import TimeInput
from regard.models.classifier.network import ClassifierModel, centered
from regard.tasks import build

POSITIONS = ("sinusoidal", "learned", "rotary", "alibi", "relative", "none")
SMALL = {
    "dim": 16,
    "num_heads": 2,
    "ff": 24,
    "num_layers": 2,
    "max_length": 32,
    "labels": ("a", "b", "c"),
}
ROWS = [[5, 6, 7, 8, 9], [9, 6], [7]]
CHANNELS = ("x", "y", "z")

every_encoder = pytest.mark.parametrize("encoder", ["transformer", "rnn"])
every_pooling = pytest.mark.parametrize("pooling", ["attention", "mean", "last"])
every_token = pytest.mark.parametrize("tokens", ["time", "channels"])
every_pooled = pytest.mark.parametrize("pooled", ["states", "tokens"])


def of_text(**settings):
    return (
        build(ClassifierSettings(**{**SMALL, "input": "text", **settings}), 13, 13).double().eval()
    )


def of_series(**settings):
    settings = {**SMALL, "input": "series", "channels": CHANNELS, "patch": 4, **settings}
    network = build(ClassifierSettings(**settings), 0, 0).double().eval()
    network.set_scale(torch.tensor([1.0, 0.0, -1.0]), torch.tensor([2.0, 0.0, 1.0]))
    return network


def series(*lengths):
    random = np.random.default_rng(1)
    return [random.standard_normal((3, n)).astype(np.float32) for n in lengths]


def wide(batch):
    return batch._replace(values=batch.values.double())


def networks(**settings):
    """Each kind of input, with a batch of unequal lengths."""
    yield of_text(**settings), text_batch(ROWS, [0, 1, 2])
    for tokens in ("time", "channels"):
        yield of_series(tokens=tokens, kernel=7, **settings), wide(series_batch(series(17, 30, 3)))


@every_encoder
@every_pooling
@every_pooled
@torch.no_grad()
def test_padding_changes_nothing(encoder, pooling, pooled):
    for network, batch in networks(encoder=encoder, pooling=pooling, pooled=pooled):
        together = network.classify(batch)
        for row in range(len(batch.lengths)):
            alone = network.classify(batch.rows(torch.tensor([row])))
            torch.testing.assert_close(alone.logits[0], together.logits[row])
            size = int(together.maps.lengths[row])
            torch.testing.assert_close(
                alone.maps.contributions[0], together.maps.contributions[row, :size]
            )
            assert (together.maps.weights[row, :, size:] == 0).all()


@torch.no_grad()
def test_values_in_the_padding_of_a_series_do_not_matter():
    for tokens in ("time", "channels"):
        network, batch = of_series(tokens=tokens, kernel=7), wide(series_batch(series(17, 30)))
        values = batch.values.clone()
        values[0, :, 17:] = 99.0
        torch.testing.assert_close(network(batch._replace(values=values)), network(batch))


@every_encoder
@every_pooling
@every_pooled
@torch.no_grad()
def test_a_score_is_the_sum_of_its_parts(encoder, pooling, pooled):
    for network, batch in networks(
        encoder=encoder, pooling=pooling, pooled=pooled, num_pooling_heads=2
    ):
        decision = network.classify(batch)
        torch.testing.assert_close(decision.logits, network(batch), rtol=0, atol=0)
        rest = network.output.bias
        if pooling == "attention":
            rest = rest + network.output.weight @ network.pooling.attention.out_proj.bias
        torch.testing.assert_close(decision.maps.contributions.sum(1) + rest, decision.logits)
        sums = decision.maps.weights.sum(-1)
        torch.testing.assert_close(sums, torch.ones_like(sums))


@given(order=st.permutations(range(5)))
@torch.no_grad()
def test_without_positions_the_order_does_not_matter(order):
    text, moments = of_text(positions="none"), of_series(positions="none", patch=1)
    ids = torch.tensor([ROWS[0]])
    batch = text_batch([ROWS[0]])
    torch.testing.assert_close(text(batch._replace(values=ids[:, order])), text(batch))
    batch = wide(series_batch(series(5)))
    torch.testing.assert_close(
        moments(batch._replace(values=batch.values[:, :, order])), moments(batch)
    )


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_with_positions_it_does(positions):
    for network, batch in networks(positions=positions):
        turned = batch.rows(torch.tensor([0]))
        order = [1, 2, 0, 3, 4] if turned.values.ndim == 2 else [1, 2, 0]  # no mirror image
        values = turned.values[:, order]
        if batch.values.ndim == 3:
            if isinstance(network.front, TimeInput):
                continue  # channels in another order say nothing of time
            network.front.mean.zero_()
            network.front.deviation.fill_(1)
        same = torch.allclose(network(turned._replace(values=values)), network(turned))
        assert same == (positions == "none")


@torch.no_grad()
def test_series_are_scaled_as_those_learned_from():
    for tokens in ("time", "channels"):
        network, batch = of_series(tokens=tokens), wide(series_batch(series(20)))
        before = network(batch)
        scale, shift = torch.tensor([[3.0], [1.0], [0.5]]), torch.tensor([[7.0], [0.0], [2.0]])
        network.front.mean.mul_(scale).add_(shift)
        network.front.deviation.mul_(scale)
        torch.testing.assert_close(
            network(batch._replace(values=batch.values * scale + shift)), before
        )


@every_encoder
def test_every_explanation_is_of_the_margin(encoder):
    for network, batch in networks(encoder=encoder):
        decision = network.classify(batch)
        labels = decision.logits.argmax(-1)
        margin = centered(decision.logits).gather(1, labels[:, None])[:, 0]
        parts = explain.contribution(decision, labels)
        assert parts.shape == explain.occlusion(network, batch, labels).shape
        assert parts.shape == explain.attention(decision).shape
        embedded = network.front.embed(batch)
        nothing = network.margins(torch.zeros_like(embedded), batch.lengths)
        base = nothing.gather(1, labels[:, None])[:, 0]
        marks = explain.gradient(network, batch, labels, steps=60)
        assert marks.shape == batch.values.shape
        torch.testing.assert_close(marks.flatten(1).sum(1), margin - base, rtol=1e-2, atol=2e-3)


@every_token
def test_an_occluded_token_loses_its_margin(tokens):
    network, batch = of_series(tokens=tokens), wide(series_batch(series(18, 18)))
    labels = torch.tensor([0, 2])
    lost = explain.occlusion(network, batch, labels)
    mean = network.front.mean
    values = batch.values.clone()
    if tokens == "time":  # a token that is the mean already has nothing to lose
        values[1, :, 8:12] = mean
    else:
        values[1, 2] = mean[2]
    again = explain.occlusion(network, batch._replace(values=values), labels)
    torch.testing.assert_close(again[1, 2], torch.tensor(0.0).double())
    assert abs(float(lost[1, 2])) > 1e-6
    torch.testing.assert_close(again[0], lost[0])


def test_maps_are_those_of_the_encoder_and_the_pooling():
    network, batch = of_text(), text_batch(ROWS)
    maps = network.maps(batch)
    assert [layer_map.kind for layer_map in maps] == ["self", "self", "cross"]
    torch.testing.assert_close(maps[-1].weights[:, :, 0], network.classify(batch).maps.weights)


@torch.no_grad()
def test_recordings_of_brain_waves_fit():
    names = tuple(f"e{n}" for n in range(32))
    x = np.random.default_rng(0).standard_normal((4, 32, 256)).astype(np.float32)
    for tokens in ("time", "channels"):
        settings = {**SMALL, "input": "series", "channels": names, "max_length": 256}
        network = build(ClassifierSettings(**settings, tokens=tokens, patch=8), 0, 0).eval()
        decision = network.classify(series_batch(list(x)))
        assert decision.logits.shape == (4, 3)
        assert decision.maps.weights.shape == (4, 1, 32)
        assert (decision.maps.patch_weights is None) == (tokens == "time")


def test_rows_are_cut_to_the_longest():
    batch = series_batch(series(4, 9), [1, 0])
    part = batch.rows(torch.tensor([0]))
    assert isinstance(part, LabeledBatch) and part.values.shape == (1, 3, 4)
    assert part.answers == 1 and part.costs.tolist() == [4] and part.labels.tolist() == [1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 10, "num_heads": 4}, "model.dim must be a multiple of 4"),
        ({"encoder": "rnn", "positions": "none"}, "a recurrent encoder always sees it"),
        ({"encoder": "rnn", "dim": 7}, "model.dim must be a multiple of 2"),
        ({"patch": 8, "kernel": 4}, "model.kernel must be 0 or at least model.patch"),
        ({"patch": 0}, "model.patch must be at least 1"),
        ({"labels": ("a", "a")}, "must be different names"),
        ({"num_pooling_heads": 3}, r"must be a multiple of 3 \(num_pooling_heads\)"),
        ({"positions": "rotary", "dim": 6, "num_heads": 2}, "rotary positions turn pairs"),
    ],
)
def test_settings_that_do_not_go_together(settings, message):
    with pytest.raises(InputError, match=message):
        ClassifierSettings(**settings)


def test_build_makes_it():
    assert isinstance(of_text(), ClassifierModel)
