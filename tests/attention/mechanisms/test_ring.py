"""A sequence split over processes is attended as if it were whole; run as a script: one rank."""

import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from processes import Process
from regard.attention import Mask, ScaledDot, attend
from regard.attention.mechanisms.ring import Ring, gathered, own_shard, ring_attention

WORDS, RANKS = 24, 4
CASES = {
    "all": (False, None),
    "causal": (True, None),
    "lengths": (False, [24, 7, 0]),
    "both": (True, [24, 13, 1]),
}


def heads(dtype=torch.float32):
    torch.manual_seed(1)
    return [torch.randn(3, 2, WORDS, d, dtype=dtype, requires_grad=True) for d in (8, 8, 5)]


def mask_of(causal, lengths):
    mask = None if lengths is None else Mask.lengths(lengths)
    if not causal:
        return mask
    return Mask.causal() if mask is None else mask & Mask.causal()


def attended_whole(inputs, causal, lengths):
    """Context and gradients of full attention."""
    context = attend(*inputs, score=ScaledDot(), mask=mask_of(causal, lengths)).context
    return context, *torch.autograd.grad(context.sin().sum(), inputs)


def check_every_case(group):
    for dtype, near in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
        for causal, lengths in CASES.values():
            whole = heads(dtype)
            expected = attended_whole(whole, causal, lengths)
            shards = [own_shard(x.detach(), -2, group).requires_grad_() for x in whole]
            numbers = None if lengths is None else torch.tensor(lengths)
            context = ring_attention(*shards, causal=causal, lengths=numbers, group=group)
            found = context, *torch.autograd.grad(context.sin().sum(), shards)
            for ours, theirs in zip(found, expected, strict=True):
                part = own_shard(theirs, -2, group)
                torch.testing.assert_close(ours, part, atol=near, rtol=near)


def check_the_module():
    whole = heads()
    expected, *_ = attended_whole(whole, True, [24, 13, 1])
    ring, mask = Ring(), mask_of(True, [24, 13, 1])
    shards = [own_shard(x, -2) for x in whole]
    torch.testing.assert_close(ring(*shards, mask=mask).context, own_shard(expected, -2))
    torch.testing.assert_close(ring.eval()(*whole, mask=mask).context, expected)


def check_gathering():
    """Each rank weighs the whole by its own factor: a shard's gradient is their sum."""
    rank, number = dist.get_rank(), dist.get_world_size()
    whole = torch.arange(2.0 * WORDS).reshape(2, WORDS)
    shard = own_shard(whole, 1).clone().requires_grad_()
    again = gathered(shard, 1)
    assert torch.equal(again, whole)
    again.square().mul(rank + 1).sum().backward()
    factor = number * (number + 1) / 2
    torch.testing.assert_close(shard.grad, 2 * shard.detach() * factor)


def be_rank(rank, meeting):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=int(rank), world_size=RANKS
    )
    pairs = [dist.new_group([i, i + 1]) for i in range(0, RANKS, 2)]
    check_every_case(None)
    check_every_case(pairs[int(rank) // 2])
    check_the_module()
    check_gathering()
    dist.barrier()
    dist.destroy_process_group()


def test_rings_of_two_and_four_agree_with_full_attention(tmp_path):
    meeting = str(tmp_path / "meeting")
    code = Path(__file__).read_text()
    ranks = [Process(rank, meeting, code=code) for rank in range(RANKS)]
    errors = [rank.communicate(timeout=120)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * RANKS, "\n".join(errors)


@pytest.mark.parametrize("case", CASES)
def test_alone_it_is_full_attention(case):
    inputs, (causal, lengths) = heads(torch.float64), CASES[case]
    expected = attended_whole(inputs, causal, lengths)
    numbers = None if lengths is None else torch.tensor(lengths)
    for context in (
        Ring()(*inputs, mask=mask_of(causal, lengths)).context,
        ring_attention(*inputs, causal=causal, lengths=numbers),
    ):
        found = context, *torch.autograd.grad(context.sin().sum(), inputs)
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, theirs)


def test_what_is_hidden_may_be_anything():
    query, key, value = heads()
    with torch.no_grad():
        key[1, :, 7:], value[1, :, 7:] = torch.nan, torch.inf
    context = ring_attention(query, key, value, lengths=torch.tensor([24, 7, 0]))
    context.sum().backward()
    assert torch.isfinite(context).all()
    assert all(torch.isfinite(x.grad).all() for x in (query, key, value))
    assert (context[2] == 0).all()


def test_its_way_back_is_the_derivative():
    inputs = [torch.randn(1, 1, 4, 3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    assert torch.autograd.gradcheck(lambda *x: ring_attention(*x, causal=True), inputs)


def test_word_by_word():
    ring, inputs = Ring().eval(), heads(torch.float64)
    cache, found = ring.empty(*(x[..., :0, :] for x in inputs[1:])), []
    for q, k, v in zip(*(x.split([5, 1, 18], -2) for x in inputs), strict=True):
        attended = ring.decode_step(q, k, v, cache)
        cache = attended.cache
        found.append(attended.context)
    whole = attended_whole(inputs, True, None)[0]
    torch.testing.assert_close(torch.cat(found, -2), whole)


def test_without_ranks_nothing_is_split():
    x = torch.randn(2, 3)
    assert gathered(x, 1) is x
    assert torch.equal(own_shard(x, 1), x)
    with pytest.raises(ValueError, match="equal shards"):
        query, key, value = heads()
        ring_attention(query[..., 1:, :], key, value)


if __name__ == "__main__":
    be_rank(*sys.argv[1:])
