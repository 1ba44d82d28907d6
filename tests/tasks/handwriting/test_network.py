"""Handwriting network: density, window loop against single steps, and sampling."""

from dataclasses import replace

import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal

from regard.attention import dropout_stream, record
from regard.models.batch import Source
from regard.tasks.handwriting.network import Density, HandwritingModel, StrokeBatch
from regard.tasks.handwriting.settings import HandwritingSettings
from regard.tasks.handwriting.writer import draw

SMALL = HandwritingSettings(dim=10, embedding=5, components=3, mixture=3, stride=0.3, max_length=80)


def network(settings=SMALL, dtype=torch.float64, std=0.4):
    torch.manual_seed(0)
    model = HandwritingModel(settings, 20).to(dtype)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=std)
    return model


def batch(dtype=torch.float64):
    torch.manual_seed(1)
    points = torch.randn(3, 9, 3, dtype=dtype)
    points[..., 2] = (points[..., 2] > 0.5).to(dtype)
    tokens = torch.randint(4, 20, (3, 6))
    lengths = torch.tensor([9, 7, 4])
    points[torch.arange(9) >= lengths[:, None]] = 0
    return StrokeBatch(Source(tokens, torch.tensor([6, 4, 2])), points, lengths)


def test_density_is_torch_distributions():
    torch.manual_seed(0)
    density = Density.from_output(torch.randn(5, 6 * 4 + 2, dtype=torch.float64))
    rho, sigma = torch.tanh(density.pre_rho), density.log_std.exp()
    covariance = torch.diag_embed(sigma.square())
    covariance[..., 0, 1] = covariance[..., 1, 0] = rho * sigma.prod(-1)
    mixture = MixtureSameFamily(
        Categorical(logits=density.log_weight), MultivariateNormal(density.mean, covariance)
    )
    moves = torch.randn(5, 2, dtype=torch.float64)
    assert torch.allclose(density.log_prob(moves), mixture.log_prob(moves))


def test_density_integrates_to_one():
    torch.manual_seed(3)
    density = Density.from_output(torch.randn(1, 6 * 3 + 2, dtype=torch.float64) * 0.7)
    side = torch.linspace(-25, 25, 1001, dtype=torch.float64)
    grid = torch.cartesian_prod(side, side)
    total = density.log_prob(grid).exp().sum() * (50 / 1000) ** 2
    assert total.item() == pytest.approx(1.0, abs=1e-3)


def test_density_is_stable_in_float32():
    numbers = torch.full((1, 6 * 2 + 2), 50.0, requires_grad=True)
    for points in (torch.tensor([[1e4, -1e4, 1.0]]), torch.zeros(1, 3)):
        for sign in (1, -1):
            loss = Density.from_output(sign * numbers).loss(points, torch.ones(1)).sum()
            assert loss.isfinite() and torch.autograd.grad(loss, numbers)[0].isfinite().all()


def test_samples_follow_the_density():
    torch.manual_seed(0)
    single = Density.from_output(torch.randn(1, 6 * 1 + 2))
    many = Density.from_output(torch.cat([output_of(single)] * 20_000))
    drawn = many.sample(torch.Generator().manual_seed(1))
    assert torch.allclose(drawn[:, :2].mean(0), single.mean[0, 0], atol=0.1)
    assert torch.allclose(drawn[:, :2].std(0), single.log_std[0, 0].exp(), rtol=0.05)
    correlation = torch.corrcoef(drawn[:, :2].t())[0, 1]
    assert correlation.item() == pytest.approx(torch.tanh(single.pre_rho[0, 0]).item(), abs=0.03)
    assert drawn[:, 2].mean().item() == pytest.approx(single.pen_up.sigmoid().item(), abs=0.02)


def output_of(density):
    """The network output that a density of one component came from."""
    parts = [density.log_weight, density.pre_rho, density.mean[:, 0], density.log_std[:, 0]]
    return torch.cat([*parts, density.pen_up[:, None], density.end[:, None]], -1)


def test_bias_sharpens():
    torch.manual_seed(0)
    numbers = torch.randn(4, 6 * 3 + 2)
    plain, sharp = Density.from_output(numbers), Density.from_output(numbers, 2.0)
    assert torch.allclose(sharp.log_std, plain.log_std - 2)
    assert (sharp.log_weight.amax(-1) >= plain.log_weight.amax(-1)).all()


def test_whole_lines_and_single_steps_agree_in_values_and_gradients():
    model, lines = network(), batch()
    parameters = list(model.parameters())
    at_once = model.loss(lines)
    with record(model) as recording:
        step_by_step = model.loss(lines)
    assert torch.allclose(at_once, step_by_step)
    at_once_grads, step_grads = (
        torch.autograd.grad(loss, parameters) for loss in (at_once, step_by_step)
    )
    for name, a, b in zip(dict(model.named_parameters()), at_once_grads, step_grads, strict=True):
        assert torch.allclose(a, b, atol=1e-10), name
    assert len(recording) == 9 and recording[4].rows == (4,)
    assert recording[0].weights.shape == (3, 1, 1, 6)
    assert (recording[8].weights[2, ..., 2:] == 0).all()


def test_recording_does_not_change_dropout():
    model, lines = network(replace(SMALL, dropout=0.5)).train(), batch()
    with dropout_stream(1):
        at_once = model.features(lines)
    with record(model), dropout_stream(1):
        recorded = model.features(lines)
    assert 0.3 < (at_once == 0).double().mean() < 0.7
    assert torch.allclose(at_once, recorded)


def test_a_clamped_window_has_the_same_gradients():
    model, lines = network(), batch()
    with torch.no_grad():
        model.window.window.bias[::2] = 11.0  # beyond the clamp
    parameters = list(model.parameters())
    at_once = torch.autograd.grad(model.loss(lines), parameters)
    with record(model):
        steps = torch.autograd.grad(model.loss(lines), parameters)
    assert all(torch.allclose(a, b, atol=1e-9) for a, b in zip(at_once, steps, strict=True))


def test_padding_and_neighbours_do_not_matter():
    model, lines = network(), batch()
    alone = [model.loss(lines.rows(torch.tensor([n]))) for n in range(3)]
    assert torch.allclose(sum(alone), model.loss(lines))
    assert lines.rows(torch.tensor([2])).points.shape == (1, 4, 3)


@pytest.mark.parametrize("layers", [1, 3])
def test_any_number_of_layers(layers):
    settings = HandwritingSettings(dim=6, embedding=4, num_layers=layers, components=2, mixture=2)
    model = network(settings)
    density = model(batch())
    assert density.mean.shape == (3, 9, 2, 2) and model.features(batch()).shape == (
        3,
        9,
        6 * layers,
    )


def test_drawing_depends_on_the_seed_alone_and_ends():
    model = network(dtype=torch.float32, std=0.2)
    source = Source(torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]]), torch.tensor([4, 2]))
    first, again, other = (draw(model, source, seed=seed) for seed in (1, 1, 2))
    for a, b in zip(first, again, strict=True):
        assert torch.equal(a.points, b.points) and torch.equal(a.weights, b.weights)
    assert not torch.equal(first[0].points[:3], other[0].points[:3])
    for line, letters in zip(first, (4, 2), strict=True):
        assert len(line.points) == len(line.weights) <= 80
        assert line.weights.shape[1] == letters and line.points[-1, 2] == 1


def test_the_line_ends_when_the_window_has_passed_the_text():
    model = network(dtype=torch.float32, std=0.05)
    with torch.no_grad():
        model.window.window.bias[-3:] = 3.0  # fast
        model.output.bias[-1] = -9.0  # never predict the end
    source = Source(torch.tensor([[5, 6, 7, 3]]), torch.tensor([4]))
    (line,) = draw(model, source)
    assert line.finished and len(line.points) < 10
