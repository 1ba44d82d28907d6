"""Every kind of model traced: its steps, computed once more in NumPy, make its own output."""

import math

import numpy as np
import pytest
import torch

from recomputed import array, close, head_context, layer_norm, linear, softmax
from regard.attention import trace
from regard.config import (
    ClassifierSettings,
    LanguageModelSettings,
    MaskedLanguageModelSettings,
    RnnSettings,
    TransformerSettings,
)
from regard.models.batch import batch_of
from regard.models.classifier.batch import series_batch, text_batch
from regard.models.classifier.network import ClassifierModel
from regard.models.lm import LanguageModel, MaskedLanguageModel
from regard.models.rnn.model import RnnModel
from regard.models.transformer import TransformerModel
from regard.tasks.handwriting.network import HandwritingModel, StrokeBatch
from regard.tasks.handwriting.settings import HandwritingSettings

PAIRS = batch_of([[5, 6, 7, 8, 9], [9, 6]], [[5, 6, 7], [8, 9, 10, 11, 12, 5]])
TEXTS = batch_of(None, [[5, 6, 7], [8, 9, 10, 11, 12, 5]])
SMALL = {"dim": 16, "num_heads": 2, "ff": 24, "dropout": 0.1}
TWO = {"num_encoder_layers": 2, "num_decoder_layers": 2}


def shaken(network):
    """The network with biases that are not zero, which would hide mistakes."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.ndim == 1 or "bias" in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return network.eval()


def traced(network, batch, **options):
    """The model's output and its trace; looking changes nothing, to the bit."""
    with torch.no_grad():
        blind = network(batch)
        with trace(network, **options) as steps:
            seen = network(batch)
    assert torch.equal(blind, seen)
    return seen, steps


def one(steps, name, **place):
    (step,) = steps.of(name, **place)
    return array(step.tensor)


def check_stack(steps, side, layers, norm):
    """Follow every token from its embedding through a stack of layers; returns the features."""
    x = one(steps, "token", side=side)
    if steps.of("position", side=side):
        x = x + one(steps, "position", side=side)
    for number, layer in enumerate(layers):
        blocks = [("self-attention", layer.around_attention, layer.attention)]
        if layer.cross is not None:
            blocks.append(("cross-attention", layer.around_cross, layer.cross))
        for part, around, attention in blocks:
            place = {"side": side, "part": part, "layer": number}
            close(x, one(steps, "input", **place))
            inner = layer_norm(around.norm, x) if around.pre_norm else x
            heads = range(attention.num_heads)
            if type(attention.positions).__name__ == "Position":
                width = attention.head_dim
                queries = linear(attention.query_proj, inner)
                for head in heads:
                    query = queries[..., head * width : (head + 1) * width]
                    close(query, one(steps, "query", head=head, **place))
            joined = np.concatenate([head_context(steps.of(head=h, **place)) for h in heads], -1)
            output = linear(attention.out_proj, joined)
            close(output, one(steps, "output projection", **place))
            x = x + output
            close(x, one(steps, "residual", **place))
            x = x if around.pre_norm else layer_norm(around.norm, x)
        place, around = (
            {"side": side, "part": "feed-forward", "layer": number},
            layer.around_feed_forward,
        )
        inner = layer_norm(around.norm, x) if around.pre_norm else x
        hidden = activated(layer.feed_forward, linear(layer.feed_forward.inner, inner))
        close(hidden, one(steps, "hidden", **place))
        output = linear(layer.feed_forward.outer, hidden)
        close(output, one(steps, "feed-forward", **place))
        x = x + output
        close(x, one(steps, "residual", **place))
        x = x if around.pre_norm else layer_norm(around.norm, x)
        close(x, one(steps, "next input", **place))
    return layer_norm(norm, x) if hasattr(norm, "weight") else x


def activated(feed_forward, x):
    if feed_forward.activation.__name__ == "relu":
        return np.maximum(x, 0)
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2  # gelu


def check_output(steps, network, features, output):
    logits = linear(network.output, features)
    close(logits, array(output))
    close(logits, one(steps, "logits").reshape(logits.shape))
    close(softmax(logits), one(steps, "probabilities").reshape(logits.shape))
    word = one(steps, "word").reshape(logits.shape[:-1])
    assert (word == array(output).argmax(-1)).all()


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(
    "positions", ["sinusoidal", "learned", "rotary", "alibi", "relative", "none"]
)
def test_transformer(positions, norm):
    settings = TransformerSettings(**SMALL, **TWO, positions=positions, norm=norm)
    network = shaken(TransformerModel(settings, 13, 13))
    output, steps = traced(network, PAIRS)
    memory = check_stack(steps, "encoder", network.encoder.layers, network.encoder.norm)
    for number, layer in enumerate(network.decoder.layers):  # keys are of the encoder's output
        keys = linear(layer.cross.key_proj, memory)
        place = {"part": "cross-attention", "layer": number}
        for head in range(2):
            close(keys[..., head * 8 : head * 8 + 8], one(steps, "keys", head=head, **place))
    features = check_stack(steps, "decoder", network.decoder.layers, network.decoder.norm)
    check_output(steps, network, features, output)


@pytest.mark.parametrize(
    "options",
    [
        {"normalizer": "entmax15"},
        {"normalizer": "sparsemax"},
        {"normalizer": "sigmoid"},
        {"attention": "local"},
        {"attention": "linear"},
        {"attention": "reformer"},
        {"activation": "relu"},
    ],
)
def test_language_models(options):
    settings = dict(SMALL, num_layers=2, max_length=32)
    attention = options.get("attention")
    if attention:
        from regard.config import mechanisms

        made = {
            "local": mechanisms.LocalSettings(2),
            "linear": mechanisms.LinearSettings(),
            "reformer": mechanisms.ReformerSettings(4, 4, 2),
        }[attention]
        options = {"attention": made}
    network = shaken(LanguageModel(LanguageModelSettings(**settings, **options), 13))
    output, steps = traced(network, TEXTS)
    features = check_stack(steps, "decoder", network.layers, network.norm)
    check_output(steps, network, features, output)


def test_masked_language_model():
    network = MaskedLanguageModel(MaskedLanguageModelSettings(**SMALL, num_layers=2), 13)
    output, steps = traced(shaken(network), TEXTS)
    features = check_stack(steps, "encoder", network.layers, network.norm)
    check_output(steps, network, features, output)


def test_steps_of_decoding_are_the_rows_of_the_whole():
    network = shaken(TransformerModel(TransformerSettings(**SMALL, **TWO), 13, 13))
    batch = batch_of([[5, 6, 7]], [[5, 6, 7]])
    _, whole = traced(network, batch, rows={"decoder": 2})
    with torch.no_grad(), trace(network, rows={"decoder": 2}) as steps:
        state = network.start(batch.source)
        for column in batch.inputs.T:
            _, state, _ = network.step(state, column)
    assert {step.side for step in steps} == {"decoder"}
    for step in steps:
        assert not step.rows or step.rows == (2,)
        if step.name in ("logits", "residual", "output projection", "token"):
            place = {"side": step.side, "part": step.part, "layer": step.layer}
            close(array(step.tensor), one(whole, step.name, **place))


ALIGNERS = ["luong", "bahdanau", "location", "coverage", "graves", "monotonic", "none"]


@pytest.mark.parametrize(
    ("attention", "cell"),
    [*((name, "gru") for name in ALIGNERS), ("bahdanau", "lstm"), ("luong", "rnn")],
)
def test_recurrent_networks(attention, cell):
    settings = RnnSettings(
        cell=cell, embedding=8, dim=12, attention_dim=6, attention=attention, num_decoder_layers=2
    )
    check_recurrent(shaken(RnnModel(settings, 13, 13)))


@pytest.mark.parametrize("score", ["dot", "general", "concat"])
def test_scores_of_luong(score):
    settings = RnnSettings(embedding=8, dim=12, attention_dim=6, attention="luong", score=score)
    check_recurrent(shaken(RnnModel(settings, 13, 13)))


def check_recurrent(network):
    output, steps = traced(network, PAIRS)
    state = one(steps, "state", side="decoder")
    previous = one(steps, "previous state")
    close(previous[:, 1:], state[:, :-1])
    context = one(steps, "context")
    token = one(steps, "token", side="decoder")
    attention = getattr(network.decoder, "attention", None)
    if attention is not None:
        states = one(steps, "state", side="encoder")
        values = one(steps, "values")
        close(np.where(values == 0, 0, states), values)
        weights = one(steps, "weights")
        close(weights @ values, context)
        close(weights[..., None] * values[:, None], one(steps, "weighted values"))
        check_energies(steps, attention, previous, values, weights)
        joined = [context, state] if "luong" in repr(type(network.decoder)).lower() else None
        joined = joined or [state, context, token]
    else:
        joined = [state, token]
    joined = np.concatenate(joined, -1)
    close(joined, one(steps, "joined"))
    features = np.tanh(linear(network.decoder.readout, joined))
    close(features, one(steps, "feed-forward"))
    check_output(steps, network, features, output)


def check_energies(steps, attention, previous, values, weights):
    """The energies of the additive aligners, from the previous state on; and their weights."""
    if not steps.of("energies"):
        return head_context(steps.of(part="cross-attention")) is not None
    energies = one(steps, "energies")
    padding = (values == 0).all(-1)[:, None]
    score = getattr(attention, "energy", getattr(attention, "score", None))
    name = type(attention).__name__
    if name == "Content":
        query, key = one(steps, "query"), one(steps, "keys")
        if query.shape[-1] == score.query_dim:
            close(previous, query)
            query = linear(score.query_proj, query)
        hidden = np.tanh(query[:, :, None] + key[:, None])
        close(hidden @ array(score.v), energies)
    if name in ("Coverage", "LocationSensitive"):
        total = np.zeros_like(weights)
        if name == "Coverage":
            total[:, 1:] = weights.cumsum(1)[:, :-1]
            extra = total[..., None] * array(attention.feature_proj)[0]
        else:
            total[:, 1:] = weights[:, :-1]
            width = attention.filters.shape[1]
            wide = np.pad(total, ((0, 0), (0, 0), (width // 2, width // 2)))
            windows = np.stack([wide[..., i : i + total.shape[-1]] for i in range(width)], -1)
            extra = windows @ array(attention.filters).T @ array(attention.feature_proj)
        query = linear(score.query_proj, previous)[:, :, None]
        hidden = np.tanh(query + linear(score.key_proj, values)[:, None] + extra)
        close(np.where(padding, 0, hidden @ array(score.v)), np.where(padding, 0, energies))
    if name == "Graves":
        expected = np.exp(np.where(padding, -np.inf, energies))
    elif name == "Monotonic":  # the first state from the previous one on with an energy above 0
        expected = np.zeros_like(weights)
        for b in range(len(weights)):
            at = 0
            for t in range(weights.shape[1]):
                open_ = [s for s in range(at, values.shape[1]) if energies[b, t, s] > 0]
                open_ = [s for s in open_ if not padding[b, 0, s]]
                if not open_:
                    break
                at = open_[0]
                expected[b, t, at] = 1.0
    else:
        expected = softmax(np.where(padding, -np.inf, energies))
    return close(expected, weights)


def test_the_seven_steps_of_one_word():
    network = shaken(RnnModel(RnnSettings(embedding=8, dim=12, attention_dim=6), 13, 13))
    names = ("previous state", "energies", "weights", "context", "joined", "feed-forward", "word")
    _, steps = traced(network, PAIRS, rows={"decoder": 1}, steps=names)
    assert [step.name for step in steps] == list(names)
    assert all(step.rows == (1,) for step in steps)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"encoder": "rnn"},
        {"pooling": "mean"},
        {"pooling": "last"},
        {"pooled": "tokens"},
        {"num_pooling_heads": 2},
    ],
)
def test_classifiers_of_texts(options):
    settings = ClassifierSettings(**SMALL, num_layers=1, labels=("a", "b", "c"), **options)
    network = shaken(ClassifierModel(settings, 13))
    output, steps = traced(network, text_batch([[5, 6, 7, 8], [9, 6]]))
    if settings.encoder == "transformer":
        check_stack(steps, "encoder", network.encoder.layers, network.encoder.norm)
    context = (
        one(steps, "context", side="pooling")
        if not steps.of("weights", head=0, side="pooling")
        else None
    )
    if context is None:
        pooling = network.pooling.attention
        heads = range(pooling.num_heads)
        joined = [head_context(steps.of(side="pooling", head=head)) for head in heads]
        context = linear(pooling.out_proj, np.concatenate(joined, -1))
    check_output(steps, network, context[:, 0], output)


@pytest.mark.parametrize("tokens", ["time", "channels"])
def test_classifiers_of_series(tokens):
    settings = ClassifierSettings(
        **SMALL,
        num_layers=1,
        labels=("a", "b"),
        input="series",
        channels=("x", "y"),
        patch=4,
        tokens=tokens,
    )
    network = shaken(ClassifierModel(settings, 0))
    rows = [np.random.default_rng(n).normal(size=(2, 16)).astype(np.float32) for n in range(2)]
    _, steps = traced(network, series_batch(rows))
    check_stack(steps, "encoder", network.encoder.layers, network.encoder.norm)


def test_handwriting():
    settings = HandwritingSettings(dim=8, embedding=4, num_layers=2, mixture=2)
    network = shaken(HandwritingModel(settings, 13))
    points = torch.randn(1, 5, 3)
    batch = StrokeBatch(batch_of([[5, 6, 7]], [[5]]).source, points, torch.tensor([5]))
    with torch.no_grad(), trace(network) as steps:
        network(batch)
    weights, values = one(steps, "weights"), one(steps, "values")
    close(np.exp(one(steps, "energies")), weights)
    close(weights @ values, one(steps, "context"))
    close(linear(network.output, one(steps, "joined")), one(steps, "density"))
    with torch.no_grad():
        features = network.features(batch)
    close(array(features), one(steps, "joined"))
