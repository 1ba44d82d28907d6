"""Safe under autocast, `torch.compile` and `torch.export`, at one length and at any."""

import pytest
import torch

from families import PAIRS, SCORES, WIDTH
from regard.attention import Additive, Alibi, Mask, MultiHead, Rotary, ScaledDot, attend

FEW = ("scaled_dot", "additive", "location", "user_defined")
"""Scores whose tiles are compiled in the fast suite; the others only in the slow one."""


def call(name, engine):
    score = SCORES[name]()

    def run(query, key, value, lengths):
        mask = Mask.lengths(lengths) & Mask.causal()
        return attend(query, key, value, score=score, mask=mask, engine=engine).context

    return run


def tensors():
    query, key, value = (torch.randn(2, 3, n, WIDTH, requires_grad=True) for n in (5, 7, 7))
    return query, key, value, torch.tensor([3, 0])


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        pytest.param(
            name,
            engine,
            marks=[pytest.mark.slow] if engine == "blockwise" and name not in FEW else [],
        )
        for name, engine in PAIRS
    ],
)
def test_compiled_whole(name, engine):
    """One graph, without a break; what it gives and its gradients are those of plain running."""
    torch.compiler.reset()
    run, inputs = call(name, engine), tensors()
    compiled = torch.compile(run, backend="aot_eager", fullgraph=True)
    outputs = [f(*inputs) for f in (run, compiled)]
    torch.testing.assert_close(*outputs)
    grads = [torch.autograd.grad(x.sin().sum(), inputs[:3], allow_unused=True) for x in outputs]
    torch.testing.assert_close(*grads)


@pytest.mark.slow
@pytest.mark.needs("g++")  # of torch.compile's inductor
@pytest.mark.parametrize(("name", "engine"), PAIRS)
def test_compiled_to_machine_code(name, engine):
    torch.compiler.reset()
    run, inputs = call(name, engine), tensors()
    torch.testing.assert_close(run(*inputs), torch.compile(run, fullgraph=True)(*inputs))


class Layer(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.attention = MultiHead(8, 2, **options)

    def forward(self, x, lengths):
        return self.attention(x, mask=Mask.lengths(lengths)).context


OPTIONS = {
    "plain": dict,
    "alibi": lambda: {"positions": Alibi(2)},
    "rotary": lambda: {"positions": Rotary(4)},
    "additive": lambda: {"score": Additive(4, 4, 6)},
    "softcap": lambda: {"score": ScaledDot(softcap=2.0)},
    "grouped": lambda: {"num_kv_heads": 1},
}


@pytest.mark.parametrize("options", OPTIONS)
def test_exported_for_any_length(options):
    layer = Layer(**OPTIONS[options]()).eval()
    length = torch.export.Dim("length", min=2, max=512)
    lengths = torch.tensor([3, 0])
    program = torch.export.export(
        layer, (torch.randn(2, 5, 8), lengths), dynamic_shapes=({1: length}, None)
    )
    for n in (2, 5, 17):
        x = torch.randn(2, n, 8)
        torch.testing.assert_close(program.module()(x, lengths), layer(x, lengths))


@pytest.mark.parametrize("options", OPTIONS)
def test_autocast(options):
    layer = Layer(**OPTIONS[options]())
    x, lengths = torch.randn(2, 5, 8, requires_grad=True), torch.tensor([5, 3])
    plain = layer(x, lengths)
    with torch.autocast("cpu", torch.bfloat16):
        half = layer(x, lengths)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), plain, atol=0.06, rtol=0.05)
    half.float().sum().backward()
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize(("name", "engine"), PAIRS)
def test_autocast_of_mixed_inputs(name, engine):
    """Layers hand over what they have: a half-precision query may meet float32 keys."""
    query, key, value, _ = tensors()
    score = SCORES[name]()
    with torch.autocast("cpu", torch.bfloat16):
        got = attend(query.bfloat16(), key, value, score=score, engine=engine)
    plain = attend(query, key, value, score=score, engine=engine)
    torch.testing.assert_close(got.context.float(), plain.context, atol=0.06, rtol=0.05)
