"""Bottleneck, selective, dual, external attention, spatial transformers, by their formulas."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from regard.attention import (
    BAM,
    ChannelAttention,
    DualAttention,
    ExternalAttention,
    Overwrite,
    PositionAttention,
    SelectiveKernels,
    SpatialTransformer,
    SwitchOff,
    intervene,
    record,
)

F64 = torch.float64
B, C = 3, 6
positions = pytest.mark.parametrize("size", [(11,), (5, 7)], ids=["signal", "image"])


def made(module, size):
    """The module in float64 with nothing left at zero, and an input for it."""
    torch.manual_seed(0)
    for parameter in module.double().parameters():
        nn.init.normal_(parameter, std=0.5)
    return module, torch.randn(B, C, *size, dtype=F64)


def recorded(module, x):
    plain = module(x)
    with record(module) as recording:
        assert torch.equal(module(x), plain)
    return plain, [(observed.kind, observed.weights) for observed in recording]


def convolve(layer, x):
    function = F.conv1d if x.ndim == 3 else F.conv2d
    return function(
        x,
        layer.weight,
        layer.bias,
        padding=layer.padding,
        dilation=layer.dilation,
        groups=layer.groups,
    )


@positions
def test_bottleneck(size):
    module, x = made(BAM(C, reduction=2, dilation=2, dims=len(size)), size)
    z = x.flatten(2).mean(-1)
    channel = module.excite(torch.relu(module.squeeze(z)))
    place = x
    for layer in module.filters[:-1]:
        place = torch.relu(convolve(layer, place))
    place = convolve(module.filters[-1], place).flatten(1)
    gate = torch.sigmoid(channel[:, :, None] + place[:, None, :])
    output, [(kind, weights)] = recorded(module, x)
    torch.testing.assert_close(output, x * (1 + gate.reshape(x.shape)))
    assert kind == "spatial"
    torch.testing.assert_close(weights, gate[:, None])
    with intervene(module, SwitchOff(kind="spatial", batch=1)):
        off = module(x)
    assert torch.equal(off[1], x[1]) and torch.equal(off[0], output[0])
    only = torch.zeros(math.prod(size))
    only[3] = 1.0
    with intervene(module, Overwrite(rows=2, weights=only, renormalize=False)):
        touched = module(x)
    expected = x[:, 2].flatten(1) * (1 + only)
    torch.testing.assert_close(touched[:, 2].flatten(1), expected)
    torch.testing.assert_close(touched[:, 1], output[:, 1])


@positions
def test_selective_kernels(size):
    module, x = made(
        SelectiveKernels(C, kernel_sizes=(1, 3, 7), min_hidden=4, groups=2, dims=len(size)), size
    )
    assert [layer.dilation[0] for layer in module.filters] == [1, 1, 3]
    maps = [torch.relu(convolve(layer, x)) for layer in module.filters]
    z = torch.relu(module.squeeze(sum(maps).flatten(2).mean(-1)))
    shares = module.select(z).reshape(B, C, 3).softmax(-1)
    output, [(kind, weights)] = recorded(module, x)
    assert kind == "channel" and output.shape == x.shape
    torch.testing.assert_close(weights, shares[:, None])
    expected = sum(shares[..., k].reshape(B, C, *[1] * len(size)) * maps[k] for k in range(3))
    torch.testing.assert_close(output, expected)
    last = Overwrite(rows=4, weights=torch.tensor([0.0, 0.0, 1.0]), renormalize=False)
    with intervene(module, last):
        torch.testing.assert_close(module(x)[:, 4], maps[2][:, 4])


@positions
def test_dual(size):
    module, x = made(DualAttention(C, reduction=2), size)
    rows, place = x.flatten(2).mT, module.position
    dots = place.query_proj(rows) @ place.key_proj(rows).mT
    by_place = (dots.softmax(-1) @ place.value_proj(rows)).mT.reshape(x.shape)
    channels = (x.flatten(2) @ rows).softmax(-1)
    by_channel = (channels @ x.flatten(2)).reshape(x.shape)
    output, [position, channel] = recorded(module, x)
    expected = 2 * x + place.scale * by_place + module.channel.scale * by_channel
    torch.testing.assert_close(output, expected)
    assert (position[0], channel[0]) == ("self", "channel")
    torch.testing.assert_close(position[1], dots.softmax(-1)[:, None])
    torch.testing.assert_close(channel[1], channels[:, None])


@positions
def test_external(size):
    module, x = made(ExternalAttention(C, num_slots=4), size)
    over_places = (x.flatten(2).mT @ module.keys.T).softmax(1)
    shares = over_places / over_places.sum(-1, keepdim=True)
    output, [(kind, weights)] = recorded(module, x)
    assert kind == "cross" and module.sums_to_one
    torch.testing.assert_close(weights, shares[:, None])
    torch.testing.assert_close(output, x + (shares @ module.values).mT.reshape(x.shape))


@positions
def test_a_new_layer_changes_nothing(size):
    x = torch.randn(B, C, *size)
    for module in (PositionAttention(C), ChannelAttention(), ExternalAttention(C)):
        assert torch.equal(module(x), x)
    torch.testing.assert_close(SpatialTransformer(C, dims=len(size))(x), x)


@pytest.mark.parametrize(
    "module",
    [
        BAM(C, reduction=2, dilation=2),
        SelectiveKernels(C, min_hidden=4),
        DualAttention(C, reduction=2),
        ExternalAttention(C, num_slots=4),
        SpatialTransformer(C, num_points=3),
    ],
    ids=lambda module: type(module).__name__,
)
def test_padding_of_an_image_has_no_say(module):
    module, x = made(module, (5, 7))
    padded = F.pad(x, (0, 3, 0, 2), value=1e9)
    mask = torch.zeros(B, 7, 10, dtype=torch.bool)
    mask[:, :5, :7] = True
    torch.testing.assert_close(module(padded, mask)[..., :5, :7], module(x))


class Given(nn.Module):
    """A localization that always says the same."""

    def __init__(self, transform):
        super().__init__()
        self.transform = torch.tensor(transform, dtype=F64)

    def forward(self, x, places, mask=None):
        return self.transform.expand(len(x), -1, -1)


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        ([[-1.0, 0, 0], [0, 1, 0]], lambda x: x.flip(-1)),
        ([[1.0, 0, 0], [0, -1, 0]], lambda x: x.flip(-2)),
        ([[0.0, 1, 0], [1, 0, 0]], lambda x: x.mT),
        ([[1.0, 0, 0.5], [0, 1, 0]], lambda x: F.pad(x[..., 2:], (0, 2))),
        ([[1.0, 0, 0], [0, 1, 0.25]], lambda x: (x + F.pad(x[..., 1:, :], (0, 0, 0, 1))) / 2),
    ],
    ids=["mirrored", "upside down", "transposed", "moved", "between"],
)
def test_a_spatial_transformer_reads_where_it_is_told(transform, expected):
    x = torch.randn(B, C, 8, 8, dtype=F64)
    scale = 0.5 if transform[1][2] else 1.0  # half a position of eight is an eighth
    transform = [[*row[:2], row[2] * scale] for row in transform]
    module = SpatialTransformer(C, localization=Given(transform))
    output, [(kind, weights)] = recorded(module, x)
    torch.testing.assert_close(output, expected(x))
    assert kind == "self"
    torch.testing.assert_close((weights[:, 0] @ x.flatten(2).mT).mT, output.flatten(2))


@positions
def test_a_spatial_transformer_shows_the_weights_it_read_with(size):
    module, x = made(SpatialTransformer(C, num_points=3, kernel_size=3, dims=len(size)), size)
    output, [(_, weights)] = recorded(module, x)
    torch.testing.assert_close((weights[:, 0] @ x.flatten(2).mT).mT, output.flatten(2))
    with intervene(module, SwitchOff(kind="self", batch=0)):
        off = module(x)
    assert (off[0] == 0).all() and torch.equal(off[1:], output[1:])


def test_a_spatial_transformer_finds_what_tells():
    """A bright dot somewhere: the transform that centers it is learned from the center alone."""
    torch.manual_seed(0)
    module = SpatialTransformer(1, num_points=1, kernel_size=3)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.03)

    def draw(number):
        x = torch.zeros(number, 1, 9, 9)
        x[range(number), 0, torch.randint(2, 7, (number,)), torch.randint(2, 7, (number,))] = 1.0
        return F.avg_pool2d(x, 5, 1, 2) * 25

    for _ in range(200):
        optimizer.zero_grad()
        (-module(draw(32))[:, 0, 3:6, 3:6].mean()).backward()
        optimizer.step()
    with torch.no_grad():
        assert module(draw(200))[:, 0, 4, 4].mean() > 0.95


BAD = {
    "groups": (lambda: SelectiveKernels(6, groups=4), "divisible by groups, got channels=6"),
    "even": (lambda: SelectiveKernels(6, kernel_sizes=(3, 4)), "must be odd, got 4"),
    "none": (lambda: SelectiveKernels(6, kernel_sizes=()), "at least one size"),
    "dims": (lambda: BAM(6, dims=4), "dims must be 1, 2 or 3, got 4"),
    "signal": (lambda: BAM(6)(torch.zeros(1, 6, 5)), r"shape \(B, 6, H, W\), got \(1, 6, 5\)"),
    "channels": (lambda: DualAttention(4)(torch.zeros(1, 3, 5)), r"got \(1, 3, 5\)"),
    "slots": (lambda: ExternalAttention(4, num_slots=0), "num_slots"),
    "points": (lambda: SpatialTransformer(4, num_points=0), "num_points"),
    "dtype": (lambda: ExternalAttention(4)(torch.zeros(1, 4, 5, dtype=F64)), "parameters' dtype"),
}


@pytest.mark.parametrize("case", BAD)
def test_one_clear_sentence(case):
    bad, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        bad()
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
