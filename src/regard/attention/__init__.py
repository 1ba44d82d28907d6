"""The attention library: score every key against a query, normalize, sum the values.

It stands alone: torch and numpy (and scikit-learn's base classes for the one estimator).

>>> import torch
>>> from regard.attention import Additive, Mask, attend
>>> query, key = torch.randn(2, 4, 16), torch.randn(2, 6, 20)
>>> attended = attend(query, key, key, score=Additive(16, 20, 32), mask=Mask.lengths([6, 3]))
>>> attended.context.shape
torch.Size([2, 4, 20])
"""

from typing import TYPE_CHECKING, Any

from regard.attention.aligners import (
    Aligner,
    Content,
    Coverage,
    Graves,
    LocationSensitive,
    Monotonic,
)
from regard.attention.attend import Attended, attend
from regard.attention.feature_maps import (
    BAM,
    CBAM,
    ChannelAttention,
    ChannelGate,
    DualAttention,
    EfficientChannel,
    ExternalAttention,
    NonLocal,
    PositionAttention,
    SelectiveKernels,
    SpatialGate,
    SpatialTransformer,
    SqueezeExcitation,
)
from regard.attention.inspection.edit import Edit, ForceAlignment, Overwrite, SwitchOff
from regard.attention.inspection.intervene import intervene
from regard.attention.inspection.record import AttentionMap, Recording, record
from regard.attention.inspection.trace import Step, Trace, trace
from regard.attention.layers.cache import KeyValue
from regard.attention.layers.multi_head import MultiHead
from regard.attention.layers.pooling import Pooling
from regard.attention.layers.position import (
    Alibi,
    Learned,
    Position,
    RelativeBias,
    Rotary,
    Sinusoidal,
    rotate,
)
from regard.attention.masks.bias import Bias, DistanceBias
from regard.attention.masks.conventions import (
    from_keras,
    from_onnx,
    from_torch_mha,
    from_torch_sdpa,
    to_keras,
    to_onnx,
    to_torch_mha,
    to_torch_sdpa,
)
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms import (
    AdaptiveSpan,
    Blockwise,
    Full,
    LinearAttention,
    Linformer,
    Local,
    Mechanism,
    Performer,
    Reformer,
    Ring,
    Sparse,
)
from regard.attention.mechanisms.mechanism import AttentionInput
from regard.attention.normalizers.entmax import entmax15, sparsemax
from regard.attention.normalizers.normalizer import (
    NORMALIZERS,
    Entmax15,
    Normalizer,
    Sigmoid,
    Softmax,
    Sparsemax,
    masked_softmax,
)
from regard.attention.scores.additive import Additive
from regard.attention.scores.gaussian import Gaussian
from regard.attention.scores.score import (
    Cosine,
    Dot,
    General,
    Location,
    ScaledDot,
    Score,
    Uniform,
)
from regard.config.mechanisms import MechanismFacts
from regard.dropout import Dropout, dropout, dropout_stream

if TYPE_CHECKING:
    from regard.attention.kernel_regression.nadaraya_watson import NadarayaWatson

__all__ = [
    "BAM", "CBAM", "NORMALIZERS", "AdaptiveSpan", "Additive", "Alibi", "Aligner", "Attended",
    "AttentionInput", "AttentionMap", "Bias", "Blockwise", "ChannelAttention", "ChannelGate",
    "Content", "Cosine", "Coverage", "DistanceBias", "Dot", "Dropout", "DualAttention", "Edit",
    "EfficientChannel", "Entmax15", "ExternalAttention", "ForceAlignment", "Full", "Gaussian",
    "General", "Graves", "KeyValue", "Learned", "LinearAttention", "Linformer", "Local", "Location",
    "LocationSensitive", "Mask", "Mechanism", "MechanismFacts", "Monotonic", "MultiHead",
    "NadarayaWatson", "NonLocal", "Normalizer", "Overwrite", "Performer", "Pooling", "Position",
    "PositionAttention", "Recording", "Reformer", "RelativeBias", "Ring", "Rotary", "ScaledDot",
    "Score", "SelectiveKernels", "Sigmoid", "Sinusoidal", "Softmax", "Sparse", "Sparsemax",
    "SpatialGate", "SpatialTransformer", "SqueezeExcitation", "Step", "SwitchOff", "Trace",
    "Uniform", "attend", "dropout", "dropout_stream", "entmax15", "from_keras", "from_onnx",
    "from_torch_mha", "from_torch_sdpa", "intervene", "masked_softmax", "record", "rotate",
    "sparsemax", "to_keras", "to_onnx", "to_torch_mha", "to_torch_sdpa", "trace",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "NadarayaWatson":  # on demand: it is what needs scikit-learn
        from regard.attention.kernel_regression.nadaraya_watson import NadarayaWatson

        return NadarayaWatson
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
