"""The public names, pinned: taking one away or adding one is a decision, not an accident."""

import inspect

import regard.attention

PROMISED = """
attend Attended Mask masked_softmax Score Uniform Dot ScaledDot General Cosine Gaussian Additive
Location Softmax MultiHead Sinusoidal Learned Rotary Alibi RelativeBias NadarayaWatson record
intervene AttentionMap
"""
JOINED = """
Aligner Content Coverage Graves LocationSensitive Monotonic
CBAM ChannelGate EfficientChannel Entmax15 NORMALIZERS NonLocal Sigmoid SpatialGate Sparsemax
SqueezeExcitation entmax15 sparsemax
Bias DistanceBias Dropout Edit ForceAlignment KeyValue Normalizer Overwrite Pooling Position
Recording SwitchOff dropout dropout_stream from_keras from_onnx from_torch_mha from_torch_sdpa
rotate to_keras to_onnx to_torch_mha to_torch_sdpa
"""


def test_names():
    assert sorted(regard.attention.__all__) == sorted((PROMISED + JOINED).split())


def test_every_name_is_there_and_documented():
    for name in regard.attention.__all__:
        thing = getattr(regard.attention, name)
        assert inspect.getdoc(thing), name


def test_multihead_arguments():
    names = list(inspect.signature(regard.attention.MultiHead).parameters)
    assert names == [
        "dim", "heads", "score", "kv_heads", "key_dim", "value_dim", "head_dim", "value_head_dim",
        "out_dim", "out_proj", "projections", "positions", "dropout", "bias", "normalizer",
        "engine", "mechanism",
    ]  # fmt: skip


def test_attend_arguments():
    names = list(inspect.signature(regard.attention.attend).parameters)
    assert names == [
        "query", "key", "value", "score", "bias", "mask", "normalizer", "dropout", "engine",
        "weights",
    ]  # fmt: skip
