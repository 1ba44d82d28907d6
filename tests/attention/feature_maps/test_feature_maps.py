"""Attention inside feature maps: the papers' formulas, what may not matter, and maps that find."""

import math

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck
from torch.nn import functional as F

from regard.attention import (
    BAM,
    CBAM,
    ChannelGate,
    DualAttention,
    EfficientChannel,
    ExternalAttention,
    ForceAlignment,
    NonLocal,
    Overwrite,
    SelectiveKernels,
    SpatialGate,
    SpatialTransformer,
    SqueezeExcitation,
    SwitchOff,
    intervene,
    record,
)
from regard.attention.feature_maps.non_local import PAIRWISE

F64 = torch.float64
B, C = 3, 6
PLACES = {"signal": (11,), "image": (5, 7)}
positions = pytest.mark.parametrize("size", PLACES.values(), ids=PLACES)
GATES = {
    "squeeze": lambda dims: SqueezeExcitation(C, reduction=2),
    "eca": lambda dims: EfficientChannel(C, kernel_size=3),
    "channel": lambda dims: ChannelGate(C, reduction=2),
    "spatial": lambda dims: SpatialGate(kernel_size=3, dims=dims),
}
MODULES = {
    **GATES,
    "cbam": lambda dims: CBAM(C, reduction=2, kernel_size=3, dims=dims),
    **{p: lambda dims, p=p: NonLocal(C, pairwise=p) for p in PAIRWISE},
    "subsampled": lambda dims: NonLocal(C, subsample=2),
    "bam": lambda dims: BAM(C, reduction=2, dilation=2, dims=dims),
    "selective": lambda dims: SelectiveKernels(C, min_hidden=4, groups=2, dims=dims),
    "dual": lambda dims: DualAttention(C, reduction=2),
    "external": lambda dims: ExternalAttention(C, num_slots=4),
    "transformer": lambda dims: SpatialTransformer(C, num_points=3, kernel_size=3, dims=dims),
}


def made(name, size, seed=0):
    """A module in float64 with nothing left at zero, and an input for it."""
    torch.manual_seed(seed)
    module = MODULES[name](len(size)).double()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module, torch.randn(B, C, *size, dtype=F64)


def perceptron(module, z):
    first, second = module.squeeze, module.excite
    return torch.relu(z @ first.weight.T + first.bias) @ second.weight.T + second.bias


def by_channel(gate, x):
    return gate.reshape(B, C, *[1] * (x.ndim - 2)) * x


@positions
def test_squeeze_and_excitation(size):
    module, x = made("squeeze", size)
    gate = torch.sigmoid(perceptron(module, x.flatten(2).mean(-1)))
    torch.testing.assert_close(module(x), by_channel(gate, x))


@positions
def test_efficient_channel(size):
    module, x = made("eca", size)
    z = F.pad(x.flatten(2).mean(-1), (1, 1))
    w = module.filter.weight[0, 0]
    gate = torch.sigmoid(sum(w[i] * z[:, i : i + C] for i in range(3)))
    torch.testing.assert_close(module(x), by_channel(gate, x))


@pytest.mark.parametrize(("channels", "size"), [(2, 1), (8, 3), (64, 3), (256, 5), (2048, 7)])
def test_the_kernel_grows_with_the_channels(channels, size):
    """k = |(log₂ C + 1) / 2|, the odd number at or above its whole part."""
    assert EfficientChannel(channels).filter.kernel_size == (size,)


@positions
def test_cbam(size):
    module, x = made("cbam", size)
    flat = x.flatten(2)
    channel = perceptron(module.channel, flat.mean(-1)) + perceptron(module.channel, flat.amax(-1))
    x = by_channel(torch.sigmoid(channel), x)
    both = torch.stack([x.mean(1), x.amax(1)], 1)
    convolve = F.conv1d if len(size) == 1 else F.conv2d
    spatial = convolve(both, module.spatial.filter.weight, module.spatial.filter.bias, padding=1)
    torch.testing.assert_close(module(made("cbam", size)[1]), torch.sigmoid(spatial) * x)


def pairwise(module, x):
    """f(x_i, x_j) / C(x), written out pair by pair."""
    query, key = (p(x.flatten(2).mT) for p in (module.query_proj, module.key_proj))
    count = query.shape[1]
    if module.pairwise == "concatenation":
        w = torch.cat([module.score.query_weight, module.score.key_weight])
        pairs = [
            [torch.relu(torch.cat([q, k], -1) @ w) for k in key.unbind(1)] for q in query.unbind(1)
        ]
        return torch.stack([torch.stack(row, -1) for row in pairs], -2) / count
    dots = torch.einsum("bid,bjd->bij", query, key)
    if module.pairwise == "dot":
        return dots / count
    return dots.exp() / dots.exp().sum(-1, keepdim=True)


@positions
@pytest.mark.parametrize("name", PAIRWISE)
def test_non_local(name, size):
    module, x = made(name, size)
    weights = pairwise(module, x)
    result = module.out_proj(weights @ module.value_proj(x.flatten(2).mT)).mT.reshape(x.shape)
    with record(module) as recording:
        torch.testing.assert_close(module(x), x + result)
    (observed,) = recording
    assert observed.kind == "self"
    torch.testing.assert_close(observed.weights[:, 0], weights)
    summed = torch.allclose(weights.sum(-1), weights.new_ones(()))
    assert summed == module.sums_to_one


@positions
def test_a_new_non_local_layer_changes_nothing(size):
    x = torch.randn(B, C, *size)
    for name in PAIRWISE:
        assert torch.equal(NonLocal(C, pairwise=name)(x), x)


def test_subsampled_places():
    module, x = made("subsampled", (5, 7))
    with record(module) as recording:
        module(x)
    assert recording[0].weights.shape == (B, 1, 35, 3 * 4)
    observed = F.max_pool2d(F.pad(x, (0, 1, 0, 1), value=-math.inf), 2).flatten(2).mT
    dots = module.query_proj(x.flatten(2).mT) @ module.key_proj(observed).mT
    torch.testing.assert_close(recording[0].weights[:, 0], dots.softmax(-1))


@pytest.mark.parametrize("name", MODULES)
@positions
def test_gradients_are_exact(name, size):
    module, _ = made(name, size)
    x = torch.randn(1, C, *[3] * len(size), dtype=F64, requires_grad=True)
    assert gradcheck(lambda x, *_: module(x), (x, *module.parameters()), fast_mode=True)


@pytest.mark.parametrize("name", ["squeeze", "eca", "channel", "dual", "external", *PAIRWISE])
@positions
def test_where_a_place_is_does_not_matter(name, size):
    module, x = made(name, size)
    order = torch.randperm(math.prod(size))
    moved = x.flatten(2)[..., order].reshape(x.shape)
    expected = module(x).flatten(2)[..., order].reshape(x.shape)
    torch.testing.assert_close(module(moved), expected)


@positions
def test_which_channel_it_is_does_not_matter_to_a_spatial_gate(size):
    module, x = made("spatial", size)
    order = torch.randperm(C)
    torch.testing.assert_close(module(x[:, order]), module(x)[:, order])
    further = torch.roll(x, 1, dims=-1)  # and a step aside moves the gate by a step
    gates = [module.gate(y).reshape(B, *size)[..., 2:-2] for y in (x, further)]
    torch.testing.assert_close(gates[1][..., 1:], gates[0][..., :-1])


@pytest.mark.parametrize("name", MODULES)
def test_padding_has_no_say(name):
    """A short signal gives the same alone and padded with anything, even with infinities."""
    module, x = made(name, (11,))
    x = x[..., :8]
    padded = torch.cat([x, torch.full((B, C, 6), 1e9, dtype=F64)], dim=-1)
    mask = torch.zeros(B, 14, dtype=torch.bool)
    mask[:, :8] = True
    torch.testing.assert_close(module(padded, mask)[..., :8], module(x))
    nothing = module(padded, torch.zeros_like(mask))
    assert torch.isfinite(nothing).all()


@pytest.mark.parametrize("name", GATES)
@positions
def test_gates_are_recorded_and_touched(name, size):
    module, x = made(name, size)
    plain = module(x)
    with record(module) as recording:
        assert torch.equal(module(x), plain)
    (observed,) = recording
    keys = C if module.kind == "channel" else math.prod(size)
    assert (observed.kind, observed.weights.shape) == (module.kind, (B, 1, 1, keys))
    assert torch.equal(observed.weights[:, 0, 0], module.gate(x))
    assert (observed.weights > 0).all() and (observed.weights < 1).all()
    with intervene(module, SwitchOff(kind=module.kind, batch=1)):
        off = module(x)
    assert (off[1] == 0).all() and torch.equal(off[[0, 2]], plain[[0, 2]])
    ones = Overwrite(rows=0, weights=torch.ones(keys), renormalize=False)
    with intervene(module, ones):
        torch.testing.assert_close(module(x), x)
    with intervene(module, ForceAlignment(links={0: 4})):
        only = module(x).flatten(2)
    remaining = only[:, 4] if module.kind == "channel" else only[..., 4]
    origin = x.flatten(2)
    torch.testing.assert_close(
        remaining, origin[:, 4] if module.kind == "channel" else origin[..., 4]
    )
    assert only.count_nonzero() == remaining.count_nonzero()


def test_layers_of_a_network_are_told_apart():
    network = nn.Sequential(CBAM(C, dims=1), nn.Conv1d(C, C, 1), CBAM(C, dims=1), NonLocal(C))
    with record(network, kinds=["spatial", "self"]) as recording:
        network(torch.randn(B, C, 9))
    assert [(m.kind, m.layer, m.module) for m in recording] == [
        ("spatial", 0, "0.spatial"),
        ("spatial", 1, "2.spatial"),
        ("self", 0, "3"),
    ]


@pytest.mark.parametrize("name", MODULES)
def test_half_precision_compiled_and_autocast(name):
    torch.compiler.reset()
    module, x = made(name, (5, 7))
    expected = module(x)
    got = torch.compile(module, backend="aot_eager", fullgraph=True)(x)
    torch.testing.assert_close(got, expected)
    module.float()
    with torch.autocast("cpu", torch.bfloat16):
        half = module(x.float())
    assert (half.double() - expected).abs().max() < 0.1 * expected.abs().max()


BAD = {
    "channels": (
        lambda: SqueezeExcitation(4)(torch.zeros(1, 3, 5)),
        r"x must have shape \(B, 4, positions\), got \(1, 3, 5\)",
    ),
    "dims": (
        lambda: SpatialGate()(torch.zeros(1, 3, 5)),
        r"x must have shape \(B, C, H, W\), got \(1, 3, 5\)",
    ),
    "no places": (lambda: NonLocal(4)(torch.zeros(1, 4)), r"got \(1, 4\)"),
    "nothing": (lambda: NonLocal(4)(torch.zeros(1, 4, 0)), "must have channels and positions"),
    "dtype": (lambda: EfficientChannel(4)(torch.zeros(1, 4, 5, dtype=F64)), "parameters' dtype"),
    "mask": (
        lambda: EfficientChannel(4)(torch.zeros(1, 4, 5), torch.ones(1, 5)),
        r"mask must be boolean and of shape \(1, 5\)",
    ),
    "kernel": (lambda: SpatialGate(kernel_size=4), "kernel_size must be odd, got 4"),
    "kernel of eca": (lambda: EfficientChannel(4, kernel_size=2), "kernel_size must be odd"),
    "dims given": (lambda: SpatialGate(dims=4), "dims must be 1, 2 or 3, got 4"),
    "pairwise": (lambda: NonLocal(4, pairwise="softmax"), "pairwise must be one of"),
    "not a tensor": (lambda: SqueezeExcitation(4)([1]), "got a list"),
}


@pytest.mark.parametrize("case", BAD)
def test_one_clear_sentence(case):
    bad, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        bad()
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def trained(module, draw, steps=250, rate=0.03):
    """The gate and one number per class score, learned from fresh draws; its accuracy at the end.

    What the gate lets through is only summed up: whatever else gets through is noise.
    """
    torch.manual_seed(1)
    scale = nn.Parameter(torch.ones(()))
    optimizer = torch.optim.Adam([*module.parameters(), scale], lr=rate)
    for _ in range(steps):
        x, label, _ = draw(64)
        logit = scale * module(x).flatten(1).sum(1)
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(logit, label.float()).backward()
        optimizer.step()
    x, label, cause = draw(500)
    with torch.no_grad(), record(module) as recording:
        right = ((module(x).flatten(1).sum(1) * scale > 0) == label).float().mean().item()
    return right, recording[0].weights[:, 0, 0], cause


def one_channel_tells(number, size=(4, 4)):
    """The sign of channel 4 is the class; the other channels are larger, and noise."""
    label = torch.rand(number) > 0.5
    x = 2 * torch.randn(number, C, 1, 1) + 0.3 * torch.randn(number, C, *size)
    x[:, 4] = (label.float() * 2 - 1)[:, None, None] + 0.3 * torch.randn(number, *size)
    return x, label, torch.full((number,), 4)


@pytest.mark.parametrize("module", [SqueezeExcitation, ChannelGate])
def test_a_channel_gate_finds_the_channel_that_tells(module):
    torch.manual_seed(0)
    right, weights, cause = trained(module(C, reduction=2), one_channel_tells)
    assert right > 0.9
    assert (weights.argmax(-1) == cause).float().mean() > 0.95
    others = weights[:, [c for c in range(C) if c != 4]]
    assert (weights[:, 4] > 3 * others.mean(1)).float().mean() > 0.95


def one_place_tells(number, length=24):
    """At one moment channel 0 shows the class, and only there channel 1 is high."""
    label, cause = torch.rand(number) > 0.5, torch.randint(length, (number,))
    x = torch.zeros(number, 2, length)
    x[:, 0] = 2 * torch.randn(number, length)
    rows = torch.arange(number)
    x[rows, 0, cause] = 2 * (label.float() * 2 - 1)
    x[:, 1] = -6.0
    x[rows, 1, cause] = 6.0
    return x, label, cause


class Spoken(nn.Module):
    """The gate sees both channels; only the first one is summed up."""

    def __init__(self):
        super().__init__()
        self.gate = SpatialGate(kernel_size=1, dims=1)

    def forward(self, x):
        return self.gate(x)[:, 0]


def test_a_spatial_gate_finds_the_moment_that_tells():
    torch.manual_seed(0)
    right, weights, cause = trained(Spoken(), one_place_tells)
    assert right > 0.9
    assert (weights.argmax(-1) == cause).float().mean() > 0.95
