"""The chunked loss is cross-entropy with label smoothing, and so are its gradients."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from regard.models.embedding import NEVER
from regard.tasks.text import loss as module
from regard.tasks.text.loss import label_loss
from regard.tasks.text.r_drop import r_drop_loss
from regard.text import PAD

LABELS = torch.tensor([[5, 6, 3, PAD], [7, 3, PAD, PAD], [8, 9, 10, 3]])


def parts(dtype, labels=LABELS, vocab=12, dim=6):
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(*labels.shape, dim, generator=generator, dtype=dtype)
    output = nn.Linear(dim, vocab, dtype=dtype)
    with torch.no_grad():
        output.weight.copy_(torch.randn(vocab, dim, generator=generator))
        output.bias.copy_(torch.randn(vocab, generator=generator))
    return features.requires_grad_(), output


def expected(features, output, labels, smoothing):
    return F.cross_entropy(
        output(features).flatten(0, 1),
        labels.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("chunk", [1, 30, 1 << 21])
def test_it_is_cross_entropy(dtype, smoothing, chunk, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", chunk)  # one token, two, or all at once
    features, output = parts(dtype)
    given = [features, *output.parameters()]
    ours = label_loss(features, output, LABELS, smoothing)
    theirs = expected(features, output, LABELS, smoothing)
    torch.testing.assert_close(ours, theirs)
    for one, other in zip(
        torch.autograd.grad(3 * ours, given), torch.autograd.grad(3 * theirs, given), strict=True
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_gradcheck(smoothing):
    features, output = parts(torch.float64)

    def loss(x, weight, bias):
        layer = nn.Linear(6, 12, dtype=torch.float64)
        del layer.weight, layer.bias
        layer.weight, layer.bias = weight, bias
        return label_loss(x, layer, LABELS, smoothing)

    given = features, output.weight.detach().requires_grad_(), output.bias.detach().requires_grad_()
    assert torch.autograd.gradcheck(loss, given)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_outputs_that_cannot_be_written_take_no_share_of_smoothing(smoothing):
    """As an imported model's: the loss and its gradients are those without these outputs."""
    features, output = parts(torch.float64)
    with torch.no_grad():
        output.bias[[0, 4]] = NEVER
    possible = [1, 2, 3, *range(5, 12)]
    fewer = nn.Linear(6, 10, dtype=torch.float64)
    with torch.no_grad():
        fewer.weight.copy_(output.weight[possible])
        fewer.bias.copy_(output.bias[possible])
    labels = LABELS - 1 - (LABELS > 4).long()
    theirs = F.cross_entropy(
        fewer(features).flatten(0, 1),
        labels.flatten(),
        ignore_index=-1,
        reduction="sum",
        label_smoothing=smoothing,
    )
    ours = label_loss(features, output, LABELS, smoothing)
    twice = r_drop_loss(
        features.repeat(2, 1, 1), output, LABELS.repeat(2, 1), smoothing, 5.0, scale=0.5
    )
    expected = torch.autograd.grad(theirs, [features, *fewer.parameters()])
    for loss in (ours, twice):
        torch.testing.assert_close(loss, theirs)
        d_x, d_weight, d_bias = torch.autograd.grad(loss, [features, *output.parameters()])
        for one, other in zip((d_x, d_weight[possible], d_bias[possible]), expected, strict=True):
            torch.testing.assert_close(one, other)
        assert not d_weight[[0, 4]].any() and not d_bias[[0, 4]].any()


def test_features_at_padding_get_no_gradient():
    features, output = parts(torch.float32)
    label_loss(features, output, LABELS, 0.1).backward()
    assert not features.grad[LABELS == PAD].any()
    assert features.grad[LABELS != PAD].any(1).all()


def test_nothing_to_guess_is_no_loss():
    nothing = torch.full((2, 3), PAD)
    features, output = parts(torch.float32, nothing)
    loss = label_loss(features, output, nothing, 0.1)
    loss.backward()
    assert loss == 0
    assert not output.weight.grad.any()


@pytest.mark.parametrize(
    ("factor", "shift"), [(1e4, 0.0), (30.0, 0.0), (1.0, 60.0), (1.0, -200.0), (1e3, 30.0)]
)
def test_large_scores_do_not_overflow(factor, shift):
    features, output = parts(torch.float32)
    with torch.no_grad():
        output.weight.mul_(factor)
        output.bias.add_(shift)
        output.bias[3] += shift
    given = [features, *output.parameters()]
    loss = label_loss(features, output, LABELS, 0.1)
    assert loss.isfinite()
    theirs = expected(features, output, LABELS, 0.1)
    torch.testing.assert_close(loss, theirs)
    pairs = zip(*(torch.autograd.grad(each, given) for each in (loss, theirs)), strict=True)
    for ours, other in pairs:
        torch.testing.assert_close(ours, other, atol=1e-5 * float(other.abs().max()), rtol=1e-4)


def test_bf16_is_near_and_sums_in_fp32():
    features, output = parts(torch.float32)
    exact = label_loss(features, output, LABELS, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        near = label_loss(features, output, LABELS, 0.1)
    assert near.dtype == torch.float32
    assert near.item() == pytest.approx(exact.item(), rel=0.02)


def test_without_gradients_the_value_is_the_same():
    features, output = parts(torch.float32)
    with torch.inference_mode():
        quiet = label_loss(features.detach(), output, LABELS, 0.1)
    torch.testing.assert_close(quiet, label_loss(features, output, LABELS, 0.1).detach())
