"""The blockwise engine crosses the borders of its tiles: the dense one is the judge."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from families import SCORES, WIDTH
from regard.attention import Alibi, Mask, RelativeBias, attend
from regard.attention.engines import blockwise

F64 = torch.float64
MASKS = {
    "none": None,
    "causal": Mask.causal(),
    "cache": Mask.causal(corner="bottom-right"),
    "window": Mask.window(2, 1),
    "lengths": Mask.lengths([7, 0]),
    "lengths and causal": Mask.lengths([3, 9]) & Mask.causal(2),
    "ends or middle": Mask.window(1, 1) | Mask.lengths([1, 2]),
}
BIASES = {
    "none": lambda q, k: None,
    "tensor": lambda q, k: torch.randn(2, 1, q, k, dtype=F64, requires_grad=True),
    "row": lambda q, k: torch.randn(q, 1, dtype=F64, requires_grad=True),
    "alibi": lambda q, k: Alibi(2).double(),
    "relative": lambda q, k: RelativeBias(2, num_buckets=8, max_distance=6).double(),
}


@pytest.mark.parametrize("name", SCORES)
@settings(max_examples=25)
@given(
    queries=st.integers(1, 11),
    keys=st.integers(1, 11),
    tile=st.sampled_from([1, 13, 40, 200]),
    tile_keys=st.integers(1, 12),
    mask=st.sampled_from(sorted(MASKS)),
    bias=st.sampled_from(sorted(BIASES)),
)
def test_every_score_at_any_tile(name, queries, keys, tile, tile_keys, mask, bias):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blockwise, "TILE_SCORES", tile)
        patch.setattr(blockwise, "TILE_KEYS", tile_keys)
        score, added = SCORES[name]().double(), BIASES[bias](queries, keys)
        query = torch.randn(2, 2, queries, WIDTH, dtype=F64, requires_grad=True)
        key, value = (
            torch.randn(2, 2, keys, width, dtype=F64, requires_grad=True) for width in (WIDTH, 3)
        )
        wanted = [query, key, value, *score.parameters()]
        if isinstance(added, torch.Tensor):
            wanted.append(added)
        elif added is not None:
            wanted.extend(added.parameters())
        found = []
        for engine in ("dense", "blockwise"):
            got = attend(
                query, key, value, score=score, mask=MASKS[mask], bias=added, engine=engine
            )
            total = torch.where(got.logsumexp == -torch.inf, 0.0, got.logsumexp)
            loss = got.context.sin().sum() + total.cos().sum()
            grads = torch.autograd.grad(loss, wanted, allow_unused=True)
            full = [
                torch.zeros_like(w) if g is None else g for g, w in zip(grads, wanted, strict=True)
            ]
            found.append([got.context, got.logsumexp, *full])
        for ours, theirs in zip(*reversed(found), strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    "name",
    [
        "scaled_dot",
        pytest.param("additive", marks=pytest.mark.slow),
        pytest.param("user_defined", marks=pytest.mark.slow),
    ],
)
def test_small_tiles_under_autocast_and_compile(name, monkeypatch):
    monkeypatch.setattr(blockwise, "TILE_SCORES", 24)
    monkeypatch.setattr(blockwise, "TILE_KEYS", 4)
    torch.compiler.reset()
    score = SCORES[name]()
    query, key = (torch.randn(1, 2, n, WIDTH, requires_grad=True) for n in (5, 7))

    def run(engine):
        return attend(query, key, key, score=score, mask=Mask.causal(2), engine=engine).context

    expected = run("dense")
    compiled = torch.compile(run, backend="aot_eager", fullgraph=True)("blockwise")
    torch.testing.assert_close(compiled, expected)
    grads = [torch.autograd.grad(x.sin().sum(), (query, key)) for x in (compiled, expected)]
    torch.testing.assert_close(*grads)
    with torch.autocast("cpu", torch.bfloat16):
        half = run("blockwise")
    torch.testing.assert_close(half.float(), expected, atol=0.05, rtol=0.05)
    half.float().sum().backward()
    assert torch.isfinite(query.grad).all()
