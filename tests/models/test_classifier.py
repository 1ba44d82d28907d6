"""The classifier: invariances, exact sums, and every way to say what decided."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.config import ClassifierSettings
from regard.errors import InputError
from regard.models import classifier_why as why
from regard.models.classifier import ClassifierModel, centred
from regard.models.classifier_batch import Labelled, series_batch, texts_batch
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
    network.measure(torch.tensor([1.0, 0.0, -1.0]), torch.tensor([2.0, 0.0, 1.0]))
    return network


def series(*lengths):
    random = np.random.default_rng(1)
    return [random.standard_normal((3, n)).astype(np.float32) for n in lengths]


def wide(batch):
    return batch._replace(values=batch.values.double())


def networks(**settings):
    """Each kind of input, with a batch of unequal lengths."""
    yield of_text(**settings), texts_batch(ROWS, [0, 1, 2])
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
            torch.testing.assert_close(alone.maps.parts[0], together.maps.parts[row, :size])
            assert (together.maps.weights[row, :, size:] == 0).all()


@torch.no_grad()
def test_what_stands_in_the_padding_of_a_series_does_not_matter():
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
        found = network.classify(batch)
        torch.testing.assert_close(found.logits, network(batch), rtol=0, atol=0)
        rest = network.output.bias
        if pooling == "attention":
            rest = rest + network.output.weight @ network.pooling.attention.out_proj.bias
        torch.testing.assert_close(found.maps.parts.sum(1) + rest, found.logits)
        sums = found.maps.weights.sum(-1)
        torch.testing.assert_close(sums, torch.ones_like(sums))


@given(order=st.permutations(range(5)))
@torch.no_grad()
def test_without_positions_the_order_does_not_matter(order):
    text, moments = of_text(positions="none"), of_series(positions="none", patch=1)
    ids = torch.tensor([ROWS[0]])
    batch = texts_batch([ROWS[0]])
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
            if isinstance(network.front, why.Moments):
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
def test_each_answer_to_what_decided_is_of_the_lead(encoder):
    for network, batch in networks(encoder=encoder):
        found = network.classify(batch)
        labels = found.logits.argmax(-1)
        lead = centred(found.logits).gather(1, labels[:, None])[:, 0]
        parts = why.contribution(found, labels)
        assert parts.shape == why.occlusion(network, batch, labels).shape
        assert parts.shape == why.attention(found).shape
        entered = network.front.entered(batch)
        nothing = network.leads(torch.zeros_like(entered), batch.lengths)
        base = nothing.gather(1, labels[:, None])[:, 0]
        marks = why.gradient(network, batch, labels, steps=60)
        assert marks.shape == batch.values.shape
        torch.testing.assert_close(marks.flatten(1).sum(1), lead - base, rtol=1e-2, atol=2e-3)


@every_token
def test_what_is_silenced_is_lost(tokens):
    network, batch = of_series(tokens=tokens), wide(series_batch(series(18, 18)))
    labels = torch.tensor([0, 2])
    lost = why.occlusion(network, batch, labels)
    mean = network.front.mean
    values = batch.values.clone()
    if tokens == "time":  # a token that is the mean already has nothing to lose
        values[1, :, 8:12] = mean
    else:
        values[1, 2] = mean[2]
    again = why.occlusion(network, batch._replace(values=values), labels)
    place = 2
    torch.testing.assert_close(again[1, place], torch.tensor(0.0).double())
    assert abs(float(lost[1, place])) > 1e-6
    torch.testing.assert_close(again[0], lost[0])


def test_maps_are_those_of_the_encoder_and_the_pooling():
    network, batch = of_text(), texts_batch(ROWS)
    maps = network.maps(batch)
    assert [one.kind for one in maps] == ["self", "self", "cross"]
    torch.testing.assert_close(maps[-1].weights[:, :, 0], network.classify(batch).maps.weights)


@torch.no_grad()
def test_recordings_of_brain_waves_fit():
    names = tuple(f"e{n}" for n in range(32))
    x = np.random.default_rng(0).standard_normal((4, 32, 256)).astype(np.float32)
    for tokens in ("time", "channels"):
        settings = {**SMALL, "input": "series", "channels": names, "max_length": 256}
        network = build(ClassifierSettings(**settings, tokens=tokens, patch=8), 0, 0).eval()
        found = network.classify(series_batch(list(x)))
        assert found.logits.shape == (4, 3)
        assert found.maps.weights.shape == (4, 1, 32)
        assert (found.maps.inside is None) == (tokens == "time")


def test_rows_are_cut_to_the_longest():
    batch = series_batch(series(4, 9), [1, 0])
    part = batch.rows(torch.tensor([0]))
    assert isinstance(part, Labelled) and part.values.shape == (1, 3, 4)
    assert part.answers == 1 and part.sizes.tolist() == [4] and part.labels.tolist() == [1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 10, "num_heads": 4}, "model.dim must be a multiple of 4"),
        ({"encoder": "rnn", "positions": "none"}, "a recurrent encoder always sees it"),
        ({"encoder": "rnn", "dim": 7}, "model.dim must be a multiple of 2"),
        ({"patch": 8, "kernel": 4}, "model.kernel must be 0 or at least model.patch"),
        ({"patch": 0}, "model.patch must be at least 1"),
        ({"labels": ("a", "a")}, "names one of them twice"),
        ({"num_pooling_heads": 3}, r"must be a multiple of 3 \(num_pooling_heads\)"),
        ({"positions": "rotary", "dim": 6, "num_heads": 2}, "rotary positions turn pairs"),
    ],
)
def test_settings_that_do_not_go_together(settings, message):
    with pytest.raises(InputError, match=message):
        ClassifierSettings(**settings)


def test_build_makes_it():
    assert isinstance(of_text(), ClassifierModel)
