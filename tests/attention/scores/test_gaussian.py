"""The Gaussian score wherever the keys stand: float64 differences are the judge."""

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from regard.attention import Gaussian, Mask, attend

engines = pytest.mark.parametrize("engine", ["auto", "dense", "blockwise"])
every = pytest.mark.parametrize("engine", ["auto", "dense", "blockwise", "fused"])


def exact(query, key, value, width, keep=None):
    query, key, value = query.double(), key.double(), value.double()
    scores = -((query[..., :, None, :] - key[..., None, :, :]) ** 2).sum(-1) / (2 * width**2)
    if keep is not None:
        scores = scores.masked_fill(~keep, -torch.inf)
    return torch.softmax(scores, -1) @ value


@every
@pytest.mark.parametrize("far", [0.0, 1e3, 1e4])
@pytest.mark.parametrize("padding", [0.0, 1e6, float("nan")])
def test_where_hidden_keys_stand_does_not_matter(engine, far, padding):
    query, key, value = (torch.randn(2, n, 2) for n in (3, 8, 8))
    query, key = query + far, key + far
    key[:, 5:] = padding
    got = attend(query, key, value, score=Gaussian(1.0), mask=Mask.lengths([5, 5]), engine=engine)
    expected = exact(query, key[:, :5], value[:, :5], 1.0)
    torch.testing.assert_close(got.context.double(), expected, atol=2e-5, rtol=1e-5)


@engines
def test_keys_spread_over_thousands_of_widths(engine):
    key = torch.cat([torch.randn(50, 2), torch.randn(50, 2) + 1e4])[None]
    query, value = key[:, ::7] + 0.3, torch.randn(1, 100, 3)
    got = attend(query, key, value, score=Gaussian(1.0), engine=engine).context
    assert (got.double() - exact(query, key, value, 1.0)).abs().max() < 2e-3  # float32 at 1e4
    line = torch.linspace(0, 100, 2000)[None, :, None]
    value = torch.sin(line)
    got = attend(line, line, value, score=Gaussian(0.1), engine=engine).context
    torch.testing.assert_close(got.double(), exact(line, line, value, 0.1), atol=5e-6, rtol=1e-5)


@given(width=st.floats(0.05, 50.0), shift=st.floats(-1e3, 1e3))
@example(width=0.23828125, shift=999.0)
def test_auto_stays_exact(width, shift):
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, n, 2) for n in (4, 6, 6))
    got = attend(query + shift, key + shift, value, score=Gaussian(width)).context
    expected = exact(query + shift, key + shift, value, width)
    assert (got.double() - expected).abs().max() < 1e-3


@every
def test_width_is_kept_as_it_was_given(engine):
    query, key, value = (torch.randn(1, n, 2, dtype=torch.float64) for n in (4, 6, 6))
    got = attend(query, key, value, score=Gaussian(0.1).float(), engine=engine).context
    torch.testing.assert_close(got, exact(query, key, value, 0.1), atol=1e-11, rtol=1e-11)


def test_a_learned_width_is_learned():
    """Labels of nearest neighbours want a narrow kernel."""
    x = torch.rand(200, 1)
    y = torch.sign(torch.sin(20 * x))
    score = Gaussian(1.0, learn=True)
    optimiser = torch.optim.Adam(score.parameters(), lr=0.1)
    others = ~torch.eye(200, dtype=torch.bool)
    for _ in range(60):
        loss = (attend(x, x, y, score=score, mask=others).context - y).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert score.width.item() < 0.05 and loss.item() < 0.2
