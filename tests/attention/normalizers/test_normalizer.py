"""What every normaliser promises inside attention, on every engine it declares."""

import math

import pytest
import torch
from torch.autograd import gradcheck

from families import NORMALIZER_PAIRS, NORMALIZERS, SCORES, WIDTH
from regard.attention import NORMALIZERS as BY_NAME
from regard.attention import (
    ForceAlignment,
    Mask,
    MultiHead,
    ScaledDot,
    Sigmoid,
    SwitchOff,
    attend,
    entmax15,
    intervene,
    record,
    sparsemax,
)

B, H, Q, K, DV = 2, 3, 5, 7, 3
F64 = torch.float64
pairs = pytest.mark.parametrize(("name", "engine"), NORMALIZER_PAIRS, ids=str)
every = pytest.mark.parametrize("name", NORMALIZERS)


def sigmoid(row, bias):
    seen = int((row > -math.inf).sum())
    return torch.sigmoid(row + (-math.log(max(seen, 1)) if bias is None else bias))


WRITTEN_OUT = {
    "softmax": lambda row: torch.softmax(row, -1),
    "sparsemax": sparsemax,
    "entmax15": entmax15,
    "sigmoid": lambda row: sigmoid(row, None),
    "sigmoid_plain": lambda row: sigmoid(row, 0.0),
    "sigmoid_given": lambda row: sigmoid(row, -2.5),
}


def inputs(dtype=F64, q=Q, k=K, grad=True):
    sizes = ((q, WIDTH), (k, WIDTH), (k, DV))
    return [torch.randn(B, H, *size, dtype=dtype, requires_grad=grad) for size in sizes]


def by_rows(name, scores):
    """The weights row by row over the visible keys alone, as if the hidden ones were not there."""
    weights = torch.zeros_like(scores)
    for place in torch.cartesian_prod(*(torch.arange(n) for n in scores.shape[:-1])).tolist():
        seen = scores[tuple(place)] > -math.inf
        if seen.any():
            weights[tuple(place)][seen] = WRITTEN_OUT[name](scores[tuple(place)][seen])
    return weights


SOME_SCORES = ("scaled_dot", "gaussian", "additive", "user_defined")
TRIPLES = [(n, e, s) for n, e in NORMALIZER_PAIRS for s in SOME_SCORES if e in SCORES[s]().engines]


@pytest.mark.parametrize(("name", "engine", "score"), TRIPLES, ids=str)
@pytest.mark.parametrize("hidden", ["nothing", "by mask", "by bias", "by both"])
def test_the_written_out_answer(name, engine, score, hidden):
    score, (query, key, value) = SCORES[score]().double(), inputs(grad=False)
    keep, bias = torch.rand(B, H, Q, K) > 0.4, torch.randn(Q, K, dtype=F64)
    keep[0, 1, 2] = False
    bias[0, 1:3] = -math.inf
    keep = keep if "mask" in hidden or "both" in hidden else None
    bias = bias if "bias" in hidden or "both" in hidden else None
    scores = score(query, key).detach() + (0 if bias is None else bias)
    scores = scores if keep is None else scores.masked_fill(~keep, -math.inf)
    got = attend(
        query,
        key,
        value,
        score=score,
        mask=keep,
        bias=bias,
        normalizer=NORMALIZERS[name](),
        engine=engine,
        weights=True,
    )
    weights = by_rows(name, scores)
    torch.testing.assert_close(got.weights, weights)
    assert (got.weights[scores == -math.inf] == 0).all()
    torch.testing.assert_close(got.context, weights @ value)
    torch.testing.assert_close(got.logsumexp, torch.logsumexp(scores, -1))


@pairs
def test_gradients_are_exact(name, engine):
    query, key, value = (x[:1, :1].detach().requires_grad_() for x in inputs(q=4, k=5))
    bias = torch.randn(1, 4, 5, dtype=F64, requires_grad=True)
    mask = Mask.causal() & Mask.lengths([4])

    def run(q, k, v, b):
        got = attend(
            q,
            k,
            v,
            score=ScaledDot(),
            mask=mask,
            bias=b,
            normalizer=NORMALIZERS[name](),
            engine=engine,
        )
        return got.context, got.logsumexp

    assert gradcheck(run, (query, key, value, bias))


@pairs
def test_a_row_that_sees_nothing_is_exactly_zero(name, engine):
    query, key, value = inputs()
    keep = torch.rand(B, H, Q, K) > 0.5
    keep[0, 1, 2] = False
    keep[1] = False
    arguments = {"normalizer": NORMALIZERS[name](), "engine": engine, "score": ScaledDot()}
    got = attend(query, key, value, mask=keep, weights=True, **arguments)
    empty = ~keep.any(-1)
    assert (got.context[empty] == 0).all()
    assert (got.weights[empty] == 0).all()
    assert (got.logsumexp[empty] == -math.inf).all()
    (got.context.square().sum() + got.weights.square().sum()).backward()
    assert all(torch.isfinite(x.grad).all() for x in (query, key, value))
    assert (query.grad[empty] == 0).all()
    assert (key.grad[1] == 0).all() and (value.grad[1] == 0).all()


@pairs
def test_the_sum_is_what_is_declared(name, engine):
    normalizer, (query, key, value) = NORMALIZERS[name](), inputs()
    arguments = {"normalizer": normalizer, "engine": engine, "score": ScaledDot()}
    weights = attend(query, key, value, mask=Mask.causal(), weights=True, **arguments).weights
    assert normalizer.sums_to_one == torch.allclose(weights.sum(-1), weights.new_ones(()))


@pairs
@pytest.mark.parametrize("keys", [0, 1])
def test_no_key_and_one(name, engine, keys):
    query, key, value = inputs(k=keys)
    arguments = {"normalizer": NORMALIZERS[name](), "engine": engine, "score": ScaledDot()}
    got = attend(query, key, value, weights=True, **arguments)
    assert got.context.shape == (B, H, Q, DV) and got.weights.shape == (B, H, Q, keys)
    if keys == 0:
        assert (got.context == 0).all()
    elif NORMALIZERS[name]().sums_to_one:
        assert (got.weights == 1).all()
    got.context.sum().backward()
    assert query.grad is None or torch.isfinite(query.grad).all()


@pairs
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_sums_in_float32(name, engine, dtype):
    query, key, value = inputs(dtype, k=300, grad=False)
    arguments = {"normalizer": NORMALIZERS[name](), "engine": engine, "score": ScaledDot()}
    got = attend(query, key, value, weights=True, **arguments)
    exact = attend(query.double(), key.double(), value.double(), weights=True, **arguments)
    assert got.context.dtype == got.weights.dtype == dtype
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(got.weights.double(), exact.weights, rtol=eps, atol=1e-5)
    torch.testing.assert_close(got.context.double(), exact.context, rtol=eps, atol=2 * eps)


@every
def test_huge_scores(name):
    normalizer = NORMALIZERS[name]()
    scores = torch.tensor([[3e38, 1.0, -3e38, -math.inf]], requires_grad=True)
    weights = normalizer(scores)
    assert torch.isfinite(weights).all() and weights[0, 0] == 1 and weights[0, 3] == 0
    weights.sum().backward()
    assert torch.isfinite(scores.grad).all()


@pairs
def test_looking_never_changes_the_answer(name, engine):
    query, key, value = inputs(torch.float32, q=33, k=65, grad=False)
    arguments = {
        "score": ScaledDot(),
        "mask": Mask.causal(20),
        "normalizer": NORMALIZERS[name](),
        "engine": engine,
    }
    blind = attend(query, key, value, **arguments).context
    asked = attend(query, key, value, **arguments, weights=True)
    with record(heads=[2], rows=[0, 31]) as some:
        watched = attend(query, key, value, **arguments).context
    assert torch.equal(blind, asked.context) and torch.equal(blind, watched)
    torch.testing.assert_close(some[0].weights, asked.weights[:, 2:, [0, 31]])


@every
def test_in_a_layer_with_cache_looked_at_and_touched(name):
    layer = MultiHead(8, 2, normalizer=NORMALIZERS[name]()).eval()
    x = torch.randn(2, 5, 8)
    whole = layer(x, mask=Mask.causal(), weights=True)
    cache, steps = layer.empty_cache(2), []
    for step in x.split(1, dim=1):
        got = layer(step, cache=cache, mask=Mask.causal(corner="bottom-right"))
        cache = got.cache
        steps.append(got.context)
    torch.testing.assert_close(torch.cat(steps, 1), whole.context)
    edits = [SwitchOff(heads=0, batch=0), ForceAlignment(links={3: 1}, heads=1, batch=1)]
    with intervene(layer, edits), record(layer) as recording:
        touched = layer(x, mask=Mask.causal()).context
    assert not torch.allclose(touched[0], whole.context[0])
    assert torch.equal(touched[1, [0, 1, 2, 4]], whole.context[1, [0, 1, 2, 4]])
    assert recording[0].weights[1, 1, 3].tolist() == [0, 1, 0, 0, 0]
    torch.testing.assert_close(recording[0].weights[0], whole.weights[0])


@every
def test_padding_does_not_matter(name):
    """A short sentence gives the same in a longer batch, also where −log n asks for its length."""
    layer = MultiHead(8, 2, normalizer=NORMALIZERS[name]())
    x = torch.randn(1, 3, 8)
    padded = torch.cat([x, torch.randn(1, 4, 8)], dim=1)
    expected = layer(x).context
    torch.testing.assert_close(layer(padded, mask=Mask.lengths([3])).context[:, :3], expected)


class Layer(torch.nn.Module):
    def __init__(self, normalizer):
        super().__init__()
        self.attention = MultiHead(8, 2, normalizer=normalizer)

    def forward(self, x):
        return self.attention(x, mask=Mask.causal()).context


@every
def test_compiled_and_exported(name):
    torch.compiler.reset()
    normalizer = NORMALIZERS[name]()

    def run(query, key, value, lengths):
        mask = Mask.lengths(lengths) & Mask.causal()
        return attend(
            query, key, value, score=ScaledDot(), mask=mask, normalizer=normalizer
        ).context

    given = (*inputs(torch.float32), torch.tensor([3, 0]))
    compiled = torch.compile(run, backend="aot_eager", fullgraph=True)
    outputs = [f(*given) for f in (run, compiled)]
    torch.testing.assert_close(*outputs)
    torch.testing.assert_close(
        *[torch.autograd.grad(x.sin().sum(), given[:3], allow_unused=True) for x in outputs]
    )
    layer = Layer(normalizer).eval()
    length = torch.export.Dim("length", min=2, max=512)
    program = torch.export.export(layer, (torch.randn(2, 5, 8),), dynamic_shapes=({1: length},))
    x = torch.randn(2, 17, 8)
    torch.testing.assert_close(program.module()(x), layer(x))


@every
def test_autocast(name):
    layer = MultiHead(8, 2, normalizer=NORMALIZERS[name]())
    x = torch.randn(2, 5, 8, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        half = layer(x, mask=Mask.lengths([5, 3])).context
    torch.testing.assert_close(
        half.float(), layer(x, mask=Mask.lengths([5, 3])).context, atol=0.06, rtol=0.05
    )
    half.float().sum().backward()
    assert torch.isfinite(x.grad).all()


def test_a_sigmoid_row_weighs_about_as_much_as_softmax():
    scores = torch.randn(1, 40, 1000) / 4
    total = Sigmoid()(scores).sum(-1)
    assert (total - 1).abs().max() < 0.1
    assert Sigmoid(bias=0.0)(scores).sum(-1).min() > 400


def test_names_and_errors():
    assert {name: make().sums_to_one for name, make in BY_NAME.items()} == {
        "softmax": True,
        "sparsemax": True,
        "entmax15": True,
        "sigmoid": False,
    }
    assert [repr(make()) for make in NORMALIZERS.values()] == [
        "Softmax()",
        "Sparsemax()",
        "Entmax15()",
        "Sigmoid()",
        "Sigmoid(bias=0.0)",
        "Sigmoid(bias=-2.5)",
    ]
    with pytest.raises(TypeError, match="bias must be a number, got 'log'"):
        Sigmoid(bias="log")
    query, key, value = inputs()
    with pytest.raises(
        ValueError, match=r"'fused' cannot run .* with Sparsemax\(\); it runs on de"
    ):
        attend(
            query, key, value, score=ScaledDot(), normalizer=BY_NAME["sparsemax"](), engine="fused"
        )
