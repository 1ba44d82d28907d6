"""Looking: exact maps, only what was asked for, of any torch model, from any thread alone."""

import threading
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from regard.attention import Mask, MultiHead, ScaledDot, attend, record


class Decoder(nn.Module):
    """Two layers of causal and cross attention."""

    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.own = nn.ModuleList(MultiHead(dim, heads) for _ in range(2))
        self.other = nn.ModuleList(MultiHead(dim, heads) for _ in range(2))

    def forward(self, x, memory):
        for own, other in zip(self.own, self.other, strict=True):
            x = x + own(x, mask=Mask.causal()).context
            x = x + other(x, memory).context
        return x


@pytest.fixture
def decoder():
    return Decoder(), torch.randn(3, 4, 8), torch.randn(3, 5, 8)


def test_kinds_layers_and_names(decoder):
    model, x, memory = decoder
    blind = model(x, memory)
    with record(model) as recording:
        watched = model(x, memory)
    assert torch.equal(blind, watched)
    assert [(m.kind, m.layer, m.module) for m in recording] == [
        ("causal", 0, "own.0"),
        ("cross", 0, "other.0"),
        ("causal", 1, "own.1"),
        ("cross", 1, "other.1"),
    ]
    assert [tuple(m.weights.shape) for m in recording] == [(3, 2, 4, 4), (3, 2, 4, 5)] * 2
    for result in recording:
        torch.testing.assert_close(result.weights.sum(-1), torch.ones(3, 2, 4))
        assert not result.weights.requires_grad


def test_only_what_was_asked_for(decoder):
    model, x, memory = decoder
    with record(model) as everything:
        model(x, memory)
    with record(model, kinds="cross", layers=1, heads=1, rows=[0, 3]) as some:
        model(x, memory)
    (result,) = some
    assert (result.heads, result.rows) == ((1,), (0, 3))
    expected = everything.of("cross", 1)[0].weights[:, 1:2, [0, 3]]
    torch.testing.assert_close(result.weights, expected)


def test_rows_are_absolute_positions_under_a_cache():
    layer = MultiHead(8, 2)
    x = torch.randn(1, 5, 8)
    whole = layer(x, mask=Mask.causal(), weights=True).weights
    cache = layer.empty_cache(1)
    with record(layer, rows=[1, 3]) as recording:
        for step in x.split(1, dim=1):
            cache = layer(step, cache=cache, mask=Mask.causal(corner="bottom-right")).cache
    assert [(m.kind, m.layer, m.rows) for m in recording] == [
        ("causal", 0, (1,)),
        ("causal", 0, (3,)),
    ]
    torch.testing.assert_close(recording[1].weights, whole[:, :, 3:4, :4])


def test_nothing_is_left_behind(decoder):
    model, x, memory = decoder
    before = [dict(vars(m)) for m in model.modules()]
    hooks = [(dict(m._forward_hooks), dict(m._forward_pre_hooks)) for m in model.modules()]
    with record(model):
        model(x, memory)
    assert hooks == [(dict(m._forward_hooks), dict(m._forward_pre_hooks)) for m in model.modules()]
    assert [v.keys() for v in before] == [vars(m).keys() for m in model.modules()]
    with pytest.raises(RuntimeError, match="stop"), record(model) as recording:
        model(x, memory)
        raise RuntimeError("stop")
    assert len(recording) == 4
    assert hooks == [(dict(m._forward_hooks), dict(m._forward_pre_hooks)) for m in model.modules()]


def test_another_thread_is_not_seen(decoder):
    model, x, memory = decoder
    with record(model) as recording:
        thread = threading.Thread(target=lambda: model(x, memory))
        thread.start()
        thread.join()
        model(x, memory)
    assert len(recording) == 4


def test_two_threads_record_apart(decoder):
    model, x, memory = decoder
    result = {}

    def look(name, kinds):
        with record(model, kinds=kinds) as recording:
            for _ in range(5):
                model(x, memory)
        result[name] = [m.kind for m in recording]

    threads = [threading.Thread(target=look, args=(k, k)) for k in ("cross", "causal")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert result == {"cross": ["cross"] * 10, "causal": ["causal"] * 10}


def test_calls_outside_the_model_are_not_its_own(decoder):
    model, x, memory = decoder
    with record(model) as recording:
        attend(x, memory, memory, score=ScaledDot())
        model(x, memory)
    assert len(recording) == 4


def test_watches_of_parts_do_not_meet(decoder):
    model, x, memory = decoder
    with record(model) as whole, record(model.own[1]) as part:
        model(x, memory)
    assert len(whole) == 4
    assert [m.module for m in part] == ["MultiHead"]
    torch.testing.assert_close(part[0].weights, whole.of("causal", 1)[0].weights)


def test_names_hold_while_other_threads_come_and_go(decoder):
    model, x, memory = decoder
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            with warnings.catch_warnings(), record(model):
                warnings.simplefilter("ignore")

    thread = threading.Thread(target=churn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        thread.start()
        try:
            for _ in range(60):
                with record(model) as recording:
                    model(x, memory)
                names = [m.module for m in recording]
                assert names == ["own.0", "other.0", "own.1", "other.1"]
        finally:
            stop.set()
            thread.join()


def test_one_module_in_two_kinds():
    layer, x, memory = MultiHead(8, 2), torch.randn(1, 3, 8), torch.randn(1, 5, 8)
    with record(layer) as recording:
        layer(x, mask=Mask.causal())
        layer(x, memory)
    assert [(m.kind, m.layer) for m in recording] == [("causal", 0), ("cross", 0)]


def test_rows_of_memory_asked_step_by_step():
    layer, x = MultiHead(8, 2), torch.randn(1, 4, 8)
    memory = layer.memory(torch.randn(1, 5, 8))
    with record(layer, rows=[2]) as recording:
        for i in range(4):
            layer(x[:, i : i + 1], memory=memory, offset=i)
    assert [(m.kind, m.rows) for m in recording] == [("cross", (2,))]


def test_what_checkpointing_computes_again_is_not_seen_again(decoder):
    model, x, memory = decoder
    x.requires_grad_()
    with record(model) as recording:
        checkpoint(model, x, memory, use_reentrant=False).sum().backward()
    assert len(recording) == 4


def test_a_compiled_function_is_run_as_written():
    layer, x = MultiHead(8, 2), torch.randn(1, 3, 8)
    run = torch.compile(lambda y: layer(y).context, backend="eager")
    expected = run(x)
    with record(layer) as recording:
        torch.testing.assert_close(run(x), expected)
    assert len(recording) == 1


def test_sizes_of_nothing():
    x, nothing = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 0, 4)
    with record() as recording:
        attend(x, nothing, nothing, score=ScaledDot())
        attend(nothing, x, x, score=ScaledDot())
        F.scaled_dot_product_attention(x[0], x[0], x[0], attn_mask=torch.ones(3).bool())
    assert [tuple(m.weights.shape) for m in recording] == [(2, 2, 3, 0), (2, 2, 0, 3), (2, 1, 3, 3)]
    with pytest.warns(UserWarning, match="none of which matches"), record(rows=[]):
        attend(x, x, x, score=ScaledDot())


def test_torch_functions_are_seen_once():
    x = torch.randn(2, 2, 4, 8)
    with record() as recording:
        bare = F.scaled_dot_product_attention(x, x, x, is_causal=True)
        ours = attend(x, x, x, score=ScaledDot(), mask=Mask.causal(), engine="fused").context
    assert torch.equal(bare, ours)
    assert [m.kind for m in recording] == ["causal", "causal"]
    torch.testing.assert_close(recording[0].weights, recording[1].weights)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("extras", [{}, {"add_bias_kv": True}, {"add_zero_attn": True}])
def test_torch_multihead_attention(batch_first, need_weights, extras):
    layer = nn.MultiheadAttention(8, 2, batch_first=batch_first, **extras)
    if extras.get("add_bias_kv"):
        nn.init.normal_(layer.bias_k)
    query, key = torch.randn(3, 3, 8), torch.randn(3, 3, 8)
    padding = torch.tensor([[False, False, True]] * 3)
    expected, weights = layer(query, key, key, key_padding_mask=padding, average_attn_weights=False)
    with record(layer) as recording:
        got, _ = layer(query, key, key, key_padding_mask=padding, need_weights=need_weights)
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(recording[0].weights, weights)
    assert recording[0].kind == "cross"


def test_torch_transformer_with_its_fast_path():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).eval()
    x = torch.randn(2, 5, 8)
    with torch.no_grad():
        expected = model(x)
        with record(model) as recording:
            got = model(x)
    torch.testing.assert_close(got, expected)
    assert [(m.kind, m.layer) for m in recording] == [("self", 0), ("self", 1)]


def test_a_compiled_model_is_watched_as_written(decoder):
    model, x, memory = decoder
    compiled = torch.compile(model, backend="eager")
    expected = compiled(x, memory)
    with record(compiled) as recording:
        got = compiled(x, memory)
    assert len(recording) == 4
    torch.testing.assert_close(got, expected)


def test_a_recording_of_nothing_is_warned_of(decoder):
    model, x, memory = decoder
    with pytest.warns(UserWarning, match="saw no attention call"), record(model):
        pass
    with pytest.warns(UserWarning, match="4 attention calls, none"), record(model, layers=7):
        model(x, memory)


def test_bad_choices():
    with pytest.raises(ValueError, match='kinds must be "self", "causal" or "cross"'):
        record(kinds="crross").__enter__()
    with pytest.raises(TypeError, match=r"heads must be whole numbers, got 1.5"):
        record(heads=1.5).__enter__()
    with pytest.raises(TypeError, match="model must be a torch module or None"):
        record("model").__enter__()
    with pytest.raises(ValueError, match="rows must be integers from 0"), record(rows=[-1]):
        pass
    x = torch.randn(1, 2, 3, 4)
    with pytest.raises(ValueError, match="heads must be below 2"), record(heads=[2]):
        attend(x, x, x, score=ScaledDot())
