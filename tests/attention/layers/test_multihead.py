"""Multi-head attention: three kinds of projection, grouped heads, caches, torch's state dicts."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import (
    Additive,
    Alibi,
    General,
    Learned,
    Mask,
    MultiHead,
    RelativeBias,
    Rotary,
    ScaledDot,
    Sinusoidal,
)

F64 = torch.float64
B, Q, K, DIM, HEADS = 2, 4, 6, 8, 4


def words(length=Q, width=DIM):
    return torch.randn(B, length, width, dtype=F64)


@given(
    heads=st.sampled_from([1, 2, 4]),
    groups=st.sampled_from([1, 2]),
    key_dim=st.sampled_from([None, 5]),
    value_dim=st.sampled_from([None, 3]),
    head_dim=st.sampled_from([None, 3]),
    value_head_dim=st.sampled_from([None, 5]),
    out=st.sampled_from([{}, {"out_dim": 7}, {"out_proj": False}]),
    bias=st.booleans(),
)
def test_joint_and_separate_are_one_layer(
    heads, groups, key_dim, value_dim, head_dim, value_head_dim, out, bias
):
    num_kv_heads = heads if heads % groups else heads // groups
    joint = MultiHead(
        DIM,
        heads,
        num_kv_heads=num_kv_heads,
        key_dim=key_dim,
        value_dim=value_dim,
        head_dim=head_dim,
        value_head_dim=value_head_dim,
        bias=bias,
        **out,
    ).double()
    separate = joint.with_projections("separate")
    query, key = words(), words(K, key_dim or DIM)
    value = words(K, value_dim or key_dim or DIM)
    expected = joint(query, key, value, weights=True)
    got = separate(query, key, value, weights=True)
    torch.testing.assert_close(got.context, expected.context)
    torch.testing.assert_close(got.weights, expected.weights)
    again = separate.with_projections("joint")
    assert all(torch.equal(a, again.state_dict()[n]) for n, a in joint.state_dict().items())


def test_separate_holds_a_matrix_for_each_head():
    layer = MultiHead(DIM, HEADS, projections="separate")
    assert [tuple(h.weight.shape) for h in layer.key_proj.heads] == [(2, DIM)] * HEADS


def test_slice_cuts_what_it_is_given():
    layer = MultiHead(DIM, 2, value_dim=6, projections="slice").double()
    names = [name for name, _ in layer.named_parameters()]
    assert names == ["out_proj.weight", "out_proj.bias"]
    query, key, value = words(), words(K), words(K, 6)
    heads = []
    for h in range(2):
        q, k, v = (
            query[..., 4 * h : 4 * h + 4],
            key[..., 4 * h : 4 * h + 4],
            value[..., 3 * h :][..., :3],
        )
        heads.append(torch.softmax(q @ k.mT / 2, -1) @ v)
    torch.testing.assert_close(
        layer(query, key, value).context, layer.out_proj(torch.cat(heads, -1))
    )


@pytest.mark.parametrize("projections", ["joint", "separate", "slice"])
@pytest.mark.parametrize("num_kv_heads", [1, 2])
@pytest.mark.parametrize("out", [{"out_dim": 5}, {"out_proj": False}], ids=["out_dim", "joined"])
def test_values_and_output_of_their_own_width(projections, num_kv_heads, out):
    """Heads of 4, values of 6 features each; written out head by head."""
    layer = MultiHead(
        DIM,
        2,
        num_kv_heads=num_kv_heads,
        key_dim=4 * num_kv_heads,
        value_dim=6 * num_kv_heads,
        value_head_dim=6,
        projections=projections,
        **out,
    ).double()
    query, key, value = words(), words(K, 4 * num_kv_heads), words(K, 6 * num_kv_heads)
    q = layer.query_proj(query).unflatten(-1, (2, -1)).transpose(1, 2)
    k, v = layer.memory(key, value)
    heads = []
    for h in range(2):
        g = h * num_kv_heads // 2
        heads.append(torch.softmax(q[:, h] @ k[:, g].mT / 2, -1) @ v[:, g])
    expected = torch.cat(heads, -1)
    context, weights = layer(query, key, value, weights=True)
    if "out_dim" in out:
        expected = expected @ layer.out_proj.weight.T + layer.out_proj.bias
    else:
        assert not [name for name in layer.state_dict() if name.startswith("out_proj")]
    assert context.shape == (B, Q, layer.out_dim) and weights.shape == (B, 2, Q, K)
    torch.testing.assert_close(context, expected)
    again = MultiHead(
        DIM,
        2,
        num_kv_heads=num_kv_heads,
        key_dim=4 * num_kv_heads,
        value_dim=6 * num_kv_heads,
        value_head_dim=6,
        projections=projections,
        **out,
    ).double()
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again(query, key, value).context, context)


@pytest.mark.parametrize("num_kv_heads", [1, 2, 4])
def test_grouped_heads_equal_full_heads_with_repeated_matrices(num_kv_heads):
    grouped = MultiHead(DIM, HEADS, num_kv_heads=num_kv_heads).double()
    full = MultiHead(DIM, HEADS).double()
    state = grouped.state_dict()
    for part in ("key_proj", "value_proj"):
        for kind in ("weight", "bias"):
            pieces = state[f"{part}.{kind}"].chunk(num_kv_heads)
            state[f"{part}.{kind}"] = torch.cat(
                [p for p in pieces for _ in range(HEADS // num_kv_heads)]
            )
    full.load_state_dict(state)
    x = words()
    torch.testing.assert_close(
        grouped(x, mask=Mask.causal()).context, full(x, mask=Mask.causal()).context
    )


POSITIONS = {
    "none": lambda: None,
    "rotary": lambda: Rotary(2),
    "alibi": lambda: Alibi(HEADS),
    "relative": lambda: RelativeBias(HEADS, bidirectional=False),
    "sinusoidal": lambda: Sinusoidal(DIM),
    "learned": lambda: Learned(20, DIM),
}


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("num_kv_heads", [None, 2])
@pytest.mark.parametrize("projections", ["joint", "separate", "slice"])
@pytest.mark.parametrize("steps", [[1, 1, 1, 1, 1, 1], [3, 2, 1]])
def test_a_cache_gives_what_one_pass_gives(position, num_kv_heads, projections, steps):
    own = {"num_kv_heads": num_kv_heads, "value_head_dim": 3, "out_dim": 5}
    own = {"out_proj": False} if projections == "slice" else own
    positions = POSITIONS[position]()
    layer = MultiHead(DIM, HEADS, projections=projections, positions=positions, **own).double()
    x = words(6)
    whole = layer(x, mask=Mask.causal()).context
    cache, parts = layer.empty_cache(B), []
    for part in x.split(steps, dim=1):
        before = cache
        step = layer(part, cache=cache, mask=Mask.causal(corner="bottom-right"))
        assert before.length == cache.length  # handed back, not written to
        cache = step.cache
        parts.append(step.context)
    assert cache.length == 6
    torch.testing.assert_close(torch.cat(parts, 1), whole)


def test_a_cache_of_other_sentences():
    layer = MultiHead(DIM, HEADS).double()
    x = words(3)
    cache = layer(x[:, :2], mask=Mask.causal()).cache
    swapped = layer(x[[1, 0], 2:], cache=cache.select(torch.tensor([1, 0]))).context
    torch.testing.assert_close(swapped[[1, 0]], layer(x[:, 2:], cache=cache).context)


def test_memory_is_projected_once():
    layer = MultiHead(DIM, HEADS).double()
    query, memory = words(), words(K)
    expected = layer(query, memory, mask=Mask.lengths([6, 2])).context
    held = layer.memory(memory)
    got = layer(query, memory=held, mask=Mask.lengths([6, 2]))
    assert torch.equal(got.context, expected)
    assert got.cache is None


@pytest.mark.parametrize(
    "score",
    [ScaledDot(softcap=2.0), Additive(2, 2, 5), General(2, 2)],
    ids=lambda s: type(s).__name__,
)
def test_any_score_within_the_heads(score):
    layer = MultiHead(DIM, HEADS, score=score).double()
    x = words()
    got = layer(x, mask=Mask.causal(), weights=True)
    assert got.weights.shape == (B, HEADS, Q, Q)
    assert (got.weights.triu(1) == 0).all()
    torch.testing.assert_close(got.weights.sum(-1), torch.ones(B, HEADS, Q, dtype=F64))


def test_causal_means_the_future_cannot_be_felt():
    layer = MultiHead(DIM, HEADS).double()
    x = words(6)
    later = x.clone()
    later[:, 4:] = words(2)
    a, b = (layer(y, mask=Mask.causal()).context[:, :4] for y in (x, later))
    assert torch.equal(a, b)


def test_without_positions_order_is_not_seen():
    layer = MultiHead(DIM, HEADS).double()
    x, order = words(6), torch.randperm(6)
    torch.testing.assert_close(layer(x[:, order]).context, layer(x).context[:, order])


def test_dropout_only_while_training():
    layer = MultiHead(DIM, HEADS, dropout=0.5).double()
    x = words()
    assert not torch.equal(layer(x).context, layer(x).context)
    layer.eval()
    assert torch.equal(layer(x).context, layer(x).context)


def test_loads_within_a_larger_model():
    theirs = torch.nn.TransformerEncoderLayer(DIM, HEADS, dropout=0.0, batch_first=True)
    holder = torch.nn.Module()
    holder.self_attn = MultiHead(DIM, HEADS)
    holder.load_state_dict(
        {n: x for n, x in theirs.state_dict().items() if n.startswith("self_attn")}
    )
    x = words().float()
    expected = theirs.self_attn(x, x, x, need_weights=False)[0]
    torch.testing.assert_close(holder.self_attn(x).context, expected)


def test_memory_asked_step_by_step():
    """The query's position is told, since no cache tells it."""
    layer = MultiHead(DIM, HEADS, positions=Rotary(2)).double()
    query, memory = words(4), layer.memory(words(K))
    whole = layer(query, memory=memory).context
    steps = [layer(query[:, i : i + 1], memory=memory, offset=i).context for i in range(4)]
    torch.testing.assert_close(torch.cat(steps, 1), whole)


@pytest.mark.parametrize("bias", [Alibi(HEADS), RelativeBias(HEADS).double()], ids=str)
def test_a_position_bias_as_an_argument_knows_the_cache(bias):
    layer, x = MultiHead(DIM, HEADS).double(), words(5)
    whole = layer(x, mask=Mask.causal(), bias=bias).context
    first = layer(x[:, :3], mask=Mask.causal(), bias=bias)
    rest = layer(x[:, 3:], mask=Mask.causal(corner="bottom-right"), bias=bias, cache=first.cache)
    torch.testing.assert_close(torch.cat([first.context, rest.context], 1), whole)


def test_positions_and_another_bias_add_up():
    x, bias = words(), torch.randn(Q, Q, dtype=F64)
    bias[2] = -torch.inf
    for engine in ("dense", "fused", "blockwise"):
        layer = MultiHead(DIM, HEADS, positions=Alibi(HEADS), engine=engine, bias=False).double()
        got = layer(x, bias=bias, weights=True)
        assert (got.context[:, 2] == 0).all()
        distance = torch.arange(Q)[None] - torch.arange(Q)[:, None]
        plain = MultiHead(DIM, HEADS, engine=engine, bias=False).double()
        plain.load_state_dict(layer.state_dict())
        expected = plain(x, bias=bias + Alibi(HEADS)(distance), weights=True)
        torch.testing.assert_close(got.weights, expected.weights)


def test_empty_batches_and_lengths():
    layer = MultiHead(DIM, HEADS).double()
    for batch, length in ((0, 3), (2, 0), (0, 0)):
        assert layer(torch.zeros(batch, length, DIM, dtype=F64)).context.shape == (
            batch,
            length,
            DIM,
        )


def test_a_frozen_layer_stays_frozen_when_converted():
    layer = MultiHead(DIM, HEADS)
    layer.query_proj.requires_grad_(False)
    separate = layer.with_projections("separate")
    assert not any(p.requires_grad for p in separate.query_proj.parameters())
    assert all(p.requires_grad for p in separate.key_proj.parameters())


def test_what_cannot_be_loaded_says_so():
    theirs = torch.nn.MultiheadAttention(DIM, HEADS, add_bias_kv=True)
    with pytest.raises(ValueError, match="add_bias_kv=True"):
        MultiHead(DIM, HEADS).load_state_dict(theirs.state_dict())
    plain = torch.nn.MultiheadAttention(DIM, HEADS)
    with pytest.raises(ValueError, match="slice"):
        MultiHead(DIM, HEADS, projections="slice").load_state_dict(plain.state_dict())
