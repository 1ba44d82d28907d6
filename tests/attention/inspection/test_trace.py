"""`trace`: the steps of every mechanism, score and normalizer, and of models that are not ours."""

import threading

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from families import NORMALIZERS, SCORES
from mechanisms import NAMES, made
from recomputed import array, close, head_context, linear
from regard.attention import (
    Alibi,
    Mask,
    MultiHead,
    NadarayaWatson,
    Rotary,
    SwitchOff,
    attend,
    intervene,
    trace,
)

LENGTH, WIDTH, HEADS = 12, 16, 2
CALL = [
    "query",
    "keys",
    "values",
    "raw scores",
    "scaled",
    "masked",
    "weights",
    "weighted values",
    "context",
]


def traced_layer(layer, x, *more, **options):
    """The layer's output and its trace; looking changes nothing."""
    mask = options.pop("mask", Mask.lengths([LENGTH, LENGTH // 2]))
    with torch.no_grad():
        blind = layer(x, *more, mask=mask).context
        with trace(layer, **options) as traced:
            seen = layer(x, *more, mask=mask).context
    assert torch.equal(blind, seen)
    return seen, traced


def check_heads(traced, output, layer):
    """Every head's steps, joined and projected, make the output."""
    heads = sorted({step.head for step in traced if step.head is not None})
    contexts = [head_context(traced.of(head=head)) for head in heads]
    joined = np.concatenate(contexts, -1)
    close(joined, array(traced.of("heads joined")[0].tensor))
    projected = linear(layer.out_proj, joined)
    close(projected, array(traced.of("output projection")[0].tensor))
    close(projected, array(output))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "ring"])
def test_every_mechanism_that_keeps_a_map(name):
    mechanism = made(name, LENGTH, torch.float32)
    mechanism = type(mechanism)(WIDTH // HEADS) if name in ("reformer", "performer") else mechanism
    layer = MultiHead(WIDTH, HEADS, mechanism=None if name == "full" else mechanism).eval()
    for mask in (Mask.lengths([LENGTH, 5]), Mask.causal()):
        if mask.is_causal and not layer.mechanism.facts.causal:
            continue
        x = torch.randn(2, LENGTH, WIDTH)
        output, traced = traced_layer(layer, x, mask=mask)
        assert {step.side for step in traced} == {"decoder" if mask.is_causal else "encoder"}
        check_heads(traced, output, layer)


def test_a_mechanism_without_a_map_shows_its_context():
    layer = MultiHead(WIDTH, HEADS, mechanism=made("ring", LENGTH, torch.float32)).eval()
    with torch.no_grad(), trace(layer) as traced:
        output = layer(torch.randn(2, LENGTH, WIDTH)).context
    names = ["context", "context", "heads joined", "output projection"]
    assert [step.name for step in traced] == names
    joined = np.concatenate([array(step.tensor) for step in traced.of("context")], -1)
    close(linear(layer.out_proj, joined), array(output))


@pytest.mark.parametrize("name", sorted(NORMALIZERS))
def test_every_normalizer(name):
    if name in ("sigmoid_plain", "sigmoid_given"):
        pytest.skip("the bias of the sigmoid is no step")
    layer = MultiHead(WIDTH, HEADS, normalizer=NORMALIZERS[name]()).eval()
    output, traced = traced_layer(layer, torch.randn(2, LENGTH, WIDTH))
    check_heads(traced, output, layer)


@pytest.mark.parametrize("engine", ["auto", "dense", "blockwise"])
@pytest.mark.parametrize("name", sorted(SCORES))
def test_every_score(name, engine):
    score = SCORES[name]()
    if engine not in ("auto", *score.engines):
        pytest.skip("the score does not run on this engine")
    query, key = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4)
    with torch.no_grad(), trace() as traced:
        output = attend(query, key, key, score=score, engine=engine).context
    for head in range(3):
        steps = traced.of(head=head)
        named = {step.name: array(step.tensor) for step in steps}
        last = next(named[n] for n in ("capped", "scaled", "raw scores", "energies") if n in named)
        expected = array(score(query, key)[:, head])
        shift = (expected - last).mean(-1, keepdims=True)  # the softmax takes no notice of it
        close(last + shift, expected)
        close((named["weights"][..., None] * named["values"][:, None]).sum(-2), named["context"])
        close(named["context"], array(output[:, head]))


@pytest.mark.parametrize(
    "options",
    [
        {"num_kv_heads": 1},
        {"projections": "separate"},
        {"positions": Rotary(WIDTH // HEADS)},
        {"positions": Alibi(HEADS)},
        {"value_head_dim": 3},
        {"out_proj": False},
    ],
)
def test_every_kind_of_layer(options):
    layer = MultiHead(WIDTH, HEADS, **options).eval()
    output, traced = traced_layer(layer, torch.randn(2, LENGTH, WIDTH))
    if options.get("out_proj") is False:
        layer.out_proj = nn.Linear(WIDTH, WIDTH)
        nn.init.eye_(layer.out_proj.weight), nn.init.zeros_(layer.out_proj.bias)
    check_heads(traced, output, layer)
    assert ("biased" in [step.name for step in traced]) == isinstance(
        options.get("positions"), Alibi
    )


def test_only_what_was_asked_for():
    layer, x = MultiHead(WIDTH, HEADS).eval(), torch.randn(2, LENGTH, WIDTH)
    _, everything = traced_layer(layer, x)
    _, some = traced_layer(
        layer, x, rows=[3, 7], heads=1, steps=["weights", "keys", "heads joined"]
    )
    assert [(s.name, s.head, s.rows) for s in some] == [
        ("keys", 1, ()),
        ("weights", 1, (3, 7)),
        ("heads joined", None, (3, 7)),
    ]
    assert some[1].axes == ("batch", "query", "key") and some[1].tensor.shape == (2, 2, LENGTH)
    whole = everything.of("weights", head=1)[0].tensor[:, [3, 7]]
    torch.testing.assert_close(some[1].tensor, whole)
    with pytest.warns(UserWarning, match="trace saw no step"):
        assert len(traced_layer(layer, x, layers=4)[1].of("weights")) == 0
    with pytest.warns(UserWarning, match="trace saw no step"), trace(layer, sides="decoder"):
        layer(x)
    with pytest.raises(ValueError, match="heads must be below 2"):
        traced_layer(layer, x, heads=2)
    with pytest.raises(ValueError, match="rows must be integers from 0"):
        traced_layer(layer, x, rows=-1)


def test_cross_attention_and_a_cache():
    layer, x, memory = MultiHead(8, 2).eval(), torch.randn(1, 4, 8), torch.randn(1, 5, 8)
    with torch.no_grad(), trace(layer, rows=2, heads=0) as traced:
        cache = layer.empty_cache(1)
        for i in range(4):
            step = x[:, i : i + 1]
            cache = layer(step, cache=cache, mask=Mask.causal(corner="bottom-right")).cache
        output = layer(x, memory).context
    own = traced.of("weights", part="self-attention")[0]
    assert own.rows == (2,) and own.tensor.shape == (1, 1, 3)
    across = traced.of("weights", part="cross-attention")[0]
    assert across.tensor.shape == (1, 1, 5)
    last = traced.of("output projection", part="cross-attention")[0]
    assert torch.equal(last.tensor[0, 0], output[0, 2])


def test_an_intervention_is_seen():
    layer, x = MultiHead(8, 2).eval(), torch.randn(1, 4, 8)
    with torch.no_grad(), intervene(layer, SwitchOff(heads=0)), trace(layer) as traced:
        layer(x)
    assert traced.of("context", head=0)[0].tensor.abs().max() == 0
    assert traced.of("heads joined")[0].tensor[..., :4].abs().max() == 0


def test_another_thread_is_not_seen_and_nothing_stays():
    layer, x = MultiHead(8, 2).eval(), torch.randn(1, 4, 8)
    with trace(layer) as traced:
        thread = threading.Thread(target=lambda: layer(x))
        thread.start()
        thread.join()
        layer(x)
    number = len(traced)
    layer(x)
    assert len(traced) == number == 2 * len(CALL) - 2 + 2  # no mask here
    assert all(not step.tensor.requires_grad for step in traced)


def test_foreign_models():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
    x = torch.randn(2, 5, 8)
    with torch.no_grad(), trace(model, layers=1, rows=[0, 4]) as traced:
        model(x)
    for head in range(2):
        head_context(traced.of(head=head))
    assert {(step.layer, step.part) for step in traced} == {(1, "self-attention")}
    q = torch.randn(2, 3, 6, 4)
    with trace(heads=2) as traced:
        output = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    assert [step.name for step in traced] == CALL
    close(head_context(traced.of(head=2)), array(output[:, 2]))
    masked = array(traced.of("masked")[0].tensor)
    assert np.isneginf(masked[0, 0, 1:]).all() and np.isfinite(masked[0, 0, 0])


@pytest.mark.parametrize("kernel", ["gaussian", "uniform"])
def test_kernel_regression(kernel):
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(30, 2)), generator.normal(size=(30, 3))
    model = NadarayaWatson(kernel, bandwidth=0.7).fit(x, y)
    points = generator.normal(size=(6, 2))
    blind = model.predict(points)
    with trace(rows=[1, 4]) as traced:
        seen = model.predict(points)
    assert np.array_equal(blind, seen)
    named = {step.name: step.tensor.numpy()[0] for step in traced}
    if kernel == "gaussian":
        assert list(named) == ["distances", "kernel", "weights", "prediction"]
        distances = np.linalg.norm((points[[1, 4], None] - x) / 0.7, axis=-1)
        close(distances, named["distances"])
        close(np.exp(-(distances**2) / 2), named["kernel"])
        close(named["kernel"] / named["kernel"].sum(-1, keepdims=True), named["weights"])
    close(named["weights"] @ y, named["prediction"])
    close(named["prediction"], blind[[1, 4]])
