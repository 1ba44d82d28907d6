"""What every mechanism declares is so, and what it does not declare is a clear error.

A new mechanism joins `MECHANISMS`, and all of this.
"""

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from mechanisms import HEADS, LENGTHS, MASKS, WIDTH, drawn, every, made, takes, visible
from regard.attention import (
    Mask,
    MultiHead,
    Overwrite,
    ScaledDot,
    SwitchOff,
    attend,
    intervene,
    record,
)
from regard.attention.masks.bias import TensorBias
from regard.attention.mechanisms import MECHANISMS
from regard.attention.mechanisms.mechanism import AttentionInput
from regard.config.mechanisms import MECHANISM_SETTINGS


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", sorted(MASKS))
@every
def test_the_answer_is_what_is_declared(name, kind, length):
    mechanism = made(name, length)
    query, key, value = drawn(length)
    mask = MASKS[kind](length)
    if not takes(mechanism, kind):
        with pytest.raises(ValueError, match="masks"):
            mechanism(query, key, value, mask=mask)
        return
    context = mechanism(query, key, value, mask=mask).context
    assert context.shape == value.shape
    wide = torch.cat([value, value[..., :3]], -1)  # values of a width of their own
    torch.testing.assert_close(
        mechanism(query, key, wide, mask=mask).context,
        torch.cat([context, context[..., :3]], -1),
    )
    answer = mechanism.facts.answer
    if answer == "exact":
        expected = attend(query, key, value, score=ScaledDot(), mask=mask, engine="dense").context
        torch.testing.assert_close(context, expected)
    elif answer == "pattern":
        call = mechanism._input(query, key, value, mask, None, 0.0)
        expected = patterned(mechanism, call)
        torch.testing.assert_close(context, expected)


def patterned(mechanism, call):
    """Full attention under the mechanism's own pattern."""
    key = call.key
    if mechanism.shares_query:
        key = torch.nn.functional.normalize(call.key, dim=-1) * WIDTH**0.5
    mask = mechanism.pattern(call)
    return attend(call.query, key, call.value, score=ScaledDot(), mask=mask, engine="dense").context


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", ["none", "lengths", "causal", "both"])
@every
def test_the_map_is_what_made_the_context(name, kind, length):
    mechanism = made(name, length)
    query, key, value = drawn(length)
    mask = MASKS[kind](length)
    if not takes(mechanism, kind):
        return
    shown = mechanism.facts.map
    if shown == "none":
        with pytest.raises(ValueError, match="map"):
            mechanism(query, key, value, mask=mask, weights=True)
        return
    attended = mechanism(query, key, value, mask=mask, weights=True)
    assert torch.equal(attended.context, mechanism(query, key, value, mask=mask).context)
    weights = attended.weights
    call = mechanism._input(query, key, value, mask, None, 0.0)
    seen = mechanism.weight_source(call)
    torch.testing.assert_close(weights @ seen.value, attended.context)
    rows, heads = torch.tensor([3, 0]), torch.tensor([1])
    torch.testing.assert_close(seen.weights(rows, heads), weights[:, 1:, [3, 0]])
    assert bool((weights >= 0).all())
    if mechanism.facts.sums_to_one:
        total = weights.sum(-1)
        torch.testing.assert_close(total, (total > 0).to(total.dtype))  # one, or nothing at all
        words = torch.arange(length) < torch.tensor([length, length // 2, 0])[:, None]
        words = words if kind in ("lengths", "both") else torch.ones_like(words)
        assert bool((total[words[:, None].expand_as(total)] > 0).all())
    if shown == "keys":
        assert weights.shape[-1] == length
        hidden = ~visible(mask, length).expand_as(weights)
        assert bool((weights[hidden] == 0).all())
    else:
        assert weights.shape[-1] == seen.num_keys < length


@pytest.mark.parametrize("length", LENGTHS)
@every
def test_what_is_hidden_changes_nothing_and_gets_no_gradient(name, length):
    mechanism = made(name, length)
    query, key, value = drawn(length)
    mask = MASKS["lengths"](length)
    context = mechanism(query, key, value, mask=mask).context
    assert bool((context[2] == 0).all())
    shown = slice(0, length // 2)
    for junk in (50.0, math.nan, math.inf):  # what stands in padding, asking and answering
        others = [x.detach().clone() for x in (query, key, value)]
        for x in others:
            x[1, :, length // 2 :] = junk
        others = [x.requires_grad_() for x in others]
        changed = mechanism(*others, mask=mask).context[1, :, shown]
        torch.testing.assert_close(changed, context[1, :, shown])
        for grad in torch.autograd.grad(changed.sum(), others, allow_unused=True):
            assert grad is None or bool(torch.isfinite(grad[1, :, shown]).all())
    grads = torch.autograd.grad(context.sum(), [query, key, value], allow_unused=True)
    for grad in grads:
        assert grad is None or bool(torch.isfinite(grad).all())
    assert bool((grads[2][1, :, length // 2 :] == 0).all())
    assert all(g is None or bool((g[2] == 0).all()) for g in grads)


@pytest.mark.parametrize("length", LENGTHS)
@every
def test_the_future_is_not_seen(name, length):
    mechanism = made(name, length)
    if not takes(mechanism, "causal"):
        return
    query, key, value = drawn(length)
    context = mechanism(query, key, value, mask=Mask.causal()).context
    cut = length // 3
    others = [x.detach().clone() for x in (query, key, value)]
    for x in others:
        x[..., cut:, :] = torch.randn_like(x[..., cut:, :])
    changed = mechanism(*others, mask=Mask.causal()).context
    torch.testing.assert_close(changed[..., :cut, :], context[..., :cut, :])


@every
def test_words_that_see_nothing_finite_say_so(name):
    mechanism = made(name, 20)
    if not takes(mechanism, "causal"):
        return
    query, key, value = (x.detach().clone() for x in drawn(20))
    value[0, :, 6] = math.nan
    context = mechanism(query, key, value, mask=Mask.causal()).context
    assert bool(torch.isfinite(context[0, :, :6]).all())
    assert bool(torch.isfinite(context[1:]).all())


@pytest.mark.parametrize("kind", ["none", "both"])
@every
def test_gradients(name, kind):
    mechanism = made(name, 150)
    if not takes(mechanism, kind):
        return
    torch.manual_seed(3)
    inputs = [torch.randn(1, HEADS, 150, WIDTH, dtype=torch.float64) for _ in range(3)]
    inputs = [x.requires_grad_() for x in inputs]
    mask = None if kind == "none" else Mask.lengths([140]) & Mask.causal()

    def run(*parts):
        return mechanism(*parts, mask=mask).context

    assert torch.autograd.gradcheck(run, inputs, fast_mode=True)


@every
def test_looking_changes_nothing_and_sees_the_map(name):
    mechanism = made(name, 40)
    query, key, value = drawn(40)
    plain = mechanism(query, key, value).context
    with intervene(mechanism, [SwitchOff(heads=1)]):
        changed = mechanism(query, key, value).context
    assert torch.equal(changed[:, 0], plain[:, 0])
    assert bool((changed[:, 1] == 0).all())
    if mechanism.facts.map == "none":
        return
    with record(mechanism) as recording:
        looked = mechanism(query, key, value).context
    assert torch.equal(plain, looked)
    assert len(recording) == 1
    weights = mechanism(query, key, value, weights=True).weights
    torch.testing.assert_close(recording[0].weights, weights)
    assert recording[0].over == mechanism.facts.map


@every
def test_bias_and_dropout_only_where_declared(name):
    mechanism = made(name, 20)
    query, key, value = drawn(20)
    bias = TensorBias(torch.zeros(20, 20, dtype=torch.float64))
    if not mechanism.facts.bias:
        with pytest.raises(ValueError, match="bias"):
            mechanism(query, key, value, bias=bias)
    if not mechanism.facts.dropout:
        with pytest.raises(ValueError, match="drop"):
            mechanism(query, key, value, dropout=0.1)
    else:
        torch.manual_seed(0)
        dropped = mechanism(query, key, value, dropout=0.5).context
        assert not torch.equal(dropped, mechanism(query, key, value).context)


@every
def test_a_mechanism_has_the_facts_of_its_settings(name):
    settings = MECHANISM_SETTINGS[name.partition("+")[0]]
    assert made(name, 20).facts is settings.facts


@every
def test_in_a_layer(name):
    torch.manual_seed(0)
    mechanism = made(name, 30, torch.float32)
    layer = MultiHead(HEADS * WIDTH, HEADS, mechanism=mechanism, value_head_dim=5, out_dim=7)
    x = torch.randn(2, 30, HEADS * WIDTH)
    context = layer(x, mask=Mask.lengths([30, 11])).context
    assert context.shape == (2, 30, 7)
    attended = layer(x)
    unpacked, weights = attended
    assert unpacked is attended.context and weights is None
    assert hasattr(attended, "logsumexp") == mechanism.facts.cross
    if not mechanism.facts.cross:
        with pytest.raises(AttributeError, match="no logsumexp here"):
            attended.logsumexp  # noqa: B018
    context.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())
    other = torch.randn(2, 5, HEADS * WIDTH)
    if mechanism.facts.cross:
        assert torch.equal(layer(x, other).context, layer(x, memory=layer.memory(other)).context)
    else:
        with pytest.raises(ValueError, match="one sequence"):
            layer(x, other)
    if mechanism.facts.cache:
        cache = layer.empty_cache(2)
        whole = layer(x, mask=Mask.causal()).context
        parts = []
        for place in range(12):
            attended = layer(x[:, place : place + 1], cache=cache)
            cache = attended.cache
            parts.append(attended.context)
        found = torch.cat(parts, 1)
        torch.testing.assert_close(found, whole[:, :12], atol=1e-5, rtol=1e-4)


class Largest(TorchDispatchMode):
    """How many numbers the largest tensor holds that is ever made."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for x in out if isinstance(out, tuple | list) else (out,):
            if isinstance(x, torch.Tensor) and x.untyped_storage().nbytes():
                held = x.untyped_storage().nbytes() // x.element_size()
                self.numbers = max(self.numbers, held)
        return out


@pytest.mark.parametrize("kind", ["none", "causal"])
@every
def test_no_matrix_of_all_scores(name, kind):
    """Nothing as large as n × n is ever held, forward or backward; full attention may."""
    if name == "full":
        return
    length = 4096
    mechanism = MECHANISMS[name](length, 1, WIDTH)
    if not takes(mechanism, kind):
        return
    inputs = [torch.randn(1, 1, length, WIDTH, requires_grad=True) for _ in range(3)]
    with Largest() as largest:
        mechanism(*inputs, mask=MASKS[kind](length)).context.sum().backward()
    assert largest.numbers <= length**2 / 4


def test_queries_are_the_last_of_the_keys():
    query, key, value = (torch.zeros(1, 1, n, 4) for n in (2, 5, 5))
    assert AttentionInput(query, key, value, None, None, True).offset == 3


def test_weights_under_an_intervention_are_the_changed_ones():
    mechanism = made("local", 20)
    query, key, value = drawn(20)
    one = torch.zeros(20, dtype=torch.float64)
    one[4] = 1.0
    edit = Overwrite(rows=5, weights=one, renormalize=False)
    with intervene(mechanism, [edit]):
        attended = mechanism(query, key, value, weights=True)
    torch.testing.assert_close(attended.weights[:, :, 5], one.expand(3, HEADS, 20))
    torch.testing.assert_close(attended.context[:, :, 5], value[:, :, 4])
