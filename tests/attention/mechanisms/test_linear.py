"""Linear attention against its formula written out, across the borders of chunks."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from processes import run
from regard.attention import Mask
from regard.attention.inspection import observe
from regard.attention.mechanisms import kernel_scan
from regard.attention.mechanisms.linear import LinearAttention

F64 = torch.float64


def heads(*lengths, width=5, dtype=F64, sentences=2):
    return [torch.randn(sentences, 2, n, width, dtype=dtype, requires_grad=True) for n in lengths]


def written_out(query, key, value, mask):
    """φ(q)·φ(k) for every pair, and a division."""
    pairs = (F.elu(query) + 1) @ (F.elu(key) + 1).mT
    if mask is not None:
        keep = mask.tensor(query.shape[-2], key.shape[-2], batch=query.shape[:2])
        pairs = pairs.masked_fill(~keep, 0.0)
    mass = pairs.sum(-1, keepdim=True)
    return pairs @ value / torch.where(mass == 0, 1.0, mass)


MASKS = {
    "none": None,
    "causal": Mask.causal(corner="bottom-right"),
    "lengths": Mask.lengths([4, 0]),
    "both": Mask.lengths([3, 9]) & Mask.causal(corner="bottom-right"),
}


@given(
    queries=st.integers(1, 11),
    keys=st.integers(1, 11),
    chunk=st.integers(1, 12),
    block=st.integers(1, 12),
    mask=st.sampled_from(sorted(MASKS)),
)
def test_the_formula_at_any_chunk(queries, keys, chunk, block, mask):
    query, key, value = heads(queries, keys, keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_scan, "CHUNK", chunk)
        patch.setattr(kernel_scan, "BLOCK", block)
        ours = LinearAttention()(query, key, value, mask=MASKS[mask]).context
        theirs = written_out(query, key, value, MASKS[mask])
        torch.testing.assert_close(ours, theirs)
        grads = [
            torch.autograd.grad(x.sin().sum(), (query, key, value), allow_unused=True)
            for x in (ours, theirs)
        ]
    for our, their in zip(*grads, strict=True):
        torch.testing.assert_close(torch.zeros_like(their) if our is None else our, their)


def test_gradients_through_chunks_and_the_sums_before_them(monkeypatch):
    monkeypatch.setattr(kernel_scan, "CHUNK", 2)
    query, key, value = heads(5, 5, 5, width=3, sentences=1)
    sums, mass = (
        torch.rand(1, 2, *shape, dtype=F64, requires_grad=True) for shape in ((3, 3), (3,))
    )

    def run(query, key, value, sums, mass):
        state = kernel_scan.KernelState(sums, mass, None)
        context, after = kernel_scan.scan(LinearAttention(), query, key, value, state, causal=True)
        return context, after.sums, after.mass

    assert torch.autograd.gradcheck(run, (query, key, value, sums, mass))


def test_far_below_zero_features_do_not_vanish():
    query, key, value = (x.float() - 30 for x in heads(6, 6, 6))
    got = LinearAttention()(query, key, value).context
    exact = LinearAttention()(query.double(), key.double(), value.double()).context
    assert (got != 0).all()
    torch.testing.assert_close(got, exact.float(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pieces", [[1] * 13, [5, 1, 7], [13]])
def test_word_by_word(pieces, monkeypatch):
    monkeypatch.setattr(kernel_scan, "CHUNK", 3)
    linear, (query, key, value) = LinearAttention(), heads(13, 13, 13)
    cache, found = linear.empty(key[..., :0, :], value[..., :0, :]), []
    for q, k, v in zip(*(x.split(pieces, -2) for x in (query, key, value)), strict=True):
        attended = linear.decode_step(q, k, v, cache)
        cache = attended.cache
        found.append(attended.context)
    whole = linear(query, key, value, mask=Mask.causal()).context
    torch.testing.assert_close(torch.cat(found, -2), whole)
    assert cache.length == 13
    chosen = cache.select(torch.tensor([1, 1, 0]))
    assert chosen.length == 13
    assert torch.equal(chosen.sums, cache.sums[[1, 1, 0]])


@torch.no_grad()
def test_a_step_costs_the_same_after_ten_thousand_words():
    """What a step reads does not grow; `regard bench mechanisms` measures its time."""
    linear = LinearAttention()
    query, key, value = heads(10_000, 10_000, 10_000, width=16, dtype=torch.float32)

    def steps(after):
        empty = linear.empty(key[..., :0, :], value[..., :0, :])
        cache = linear.decode_step(
            query[..., :after, :], key[..., :after, :], value[..., :after, :], empty
        ).cache
        for _ in range(3):
            cache = linear.decode_step(
                query[..., :1, :], key[..., :1, :], value[..., :1, :], cache
            ).cache
        return cache

    early, late = steps(100), steps(10_000)
    assert early.sums.shape == late.sums.shape == (2, 2, 16, 16)
    assert early.mass.shape == late.mass.shape


def test_word_by_word_there_is_no_map_to_look_at():
    linear, (query, key, value) = LinearAttention(), heads(1, 1, 1)
    cache = linear.empty(key[..., :0, :], value[..., :0, :])
    with pytest.raises(ValueError, match="caches no keys"):
        linear.decode_step(query, key, value, cache, weights=True)
    calls = []
    with observe.observing(lambda sight: calls.append(sight) or sight):
        linear.decode_step(query, key, value, cache)
        linear(query, key, value)
    assert [getattr(call.source, "over", "keys") for call in calls] == ["none", "keys"]
    with pytest.raises(ValueError, match="cannot be shown"):
        calls[0].weights()


def test_rows_and_heads_of_the_map():
    linear, (query, key, value) = LinearAttention(), heads(6, 6, 6)
    mask = Mask.causal() & Mask.lengths([6, 2])
    whole = linear(query, key, value, mask=mask, weights=True).weights
    calls = []
    with observe.observing(lambda sight: calls.append(sight) or sight):
        linear(query, key, value, mask=mask)
    some = calls[0].weights(torch.tensor([4, 1]), torch.tensor([1]))
    torch.testing.assert_close(some, whole[:, 1:][:, :, [4, 1]])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_sums_in_float32(dtype):
    query, key, value = (x.detach().to(dtype) for x in heads(700, 700, 700, dtype=torch.float32))
    got = LinearAttention()(query, key, value, mask=Mask.causal()).context
    exact = LinearAttention()(
        query.double(), key.double(), value.double(), mask=Mask.causal()
    ).context
    assert got.dtype == dtype
    torch.testing.assert_close(got.double(), exact, atol=0.01, rtol=0.01)


def test_compiled(monkeypatch):
    monkeypatch.setattr(kernel_scan, "CHUNK", 3)
    torch.compiler.reset()
    query, key, value = heads(7, 7, 7)

    def run():
        return LinearAttention()(query, key, value, mask=Mask.causal()).context

    compiled = torch.compile(run, backend="aot_eager", fullgraph=True)()
    torch.testing.assert_close(compiled, run())
    grads = [torch.autograd.grad(x.sin().sum(), query) for x in (compiled, run())]
    torch.testing.assert_close(*grads)


LONG = """
import torch
from regard.attention import Mask
from regard.attention.mechanisms.linear import LinearAttention
from regard.bench.clock import own_peak_megabytes
torch.set_num_threads(1)
before = own_peak_megabytes()
x = [torch.randn(1, 2, 16384, 64, requires_grad=True) for _ in range(3)]
LinearAttention()(*x, mask=Mask.causal()).context.sum().backward()
print(own_peak_megabytes() - before)
"""


def test_sixteen_thousand_words_and_back():
    """The scores alone would be 2 GB; input, gradients and answer are 67 MB."""
    done = run(code=LONG)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 140
