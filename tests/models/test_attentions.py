"""Every self-attention in every model that has one: the same protocol, the same promises."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import record
from regard.config import (
    LanguageModelSettings,
    MaskedLanguageModelSettings,
    SearchOptions,
    TransformerSettings,
)
from regard.config.mechanisms import (
    AdaptiveSpanSettings,
    BlockwiseSettings,
    FullSettings,
    LinearSettings,
    LinformerSettings,
    LocalSettings,
    PerformerSettings,
    ReformerSettings,
    RingSettings,
    SparseSettings,
)
from regard.config.settings import run_from
from regard.decoding import search
from regard.errors import InputError
from regard.models.batch import batch_of, source_of
from regard.tasks import KINDS, build
from regard.text import BOS

SOURCES = [[5, 6, 7, 8, 9, 4, 10, 11, 5, 6], [9, 6], [7, 7, 8]]
TARGETS = [[5, 6, 7], [8, 9, 10, 11, 12, 5, 6, 7, 8, 9, 10], [7]]
SMALL = {
    "dim": 16,
    "num_heads": 2,
    "ff": 24,
    "dropout": 0.0,
    "max_length": 64,
    "positions": "rotary",
}
OPTIONS = {
    "full": FullSettings(),
    "local": LocalSettings(window=2),
    "local+global": LocalSettings(window=2, global_tokens=1),
    "local+dilated": LocalSettings(window=2, dilation=2),
    "sparse": SparseSettings(stride=3),
    "sparse+fixed": SparseSettings("fixed", stride=3),
    "blockwise": BlockwiseSettings(),
    "reformer": ReformerSettings(chunk=8, num_rounds=2),
    "linear": LinearSettings(),
    "performer": PerformerSettings(num_features=16),
    "adaptive-span": AdaptiveSpanSettings(max_span=4, ramp=2),
    "ring": RingSettings(),
}
NORMALIZERS = ("sparsemax", "entmax15", "sigmoid")
every = pytest.mark.parametrize("name", sorted(OPTIONS))


def chosen(name):
    return {**SMALL, "attention": OPTIONS[name]}


def transformer(name, **more):
    torch.manual_seed(0)
    made = TransformerSettings(num_encoder_layers=2, num_decoder_layers=2, **chosen(name), **more)
    return build(made, 16, 16).eval()


def lm(name, **more):
    torch.manual_seed(0)
    return build(LanguageModelSettings(num_layers=2, **chosen(name), **more), 16, 16).eval()


def stepwise(model, source, inputs):
    state = model.start(source, len(inputs))
    scores = []
    for position in range(inputs.shape[1]):
        result, state, _ = model.step(state, inputs[:, position])
        scores.append(result)
    return torch.stack(scores, 1)


@every
@torch.no_grad()
def test_a_word_at_a_time_is_all_at_once(name):
    batch = batch_of(SOURCES, TARGETS)
    for model, source in ((transformer(name), batch.source), (lm(name), None)):
        whole = model(batch._replace(source=source))
        result = stepwise(model, source, batch.inputs)
        written = (batch.labels != 0)[..., None]
        torch.testing.assert_close(result * written, whole * written, atol=1e-4, rtol=1e-3)


@every
@torch.no_grad()
def test_padding_is_not_read(name):
    model = transformer(name)
    together = model(batch_of(SOURCES, TARGETS))
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = model(batch_of([source], [target]))[0]
        torch.testing.assert_close(together[row, : len(alone)], alone, atol=1e-4, rtol=1e-3)


@every
def test_every_weight_learns(name):
    for model, source in ((transformer(name), SOURCES), (lm(name), None)):
        model.train()
        model(batch_of(source, TARGETS)).square().sum().backward()
        for which, p in model.named_parameters():
            assert p.grad is not None and p.grad.isfinite().all(), which


@every
@torch.no_grad()
def test_beam_and_greedy_write_and_show(name):
    model = transformer(name)
    source = source_of(SOURCES)
    for beam in (1, 3):
        result = search(model, source, SearchOptions(beam=beam, max_length=12))
        assert len(result) == 3
    state = model.start(source)
    _, _, maps = model.step(state, torch.full((3,), BOS), attention=True)
    assert any(layer_map.kind == "cross" for layer_map in maps)


@every
@torch.no_grad()
def test_maps_of_all_words(name):
    model = transformer(name)
    batch = batch_of(SOURCES, TARGETS)
    plain = model(batch)
    with record(model) as recording:
        assert torch.equal(model(batch), plain)
    kinds = {layer_map.kind for layer_map in recording}
    assert "cross" in kinds
    for layer_map in recording:
        if layer_map.over == "keys" and layer_map.kind == "self":
            assert layer_map.weights.shape[2:] == (11, 11)


@torch.no_grad()
def test_linformer_in_encoders():
    torch.manual_seed(0)
    settings_ = {**SMALL, "attention": LinformerSettings(projected=4)}
    model = build(
        TransformerSettings(
            num_encoder_layers=2, num_decoder_layers=2, decoder_attention="full", **settings_
        ),
        16,
        16,
    ).eval()
    batch = batch_of(SOURCES, TARGETS)
    together = model(batch)
    alone = model(batch_of(SOURCES[1:2], TARGETS[1:2]))[0]
    torch.testing.assert_close(together[1, : len(alone)], alone, atol=1e-5, rtol=1e-4)
    over = {layer_map.kind: layer_map.over for layer_map in model.maps(batch)}
    assert over == {"self": "projected", "causal": "keys", "cross": "keys"}
    assert build(MaskedLanguageModelSettings(num_layers=1, **settings_), 16, 16) is not None


@pytest.mark.parametrize("normalizer", NORMALIZERS)
@torch.no_grad()
def test_normalizers_in_models(normalizer):
    model = transformer("full", normalizer=normalizer)
    batch = batch_of(SOURCES, TARGETS)
    torch.testing.assert_close(
        stepwise(model, batch.source, batch.inputs)[0, :4],
        model(batch)[0, :4],
        atol=1e-5,
        rtol=1e-4,
    )
    weights = model.maps(batch)[0].weights
    if normalizer != "sigmoid":
        torch.testing.assert_close(weights[0].sum(-1), torch.ones(2, 11), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("kind", "attention", "others", "said"),
    [
        ("lm", "linformer", {}, "cannot be causal"),
        ("transformer", "linformer", {}, "decoder_attention full"),
        ("lm", {"name": "local", "window": 65}, {"max_length": 64}, "window .* longest sentence"),
        ("lm", {"name": "adaptive-span", "max_span": 65}, {"max_length": 64}, "longest sentence"),
        ("mlm", {"name": "linformer", "projected": 999}, {}, "longest sentence"),
        ("lm", "linear", {"positions": "alibi"}, "alibi"),
        ("lm", "sparse", {"positions": "relative"}, "relative"),
        ("lm", "performer", {"attention_dropout": 0.1}, "attention_dropout"),
        ("lm", "local", {"normalizer": "sparsemax"}, "softmax"),
        ("lm", {"name": "local", "global_tokens": 1}, {"positions": "alibi"}, "global_tokens"),
        ("lm", {"name": "sparse", "pattern": "fixed", "stride": 2, "summary": 3}, {}, "summary"),
        ("lm", {"name": "sparse", "pattern": "fixed", "summary": 40}, {}, "summary"),
        ("lm", {"name": "sparse", "pattern": "odd"}, {}, "pattern must be strided, fixed"),
        ("lm", {"name": "reformer", "num_buckets": 3}, {}, "even"),
        ("lm", {"name": "local", "window": 0}, {}, "window must be at least 1"),
        ("lm", {"name": "local", "dilation": 0}, {}, "model.attention.dilation must be at least 1"),
        ("mlm", {"name": "local", "dilation": 9}, {}, "longest sentence, .* 512, got 576"),
        ("lm", {"window": 9}, {}, "attention full has no setting 'window'.*belongs to local"),
        ("lm", {"name": "local", "span": 9}, {}, "it has window, global_tokens, dilation"),
        ("lm", "lokal", {}, "must be full, local, .*, got 'lokal'"),
        (
            "transformer",
            "full",
            {"decoder_attention": "linear", "positions": "alibi"},
            "model.decoder_attention linear",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused(kind, attention, others, said):
    with pytest.raises(InputError, match=said):
        run_from({"model": {"kind": kind, "attention": attention, **others}}, KINDS)


def test_a_mechanism_by_its_name_has_its_default_settings():
    assert LanguageModelSettings(attention="local").attention == LocalSettings()
    both = TransformerSettings(attention="linformer", decoder_attention="local")
    assert both.mechanisms == (LinformerSettings(), LocalSettings())
    assert both.mechanism(causal=True) == LocalSettings()
    with pytest.raises(InputError, match=r"model\.attention must be full, local"):
        LanguageModelSettings(attention="lokal")


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from([n for n in sorted(OPTIONS) if n != "reformer"]),
    length=st.integers(1, 12),
    seed=st.integers(0, 100),
)
@torch.no_grad()
def test_later_words_do_not_reach_back(name, length, seed):
    model = lm(name)
    torch.manual_seed(seed)
    rows = torch.randint(5, 16, (1, 14))
    other = rows.clone()
    other[:, length:] = torch.randint(5, 16, (1, 14 - length))
    result, again = (model(batch_of(None, x.tolist()))[:, : length + 1] for x in (rows, other))
    torch.testing.assert_close(result, again, atol=1e-4, rtol=1e-3)
