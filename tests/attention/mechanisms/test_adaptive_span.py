"""Adaptive span by its formula, its gradient, and a price that makes spans short."""

from dataclasses import replace

import pytest
import torch

from regard.attention import Mask
from regard.attention.mechanisms import AdaptiveSpan
from regard.config import LanguageModelSettings, Run
from regard.config.mechanisms import AdaptiveSpanSettings
from regard.models.batch import batch_of
from regard.tasks import build
from regard.tasks.text.loss import span_loss, token_loss


def written_out(mechanism, query, key, value, causal):
    """weight_j ∝ m(|i − j|) exp(s_j), m(x) = min(1, max(0, (ramp + z − x) / ramp))."""
    length = query.shape[-2]
    place = torch.arange(length)
    distance = (place[:, None] - place).abs()
    ramp, span = mechanism.reaching.ramp, mechanism.span[:, None, None]
    edge = ((ramp + span - distance) / ramp).clamp(0, 1)
    edge = edge * (place[:, None] >= place) if causal else edge
    scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
    weights = edge * (scores - scores.amax(-1, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True) @ value


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [20, 200])
def test_the_formula_and_the_gradient_of_spans(causal, length):
    torch.manual_seed(0)
    mechanism = AdaptiveSpan(3, max_span=12, ramp=4).double()
    with torch.no_grad():
        mechanism.reaching.share.copy_(torch.tensor([-2.0, 0.1, 1.0]))
    inputs = [torch.randn(2, 3, length, 8, dtype=torch.float64) for _ in range(3)]
    mask = Mask.causal() if causal else None
    found = mechanism(*inputs, mask=mask).context
    expected = written_out(mechanism, *inputs, causal)
    torch.testing.assert_close(found, expected)
    share = mechanism.reaching.share
    (ours,), (theirs,) = (
        torch.autograd.grad(context.sin().sum(), share) for context in (found, expected)
    )
    torch.testing.assert_close(ours, theirs)
    assert bool((ours != 0).all())


def test_a_price_makes_spans_short():
    torch.manual_seed(0)
    settings = LanguageModelSettings(
        dim=16,
        num_heads=2,
        num_layers=1,
        ff=16,
        attention=AdaptiveSpanSettings(max_span=32, penalty=0.5),
        dropout=0.0,
        max_length=64,
    )
    network = build(settings, 16, 16)
    (part,) = (m for m in network.modules() if isinstance(m, AdaptiveSpan))
    batch = batch_of(None, [[5, 6, 7, 8], [9, 10]])
    run, scale = Run(model=settings), 1 / batch.answers
    free = Run(model=replace(settings, attention=AdaptiveSpanSettings(max_span=32)))
    whole, plain = token_loss(run, network, batch, scale), token_loss(free, network, batch, scale)
    torch.testing.assert_close(whole - plain, 0.5 * part.span.mean())
    torch.testing.assert_close(span_loss(run, network, batch, scale), whole - plain)
    before = part.span.mean().item()
    optimizer = torch.optim.SGD([part.reaching.share], 0.1)
    for _ in range(20):
        optimizer.zero_grad()
        token_loss(run, network, batch, scale).backward()
        optimizer.step()
    assert part.span.mean().item() < before - 1
