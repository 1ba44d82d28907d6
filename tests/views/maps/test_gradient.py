"""Gradient × attention against finite differences, and heads switched off, on real models."""

import numpy as np
import pytest
import torch

from regard.attention import MultiHead, Overwrite, SwitchOff, intervene, record
from regard.config import LanguageModelSettings, TransformerSettings
from regard.models.batch import Batch, Source
from regard.tasks import build
from regard.views import (
    gradient_figure,
    gradient_times_attention,
    head_effects,
    label_score,
    switch_off_effects,
)


@pytest.fixture(scope="module")
def translator():
    torch.manual_seed(0)
    settings = TransformerSettings(
        dim=16, num_heads=2, num_encoder_layers=2, num_decoder_layers=2, ff=16, dropout=0.0
    )
    model = build(settings, 20, 20).double().eval()
    source = Source(torch.tensor([[5, 6, 7, 3], [8, 9, 3, 0]]), torch.tensor([4, 3]))
    batch = Batch(
        source, torch.tensor([[2, 5, 6], [2, 9, 0]]), torch.tensor([[5, 6, 3], [9, 3, 0]])
    )
    return model, batch


def test_weights_are_those_recorded_and_the_answer_is_the_same(translator):
    model, batch = translator
    with record(model) as recording:
        plain = model(batch)
    answers = []

    def target(logits):
        answers.append(logits)
        return label_score(batch)(logits)

    maps = gradient_times_attention(model, batch, target)
    slopes = gradient_times_attention(model, batch, target, times=False)
    torch.testing.assert_close(answers[0], plain, rtol=0, atol=0)
    assert [(m.kind, m.layer, m.rows) for m in maps] == [
        (m.kind, m.layer, m.rows) for m in recording
    ]
    for product, slope, seen in zip(maps, slopes, recording, strict=True):
        torch.testing.assert_close(product.weights, seen.weights * slope.weights)
        assert product.weights.abs().max() > 0
    assert not any(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("kind", ["self", "causal", "cross"])
def test_slopes_are_those_of_finite_differences(translator, kind):
    model, batch = translator
    slopes = gradient_times_attention(model, batch, label_score(batch), times=False, kind=kind)
    with record(model, kinds=kind) as recording:
        model(batch)
    step = 1e-5
    for layer in (0, 1):
        for sentence, head, row, key in ((0, 1, 2, 0), (1, 0, 1, 1)):
            weights = recording.of(kind, layer)[0].weights[sentence, head, row]
            moved = []
            for sign in (1, -1):
                nudged = weights.clone()
                nudged[key] += sign * step
                edit = Overwrite(
                    kind=kind,
                    layer=layer,
                    heads=head,
                    batch=sentence,
                    rows=row,
                    weights=nudged,
                    renormalize=False,
                )
                with torch.no_grad(), intervene(model, edit):
                    moved.append(float(label_score(batch)(model(batch)).sum()))
            found = next(m for m in slopes if m.layer == layer).weights[sentence, head, row, key]
            assert float(found) == pytest.approx((moved[0] - moved[1]) / (2 * step), abs=1e-7)


def test_language_model_and_its_figure(tmp_path):
    torch.manual_seed(1)
    model = build(
        LanguageModelSettings(dim=16, num_heads=2, num_layers=2, ff=16, dropout=0.0), 20, 20
    ).eval()
    tokens = torch.tensor([[2, 5, 6, 7]])
    batch = Batch(None, tokens, torch.tensor([[5, 6, 7, 3]]))
    maps = gradient_times_attention(model, batch, lambda logits: logits[:, -1, 7])
    assert {m.kind for m in maps} == {"causal"}
    above = torch.ones(4, 4).triu(1).bool()
    assert all((m.weights[..., above] == 0).all() for m in maps)  # masked weights are none
    words = ["<s>", "你", "好", "吗"]
    assert gradient_figure(maps, words, words).render("svg")
    with pytest.raises(ValueError, match="layer must be below 2"):
        gradient_figure(maps, words, words, layer=2)


def test_what_it_refuses(translator):
    model, batch = translator
    with pytest.raises(TypeError, match="one number"):
        gradient_times_attention(model, batch, lambda logits: logits)
    model.train()
    try:
        with pytest.raises(ValueError, match="eval mode"):
            gradient_times_attention(model, batch, label_score(batch))
    finally:
        model.eval()


def test_effect_of_each_head_is_that_of_switching_it_off(translator, tmp_path):
    model, batch = translator

    def score():
        return label_score(batch)(model(batch)).sum()

    tables = switch_off_effects(model, score)
    assert [t.kind for t in tables] == ["encoder", "decoder", "cross"]
    with torch.no_grad(), intervene(model, SwitchOff(kind="cross", layer=1, heads=0)):
        without = float(score())
    assert tables[2].values[1, 0] == pytest.approx(without - score().item(), abs=1e-12)
    assert all(t.values.shape == (2, 2) and np.isfinite(t.values).all() for t in tables)
    (only,) = switch_off_effects(model, score, kinds=["causal"])
    np.testing.assert_array_equal(only.values, tables[1].values)
    head_effects(tables[2]).save(tmp_path / "effects.svg")
    with pytest.raises(ValueError, match="no attention"):
        switch_off_effects(model, score, kinds=["channel"])


def test_a_layer_by_itself_has_the_slope_written_out():
    torch.manual_seed(2)
    layer = MultiHead(4, num_heads=1).double().eval()
    x = torch.randn(1, 3, 4, dtype=torch.float64)
    direction = torch.randn(3, 4, dtype=torch.float64)
    (found,) = gradient_times_attention(
        layer, x, lambda answer: (answer.context[0] * direction).sum(), times=False
    )
    with torch.no_grad():
        base = torch.zeros(3, 3, dtype=torch.float64)
        answers = []
        for row in range(3):
            for key in range(3):
                one = base.clone()
                one[row, key] = 1.0
                edit = Overwrite(rows=[0, 1, 2], weights=one, renormalize=False)
                with intervene(layer, edit):
                    answers.append(float((layer(x).context[0] * direction).sum()))
        edit = Overwrite(rows=[0, 1, 2], weights=base, renormalize=False)
        with intervene(layer, edit):
            nothing = float((layer(x).context[0] * direction).sum())
    # the answer is linear in the weights of one layer: a unit weight's effect is the slope
    expected = torch.tensor(answers, dtype=torch.float64).reshape(3, 3) - nothing
    torch.testing.assert_close(found.weights[0, 0], expected)
