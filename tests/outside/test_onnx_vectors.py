"""ONNX's own test vectors: every `Attention` and `RotaryEmbedding` case, on every engine.

Shapes: Q (B, H, Q, D), K (B, G, K, D), V (B, G, K, Dv) with G dividing H; or three-dimensional with
the heads side by side, (B, T, heads · D).

`attention` and `rotary_embedding` are the two operators said in public names of `regard.attention`
alone. What ONNX asks beyond its vectors (grouped heads with each stage of the scores,
`softmax_precision`, a causal mask over a padded cache) is compared with its reference evaluator.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from torch import Tensor

from regard.attention import KeyValue, Mask, ScaledDot, attend, from_onnx, rotate, to_onnx

CASES = Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"
ENGINES = ("auto", "dense", "blockwise", "fused")
NUM_ATTENTION_CASES = 64  # of onnx 1.22, without the `_expanded` twins
NUM_ROTARY_CASES = 8

# Cases that cannot apply, each with its reason.
NOT_APPLYING: dict[str, str] = {}

# (rtol, atol) by the dtype of the expected output; ONNX's own runner takes (1e-3, 1e-7).
TOLERANCE = {torch.float32: (1e-6, 1e-7), torch.float16: (1e-3, 1e-7)}
COPIES = {"present_key", "present_value"}  # concatenated, so the same to the bit

Attributes = dict[str, float]
Tensors = dict[str, Tensor]


# The operators ------------------------------------------------------------------------------------


def attention(inputs: Tensors, attributes: Attributes, engine: str = "auto") -> Tensors:
    """ONNX's Attention (opset 23 and 24)."""
    flat = inputs["Q"].ndim == 3
    query = _heads(inputs["Q"], attributes.get("q_num_heads"))
    new = KeyValue(*(_heads(inputs[name], attributes.get("kv_num_heads")) for name in "KV"))
    past = KeyValue(inputs["past_key"], inputs["past_value"]) if "past_key" in inputs else None
    present = new if past is None else past.extended(*new)
    mask, bias = from_onnx(
        inputs.get("attn_mask"),
        is_causal=bool(attributes.get("is_causal", 0)),
        past_length=0 if past is None else past.length,
        nonpad_kv_seqlen=inputs.get("nonpad_kv_seqlen"),
        num_keys=present.length,
    )
    dtype, wide = query.dtype, _softmax_dtype(query.dtype, attributes)
    query, key, value = (x.to(wide) for x in (query, *present))
    scale, softcap = attributes.get("scale"), attributes.get("softcap") or None
    attended = attend(
        query,
        key,
        value,
        score=ScaledDot(scale, softcap),
        bias=bias,
        mask=mask,
        engine=engine,
        weights=True,
    )

    def scores(softcap: float | None) -> Tensor:
        every = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
        return ScaledDot(scale, softcap)(query, every)

    mode = attributes.get("qk_matmul_output_mode", 0)
    stage = attended.weights if mode == 3 else scores(None if mode == 0 else softcap)
    if mode == 2:
        stage = stage if bias is None else stage + bias
        if mask is not None:
            keep = mask.tensor(*stage.shape[-2:], batch=stage.shape[:-2])
            stage = stage.masked_fill(~keep, -math.inf)
    context = attended.context.to(dtype)
    return {
        "Y": context.transpose(1, 2).flatten(2) if flat else context,
        "present_key": present.key,
        "present_value": present.value,
        "qk_matmul_output": stage.to(dtype),
    }


def rotary_embedding(inputs: Tensors, attributes: Attributes) -> Tensors:
    """ONNX's RotaryEmbedding (opset 23)."""
    x, cos, sin = inputs["X"], inputs["cos_cache"], inputs["sin_cache"]
    heads = _heads(x, attributes.get("num_heads"))
    turned = attributes.get("rotary_embedding_dim") or heads.shape[-1]
    assert cos.shape[-1] == sin.shape[-1] == turned // 2
    if "position_ids" in inputs:
        cos, sin = cos[inputs["position_ids"]], sin[inputs["position_ids"]]
    interleaved = bool(attributes.get("interleaved", 0))
    out = rotate(heads, cos[:, None], sin[:, None], interleaved=interleaved)
    return {"Y": out.transpose(1, 2).flatten(2) if x.ndim == 3 else out}


def _heads(x: Tensor, heads: float | None) -> Tensor:
    """(B, T, heads · D) as (B, heads, T, D); what has its heads apart already stays."""
    if x.ndim == 4:
        return x
    assert heads is not None
    return x.unflatten(-1, (int(heads), -1)).transpose(1, 2)


def _softmax_dtype(dtype: torch.dtype, attributes: Attributes) -> torch.dtype:
    """What to compute in, so that the softmax has at least the precision asked for."""
    if "softmax_precision" not in attributes:
        return dtype
    name = helper.tensor_dtype_to_np_dtype(int(attributes["softmax_precision"])).name
    return torch.promote_types(dtype, getattr(torch, name))


# The vectors --------------------------------------------------------------------------------------


class Vector(NamedTuple):
    """One set of inputs and outputs by the operator's own names for them, and its attributes."""

    inputs: Tensors
    attributes: Attributes
    outputs: Tensors


def _names(operator: str) -> list[str]:
    """The folders of an operator's cases, without those that spell it in smaller operators."""
    found = (path.name for path in CASES.glob(f"test_{operator}*") if path.is_dir())
    return sorted(name for name in found if not name.endswith("_expanded"))


@cache
def _node(name: str) -> onnx.NodeProto:
    (node,) = onnx.load(CASES / name / "model.onnx").graph.node
    return node


def _attributes(node: onnx.NodeProto) -> Attributes:
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def _vectors(name: str) -> Iterator[Vector]:
    node = _node(name)
    schema = onnx.defs.get_schema(node.op_type)
    for folder in sorted((CASES / name).glob("test_data_set_*")):
        yield Vector(
            _tensors(folder, "input", node.input, [x.name for x in schema.inputs]),
            _attributes(node),
            _tensors(folder, "output", node.output, [x.name for x in schema.outputs]),
        )


def _tensors(folder: Path, kind: str, given: list[str], formal: list[str]) -> Tensors:
    """The tensors of a folder; an argument left out is "" in the node and has no file."""
    present = [own for own, actual in zip(formal, given, strict=False) if actual]
    assert len(present) == len(list(folder.glob(f"{kind}_*.pb")))
    return {own: _read(folder / f"{kind}_{i}.pb") for i, own in enumerate(present)}


def _read(path: Path) -> Tensor:
    proto = TensorProto.FromString(path.read_bytes())
    return torch.from_numpy(numpy_helper.to_array(proto).copy())


def _compare(found: Tensors, expected: Tensors) -> None:
    for name, value in expected.items():
        rtol, atol = (0, 0) if name in COPIES else TOLERANCE[value.dtype]
        torch.testing.assert_close(
            found[name],
            value,
            rtol=rtol,
            atol=atol,
            msg=lambda text, name=name: f"{name}: {text}",
        )


def _runs(engine: str, attributes: Attributes) -> bool:
    """Torch's own kernel has no softcap; all else runs everywhere."""
    return engine != "fused" or not attributes.get("softcap")


ATTENTION, ROTARY = _names("attention"), _names("rotary_embedding")
ATTENTION_RUNS = [
    (name, engine)
    for name in ATTENTION
    for engine in ENGINES
    if name not in NOT_APPLYING and _runs(engine, _attributes(_node(name)))
]
ROTARY_RUNS = [name for name in ROTARY if name not in NOT_APPLYING]


@pytest.mark.parametrize(("name", "engine"), ATTENTION_RUNS)
def test_attention(name: str, engine: str) -> None:
    for inputs, attributes, outputs in _vectors(name):
        _compare(attention(inputs, attributes, engine), outputs)


@pytest.mark.parametrize("name", ROTARY_RUNS)
def test_rotary_embedding(name: str) -> None:
    for inputs, attributes, outputs in _vectors(name):
        _compare(rotary_embedding(inputs, attributes), outputs)


def test_every_case_is_run_or_has_a_reason() -> None:
    assert len(ATTENTION) == NUM_ATTENTION_CASES
    assert len(ROTARY) == NUM_ROTARY_CASES
    for engine in ENGINES[:3]:
        run = {name for name, by in ATTENTION_RUNS if by == engine}
        assert set(ATTENTION) - run == set(NOT_APPLYING) & set(ATTENTION)
    assert set(ROTARY) - set(ROTARY_RUNS) == set(NOT_APPLYING) & set(ROTARY)
    assert set(NOT_APPLYING) <= {*ATTENTION, *ROTARY}
    assert all(NOT_APPLYING.values())
    assert all(list(_vectors(name)) for name in (*ATTENTION, *ROTARY))


def test_what_fused_does_not_run_it_refuses() -> None:
    run = {name for name, by in ATTENTION_RUNS if by == "fused"}
    left = set(ATTENTION) - run - set(NOT_APPLYING)
    assert left
    for name in left:
        for inputs, attributes, _ in _vectors(name):
            with pytest.raises(ValueError, match="fused"):
                attention(inputs, attributes, "fused")


# Beyond the vectors -------------------------------------------------------------------------------


def _reference(inputs: Tensors, attributes: Attributes) -> Tensors:
    """What ONNX's reference evaluator says."""
    schema = onnx.defs.get_schema("Attention")
    given = [x.name if x.name in inputs else "" for x in schema.inputs]
    outputs = [x.name for x in schema.outputs]
    node = helper.make_node("Attention", given, outputs, **attributes)
    found = ReferenceEvaluator(node).run(None, {name: x.numpy() for name, x in inputs.items()})
    return {name: torch.from_numpy(x) for name, x in zip(outputs, found, strict=True)}


def _grouped(**more: tuple[int, ...]) -> Tensors:
    """Six query heads on two key heads, three queries on five keys."""
    shapes = {"Q": (2, 6, 3, 8), "K": (2, 2, 5, 8), "V": (2, 2, 5, 10), **more}
    random = np.random.default_rng(7)
    return {name: torch.from_numpy(random.random(s, np.float32)) for name, s in shapes.items()}


BEYOND: dict[str, tuple[Tensors, Attributes]] = {
    **{
        f"grouped heads, past, causal, stage {mode}": (
            _grouped(attn_mask=(3, 9), past_key=(2, 2, 4, 8), past_value=(2, 2, 4, 10)),
            {"is_causal": 1, "scale": 0.5, "qk_matmul_output_mode": mode},
        )
        for mode in range(4)
    },
    "grouped heads, softcap, mask": (
        _grouped(attn_mask=(2, 1, 3, 5)),
        {"softcap": 1.5, "qk_matmul_output_mode": 2},
    ),
    "a padded cache under a triangle": (
        {**_grouped(attn_mask=(2, 1, 3, 4)), "nonpad_kv_seqlen": torch.tensor([4, 2])},
        {"is_causal": 1, "qk_matmul_output_mode": 3},
    ),
    "a boolean mask shorter than the keys": (
        {**_grouped(), "attn_mask": torch.tensor([[1, 0, 1], [0, 1, 1], [1, 1, 1]]).bool()},
        {"qk_matmul_output_mode": 2},
    ),
    "a mask of one dimension": (_grouped(attn_mask=(5,)), {"qk_matmul_output_mode": 2}),
    "a softmax in double": (
        _grouped(),
        {"softmax_precision": TensorProto.DOUBLE, "qk_matmul_output_mode": 3},
    ),
    "a softmax of half inputs in single": (
        {name: x.half() for name, x in _grouped().items()},
        {"softmax_precision": TensorProto.FLOAT, "qk_matmul_output_mode": 3},
    ),
}


@pytest.mark.parametrize(
    ("case", "engine"),
    [
        (case, engine)
        for case, (_, attributes) in BEYOND.items()
        for engine in ENGINES
        if _runs(engine, attributes)
    ],
)
def test_attention_beyond_the_vectors(case: str, engine: str) -> None:
    inputs, attributes = BEYOND[case]
    _compare(attention(inputs, attributes, engine), _reference(inputs, attributes))


@pytest.mark.parametrize(
    "mask",
    [
        Mask.causal(2),
        Mask.window(1, 1, corner="bottom-right"),
        Mask.window(None, None),
        Mask.lengths(torch.tensor([5, 2])),
        Mask.keep(torch.ones(3, 1, dtype=torch.bool)),
    ],
    ids=["causal", "window", "everything", "lengths", "by query"],
)
def test_a_mask_of_ours_means_the_same_to_onnx(mask: Mask) -> None:
    inputs = _grouped()
    query, key, value = inputs.values()
    ours = attend(query, key, value, score=ScaledDot(), mask=mask)
    given = to_onnx(mask, 3, 5, batch=(2, 6))
    theirs = _reference({**inputs, "attn_mask": given}, {})
    _compare({"Y": ours.context}, {"Y": theirs["Y"]})
