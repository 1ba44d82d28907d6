"""The public names, pinned: taking one away or adding one is a decision, not an accident."""

import inspect
import subprocess
import sys

import pytest

import regard
import regard.attention

PROMISED = """
attend Attended Mask masked_softmax Score Uniform Dot ScaledDot General Cosine Gaussian Additive
Location Softmax MultiHead Sinusoidal Learned Rotary Alibi RelativeBias NadarayaWatson record
intervene AttentionMap
"""
JOINED = """
Aligner Content Coverage Graves LocationSensitive Monotonic
BAM CBAM ChannelAttention ChannelGate DualAttention EfficientChannel Entmax15 ExternalAttention
NORMALIZERS NonLocal PositionAttention SelectiveKernels Sigmoid SpatialGate SpatialTransformer
Sparsemax SqueezeExcitation entmax15 sparsemax
Bias DistanceBias Dropout Edit ForceAlignment KeyValue Normalizer Overwrite Pooling Position
Recording Step SwitchOff Trace dropout dropout_stream from_keras from_onnx from_torch_mha
from_torch_sdpa rotate to_keras to_onnx to_torch_mha to_torch_sdpa trace
AdaptiveSpan Blockwise Full LinearAttention Linformer Local Mechanism Performer Reformer Ring Sparse
AttentionInput MechanismFacts
"""


PUBLIC = "InputError SearchOptions Translator __version__ attention data load train views"
FIRST_USE = """
import sys
import regard
assert set(regard.__all__) <= set(dir(regard))
assert "torch" not in sys.modules
for name in regard.__all__:
    assert getattr(regard, name) is not None
assert regard.attention is sys.modules["regard.attention"]
assert regard.views is sys.modules["regard.views"]
from regard import *
assert load is regard.load and attention is regard.attention
"""


def test_public_names():
    """Everything that `import regard` offers, pinned, and there without another import."""
    assert regard.__all__ == PUBLIC.split()
    done = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_bad_input_is_a_value_error():
    with pytest.raises(ValueError, match="there is no such folder"):
        regard.load("nowhere")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        regard.nonsense  # noqa: B018


def test_attention_names():
    assert sorted(regard.attention.__all__) == sorted((PROMISED + JOINED).split())


def test_every_name_is_there_and_documented():
    for name in regard.attention.__all__:
        thing = getattr(regard.attention, name)
        assert inspect.getdoc(thing), name


def test_multihead_arguments():
    names = list(inspect.signature(regard.attention.MultiHead).parameters)
    assert names == [
        "dim",
        "num_heads",
        "score",
        "num_kv_heads",
        "key_dim",
        "value_dim",
        "head_dim",
        "value_head_dim",
        "out_dim",
        "out_proj",
        "projections",
        "positions",
        "dropout",
        "bias",
        "normalizer",
        "engine",
        "mechanism",
    ]


def test_attend_arguments():
    names = list(inspect.signature(regard.attention.attend).parameters)
    assert names == [
        "query",
        "key",
        "value",
        "score",
        "bias",
        "mask",
        "normalizer",
        "dropout",
        "engine",
        "weights",
    ]
