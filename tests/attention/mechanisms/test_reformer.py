"""Hashed attention is exactly the softmax over the pairs that some round brings together."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from processes import run
from regard.attention import Mask, ScaledDot, attend
from regard.attention.mechanisms import reformer as module
from regard.attention.mechanisms.mechanism import AttentionInput
from regard.attention.mechanisms.reformer import Reformer

F64 = torch.float64
MASKS = {
    "none": None,
    "causal": Mask.causal(),
    "lengths": Mask.lengths([7, 0]),
    "both": Mask.lengths([3, 11]) & Mask.causal(),
}


def shared(n, width=6, dtype=F64):
    """Queries, which are the keys, and values."""
    return [torch.randn(2, 2, n, d, dtype=dtype, requires_grad=True) for d in (width, 3)]


def met(reformer, key, lengths, causal):
    """(B, H, n, n): who sees whom, by loops over words, as the docstring tells it."""
    batch, heads, n, _ = key.shape
    seen = torch.zeros(batch, heads, n, n, dtype=torch.bool)
    for b in range(batch):
        for h in range(heads):
            shown = range(min(n, lengths[b]))
            for rotation in reformer.rotations:
                turned = key[b, h] @ rotation.to(key.dtype)
                bucket = torch.cat([turned, -turned], -1).argmax(-1).tolist()
                chunk_of = {i: bucket[:i].count(bucket[i]) // reformer.chunk for i in shown}
                for i in shown:
                    for j in shown:
                        alike = bucket[i] == bucket[j] and chunk_of[i] - chunk_of[j] in (0, 1)
                        if alike and i != j and not (causal and j > i):
                            seen[b, h, i, j] = True
            for i in shown:
                if not seen[b, h, i].any():
                    seen[b, h, i, i] = True
    return seen


@settings(max_examples=40)
@given(
    n=st.integers(1, 30),
    chunk=st.integers(1, 9),
    rounds=st.integers(1, 4),
    buckets=st.sampled_from([2, 4, 8]),
    mask=st.sampled_from(sorted(MASKS)),
    split=st.booleans(),
)
def test_the_softmax_over_the_pattern(n, chunk, rounds, buckets, mask, split):
    reformer = Reformer(6, chunk=chunk, num_buckets=buckets, num_rounds=rounds).double()
    key, value = shared(n)
    lengths = {"lengths": [7, 0], "both": [3, 11]}.get(mask, [n, n])
    seen = met(reformer, key, lengths, mask in ("causal", "both"))
    exact = attend(
        key, reformer.scaled_keys(key), value, score=ScaledDot(), mask=Mask.keep(seen)
    ).context
    with pytest.MonkeyPatch.context() as patch:
        if split:
            patch.setattr(module, "NUMBERS_AT_ONCE", 1)
        got = reformer(key, key, value, mask=MASKS[mask], weights=True)
        torch.testing.assert_close(got.context, exact)
        assert torch.equal(got.weights > 0, seen)
        grads = [torch.autograd.grad(x.sin().sum(), (key, value)) for x in (got.context, exact)]
    for our, their in zip(*grads, strict=True):
        torch.testing.assert_close(our, their)


def test_scores_are_of_unit_keys():
    key, value = shared(5)
    reformer = Reformer(6, num_buckets=2, num_rounds=8).double()
    got = reformer(key, key, value, weights=True).weights
    scores = key @ (key / key.norm(dim=-1, keepdim=True)).mT
    scores = scores.masked_fill(got == 0, -torch.inf)
    torch.testing.assert_close(got, scores.softmax(-1))


@pytest.mark.parametrize("chunk", [2, 8, 40])
@pytest.mark.parametrize("pieces", [[1] * 30, [6, 1, 23]])
def test_word_by_word_even_where_buckets_outgrow_their_chunks(pieces, chunk):
    reformer = Reformer(6, chunk=chunk, num_buckets=4, num_rounds=3).double()
    key, value = shared(30)
    cache, found = reformer.empty(key[..., :0, :], value[..., :0, :]), []
    for k, v in zip(key.split(pieces, -2), value.split(pieces, -2), strict=True):
        attended = reformer.decode_step(k, k, v, cache)
        cache = attended.cache.select(torch.tensor([0, 1]))
        found.append(attended.context)
    whole = reformer(key, key, value, mask=Mask.causal()).context
    torch.testing.assert_close(torch.cat(found, -2), whole)
    assert cache.length == 30


def test_words_to_come_do_not_change_who_sees_whom():
    """Were buckets to share chunks, a word to come could push others over a chunk's border."""
    reformer, (key, value) = Reformer(6, chunk=2, num_buckets=4).double(), shared(30)
    whole = reformer(key, key, value, mask=Mask.causal()).context
    for cut in (3, 11, 20):
        k, v = key[..., :cut, :], value[..., :cut, :]
        early = reformer(k, k, v, mask=Mask.causal()).context
        torch.testing.assert_close(early, whole[..., :cut, :])


def test_queries_that_are_the_last_of_the_keys():
    reformer, (key, value) = Reformer(6, chunk=4).double(), shared(15)
    whole = reformer(key, key, value, mask=Mask.causal()).context
    last = Mask.causal(corner="bottom-right")
    some = reformer(key[..., 9:, :], key, value, mask=last).context
    torch.testing.assert_close(some, whole[..., 9:, :])
    with pytest.raises(ValueError, match="queries are among its keys"):
        reformer(key, key[..., 9:, :], value[..., 9:, :])


def test_words_beyond_a_sentence_change_nothing():
    reformer, (key, value) = Reformer(6, chunk=4).double(), shared(15)
    lengths = torch.tensor([11, 6])
    with torch.no_grad():
        for b, n in enumerate(lengths.tolist()):
            key[b, :, n:], value[b, :, n:] = torch.nan, torch.inf
    padded = reformer(key, key, value, mask=Mask.lengths(lengths)).context
    for b, n in enumerate(lengths.tolist()):
        k, v = key[b : b + 1, :, :n], value[b : b + 1, :, :n]
        torch.testing.assert_close(padded[b : b + 1, :, :n], reformer(k, k, v).context)


def test_the_pattern_is_the_same_in_parts():
    reformer, (key, value) = Reformer(6, chunk=4).double(), shared(15)
    call = AttentionInput(key, key, value, None, None, causal=False)
    whole = reformer.pattern(call).tensor(15, 15, batch=(2, 2))
    shown = reformer.weight_source(call).weights(torch.tensor([3, 14]), torch.tensor([1]))
    assert torch.equal(shown > 0, whole[:, 1:, [3, 14]])


def test_rotations_are_saved_and_settings_checked():
    one, other = Reformer(6), Reformer(6)
    other.load_state_dict(one.state_dict())
    assert torch.equal(one.rotations, other.rotations)
    with pytest.raises(ValueError, match="even"):
        Reformer(6, num_buckets=7)


LONG = """
import torch
from regard.attention import Mask
from regard.attention.mechanisms.reformer import Reformer
from regard.bench.clock import own_peak_megabytes
torch.set_num_threads(1)
before = own_peak_megabytes()
key, value = (torch.randn(1, 2, 8192, 16, requires_grad=True) for _ in range(2))
Reformer(16)(key, key, value, mask=Mask.causal()).context.sum().backward()
print(own_peak_megabytes() - before)
"""


def test_eight_thousand_words_and_back():
    """A boolean for every pair would be 128 MB, the scores 512 MB."""
    done = run(code=LONG)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 200


def test_many_buckets_are_two_hashes_taken_together():
    reformer = Reformer(6, num_buckets=512)
    assert reformer.rotations.shape == (4, 6, 24)
    buckets = reformer._hashes(torch.randn(1, 1, 20_000, 6))
    assert int(buckets.min()) >= 0
    assert 400 < len(buckets.unique()) <= 512
    key = torch.randn(1, 1, 1, 6)
    near, far = (reformer._hashes(x) for x in (key * 3, -key))
    assert torch.equal(near, reformer._hashes(key))
    assert not torch.equal(far, near)
