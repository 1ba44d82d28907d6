"""Attention in images and signals: over channels, over positions, or both.

Every module maps x (B, C, *positions), an image (B, C, H, W) or a signal (B, C, T), to the same
shape. `record` returns a channel gate as one row over the C channels, weights (B, 1, 1, C) of kind
"channel"; a spatial gate as one row over the positions, weights (B, 1, 1, H·W) of kind "spatial"
(`BAM`: a row for each channel); `NonLocal`, `PositionAttention` and `SpatialTransformer` as a map
(B, 1, H·W, H·W) of kind "self", `ChannelAttention` as one of channels, `ExternalAttention` as one
over its memory, of kind "cross", and `SelectiveKernels` as a row over the kernels for each channel.

>>> import torch
>>> from regard.attention import record
>>> layer, image = CBAM(8, reduction=2), torch.randn(2, 8, 5, 6)
>>> with record(layer) as recording:
...     layer(image).shape
torch.Size([2, 8, 5, 6])
>>> recording.maps
[AttentionMap(channel layer 0, 2×1×1×8, module='channel'), \
AttentionMap(spatial layer 0, 2×1×1×30, module='spatial')]
"""

from regard.attention.feature_maps.bottleneck import BAM
from regard.attention.feature_maps.dual import ChannelAttention, DualAttention, PositionAttention
from regard.attention.feature_maps.external import ExternalAttention
from regard.attention.feature_maps.gates import (
    CBAM,
    ChannelGate,
    EfficientChannel,
    FeatureGate,
    SpatialGate,
    SqueezeExcitation,
)
from regard.attention.feature_maps.non_local import NonLocal
from regard.attention.feature_maps.selective_kernels import SelectiveKernels
from regard.attention.feature_maps.spatial_transformer import SpatialTransformer

__all__ = [
    "BAM",
    "CBAM",
    "ChannelAttention",
    "ChannelGate",
    "DualAttention",
    "EfficientChannel",
    "ExternalAttention",
    "FeatureGate",
    "NonLocal",
    "PositionAttention",
    "SelectiveKernels",
    "SpatialGate",
    "SpatialTransformer",
    "SqueezeExcitation",
]
