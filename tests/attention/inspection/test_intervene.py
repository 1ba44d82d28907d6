"""Touching: explicit, addressed, undone on exit, and never felt by another sentence."""

import pytest
import torch
from torch import nn

from regard.attention import (
    Additive,
    ForceAlignment,
    Mask,
    MultiHead,
    Overwrite,
    ScaledDot,
    SwitchOff,
    attend,
    intervene,
    record,
)

B, H, Q, K, D = 3, 4, 5, 6, 8


@pytest.fixture
def tensors():
    return torch.randn(B, H, Q, D), torch.randn(B, H, K, D), torch.randn(B, H, K, D)


SCORES = [
    (ScaledDot(), "dense"),
    (ScaledDot(), "fused"),
    (ScaledDot(), "blockwise"),
    (Additive(D, D, 4), "blockwise"),
]
scores = pytest.mark.parametrize(("score", "engine"), SCORES, ids=lambda x: str(x)[:10])


@scores
def test_switch_off_heads(tensors, score, engine):
    before = attend(*tensors, score=score, engine=engine).context
    with intervene(None, SwitchOff(heads=[1, 3], batch=2)):
        after = attend(*tensors, score=score, engine=engine).context
    assert (after[2, [1, 3]] == 0).all()
    addressed = torch.zeros(B, H, dtype=torch.bool)
    addressed[2, [1, 3]] = True
    assert torch.equal(after[~addressed], before[~addressed])
    assert torch.equal(attend(*tensors, score=score, engine=engine).context, before)


@scores
def test_turn_a_head_down(tensors, score, engine):
    before = attend(*tensors, score=score, engine=engine).context
    with intervene(None, SwitchOff(heads=0, scale=0.25)):
        after = attend(*tensors, score=score, engine=engine).context
    torch.testing.assert_close(after[:, 0], before[:, 0] / 4)
    assert torch.equal(after[:, 1:], before[:, 1:])


@scores
@pytest.mark.parametrize("renormalize", [False, True])
def test_overwrite_rows(tensors, score, engine, renormalize):
    value = tensors[2]
    weights = torch.tensor([[2.0, 0, 0, 0, 0, 2.0], [0, 1.0, 0, 0, 0, 0]])
    edit = Overwrite(rows=[1, 4], weights=weights, renormalize=renormalize, heads=2, batch=[0, 1])
    before = attend(*tensors, score=score, engine=engine).context
    with intervene(None, edit), record() as recording:
        after = attend(*tensors, score=score, engine=engine, weights=True)
    used = weights / weights.sum(-1, keepdim=True) if renormalize else weights
    for sentence in (0, 1):
        torch.testing.assert_close(after.context[sentence, 2, [1, 4]], used @ value[sentence, 2])
        torch.testing.assert_close(after.weights[sentence, 2, [1, 4]], used)
    addressed = torch.zeros(B, H, Q, dtype=torch.bool)
    addressed[:2, 2, [1, 4]] = True
    assert torch.equal(after.context[~addressed], before[~addressed])
    torch.testing.assert_close(recording[0].weights, after.weights)


def test_force_an_alignment(tensors):
    query, key, value = tensors
    edit = ForceAlignment(links={0: 5, 3: 2}, kind="cross")
    with intervene(None, edit):
        after = attend(query, key, value, score=ScaledDot()).context
    torch.testing.assert_close(after[:, :, 0], value[:, :, 5])
    torch.testing.assert_close(after[:, :, 3], value[:, :, 2])


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(MultiHead(D, 2) for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x, mask=Mask.causal()).context
        return x


def test_layers_are_addressed_and_other_sentences_untouched():
    model, x = Two(), torch.randn(3, 4, D)
    before = model(x)
    edits = [
        SwitchOff(kind="causal", layer=0, heads=1, batch=1),
        Overwrite(rows=2, weights=[1.0, 0, 0, 0], renormalize=False, layer=1, heads=0, batch=1),
    ]
    with intervene(model, edits), record(model) as recording:
        after = model(x)
    assert torch.equal(after[[0, 2]], before[[0, 2]])
    assert not torch.allclose(after[1], before[1])
    assert recording.of(layer=1)[0].weights[1, 0, 2].tolist() == [1, 0, 0, 0]
    only_last = [SwitchOff(layer=1, batch=1)]
    with intervene(model, only_last):
        last = model(x)
    first = x + model.layers[0](x, mask=Mask.causal()).context
    torch.testing.assert_close(last[1], (first + model.layers[1].out_proj.bias)[1])
    assert torch.equal(model(x), before)


def test_absolute_positions_under_a_cache():
    layer, x = MultiHead(D, 2), torch.randn(1, 4, D)
    forced = ForceAlignment(links={2: 0})
    with intervene(layer, forced):
        whole = layer(x, mask=Mask.causal()).context
    cache, parts = layer.empty_cache(1), []
    with intervene(layer, forced):
        for step in x.split(1, dim=1):
            attended = layer(step, cache=cache)
            cache = attended.cache
            parts.append(attended.context)
    torch.testing.assert_close(torch.cat(parts, 1), whole)


@pytest.mark.parametrize("length", [2, 3, 4, 6])
def test_a_row_of_a_growing_text_is_overwritten(length):
    """Weights of a causal row may be as long as its words so far, or as the whole text."""
    layer, x = MultiHead(D, 2), torch.randn(1, 4, D)
    row = torch.zeros(length)
    row[:2] = torch.tensor([0.25, 0.75])
    edit = Overwrite(kind="causal", rows=2, weights=row, renormalize=True)
    before = layer(x, mask=Mask.causal()).context
    with intervene(layer, edit), record(layer) as observed:
        whole = layer(x, mask=Mask.causal()).context
    cache, parts = layer.empty_cache(1), []
    with intervene(layer, edit):
        for step in x.split(1, dim=1):
            attended = layer(step, cache=cache)
            cache = attended.cache
            parts.append(attended.context)
    torch.testing.assert_close(torch.cat(parts, 1), whole)
    assert observed.maps[0].weights[0, 0, 2].tolist() == [0.25, 0.75, 0, 0]
    assert not torch.equal(whole[:, 2], before[:, 2])
    late = Overwrite(kind="causal", rows=2, weights=[0.5, 0, 0, 0, 0.5], renormalize=True)
    with pytest.raises(ValueError, match="each of the 4 keys"), intervene(layer, late):
        layer(x, mask=Mask.causal())


def test_gradients_flow_through_an_intervention(tensors):
    tensors = [x.requires_grad_() for x in tensors]
    with intervene(None, ForceAlignment(links={1: 0}, heads=0)):
        attend(*tensors, score=ScaledDot()).context[:, 0, 1].sum().backward()
    assert (tensors[0].grad == 0).all()
    assert torch.equal(tensors[2].grad[:, 0, 0], torch.ones(B, D))
    assert (tensors[2].grad[:, 1:] == 0).all()


def test_links_of_any_kind_hold_for_every_layer():
    model, x = Two(), torch.randn(1, 3, D)
    with (
        intervene(model, ForceAlignment(links=zip([2], [0], strict=True))),
        record(model) as observed,
    ):
        model(x)
    assert all(m.weights[0, :, 2].tolist() == [[1, 0, 0]] * 2 for m in observed)


def test_a_part_is_touched_and_the_rest_is_not():
    model, x = Two(), torch.randn(2, 3, D)
    with intervene(model.layers[1], SwitchOff(heads=0)):
        alone = model(x)
    with record(model), intervene(model.layers[1], SwitchOff(heads=0)):
        watched = model(x)
    assert torch.equal(alone, watched)
    with intervene(model, SwitchOff(layer=1, heads=0)):
        assert torch.equal(alone, model(x))
    with intervene(model, SwitchOff(layer=[0, 1])):
        both = model(x)
    bias = model.layers[0].out_proj.bias + model.layers[1].out_proj.bias
    torch.testing.assert_close(both, x + bias)


def test_an_edit_that_met_nothing_is_warned_of():
    model = Two()
    warned = pytest.warns(UserWarning, match="SwitchOff matched no attention call")
    with warned, intervene(model, SwitchOff(layer=5, heads=0)):
        model(torch.randn(1, 3, D))


def test_an_edit_that_met_nothing_is_handed_over(recwarn):
    layer, result = MultiHead(D, 2), []
    met, missed = SwitchOff(heads=0), SwitchOff(kind="cross")
    with intervene(layer, [met, missed], unused=result.append):
        layer(torch.randn(1, 3, D))
    assert result == [missed]
    assert not recwarn.list


def test_undone_after_an_error():
    model, x = Two(), torch.randn(1, 3, D)
    before = model(x)
    with pytest.raises(RuntimeError), intervene(model, SwitchOff(heads=0)):
        model(x)
        raise RuntimeError
    assert torch.equal(model(x), before)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda: SwitchOff(heads=9), "heads must be from 0 to 3 in this call, got 9"),
        (lambda: SwitchOff(batch=3), "batch must be from 0 to 2 in this call, got 3"),
        (
            lambda: Overwrite(rows=0, weights=[1.0, 0.0], renormalize=True),
            "one number for each of the 6 keys, got 2",
        ),
        (
            lambda: Overwrite(rows=[0, 1], weights=torch.ones(3, 6), renormalize=True),
            r"weights must have shape \(K,\) or \(2, K\)",
        ),
        (
            lambda: Overwrite(rows=0, weights=[0.0] * 6, renormalize=True),
            "a sum above zero",
        ),
        (lambda: ForceAlignment(links={0: 6}), "keys below 6, got 6"),
        (lambda: SwitchOff(kind="Cross"), 'kind must be "self", "causal" or "cross"'),
        (lambda: SwitchOff(scale=float("nan")), "scale must be a finite number"),
    ],
)
def test_bad_edits(tensors, edit, message):
    with pytest.raises(ValueError, match=message), intervene(None, edit()):
        attend(*tensors, score=ScaledDot())


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda: SwitchOff(heads="0"), "heads must be whole numbers, got '0'"),
        (lambda: SwitchOff(heads=1.0), "heads must be whole numbers, got 1.0"),
        (lambda: Overwrite(rows=0, weights=None, renormalize=True), "weights must be numbers"),
        (lambda: ForceAlignment(links=3), "links must map positions of queries to keys"),
    ],
)
def test_edits_of_the_wrong_type(edit, message):
    with pytest.raises(TypeError, match=message):
        edit()


def test_only_edits_are_taken():
    with pytest.raises(TypeError, match="edits must be SwitchOff"), intervene(None, ["off"]):
        pass


def test_torch_multihead_attention_cannot_be_changed():
    layer, x = nn.MultiheadAttention(D, 2), torch.randn(3, 1, D)
    refused = pytest.raises(ValueError, match="load its state dict into a MultiHead")
    with refused, intervene(layer, SwitchOff(heads=0)):
        layer(x, x, x)
