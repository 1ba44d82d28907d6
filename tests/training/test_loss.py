"""The chunked loss is cross-entropy with label smoothing, and so are its gradients."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from regard.tasks.text import loss as module
from regard.tasks.text.loss import label_loss
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
