"""Collects the nodes and weights of an ONNX graph; every method returns the name of a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from regard.version import __version__

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

OPSET, IR_VERSION = 20, 9  # Gelu and LayerNormalization; onnxruntime since 1.17 runs them


class GraphBuilder:
    """A graph that grows node by node; float32."""

    def __init__(self) -> None:
        from onnx import TensorProto, helper, numpy_helper

        self._helper, self._numpy, self._types = helper, numpy_helper, TensorProto
        self.nodes: list[Any] = []
        self.weights: dict[str, Any] = {}
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[ValueInfoProto] = []

    def input(self, name: str, *shape: str | int, whole: bool = False) -> str:
        """Declare an input; a size that is text is free."""
        kind = self._types.INT64 if whole else self._types.FLOAT
        self.inputs.append(self._helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value: str, name: str, *shape: str | int) -> None:
        """Make a value an output."""
        self.nodes.append(self._helper.make_node("Identity", [value], [name], name=name))
        info = self._helper.make_tensor_value_info(name, self._types.FLOAT, shape)
        self.outputs.append(info)

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of one output."""
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def weight(self, name: str, tensor: Tensor) -> str:
        """Add a weight, once for each name."""
        if name not in self.weights:
            array = tensor.detach().cpu().contiguous().numpy()
            self.weights[name] = self._numpy.from_array(array, name)
        return name

    def ints(self, *numbers: int) -> str:
        """Add a vector of whole numbers."""
        return self.weight(f"ints{numbers}", torch.tensor(numbers))

    def number(self, value: float | int) -> str:
        """Add a scalar, of float32 or int64 as it is given."""
        return self.weight(f"{type(value).__name__}({value})", torch.tensor(value))

    def size(self, value: str, axis: int) -> str:
        """The size of an axis, as a vector of one number."""
        return self.op("Shape", value, start=axis, end=axis + 1)

    def range(self, end: str) -> str:
        """0, 1, … of as many numbers as a vector of one number says."""
        return self.op("Range", self.number(0), self.op("Squeeze", end), self.number(1))

    def rows(self, table: str, start: str, end: str) -> str:
        """The rows of a table from `start` to before `end`."""
        return self.op("Slice", table, start, end, self.ints(0))

    def linear(self, name: str, layer: nn.Module, x: str) -> str:
        """x Wᵀ + b."""
        assert isinstance(layer, nn.Linear)
        product = self.op("MatMul", x, self.weight(f"{name}.weight", layer.weight.T))
        return self.op("Add", product, self.weight(f"{name}.bias", layer.bias))

    def norm(self, name: str, norm: nn.Module, x: str) -> str:
        """Layer norm; x itself where there is none."""
        if not isinstance(norm, nn.LayerNorm):
            return x
        scale = self.weight(f"{name}.weight", norm.weight)
        shift = self.weight(f"{name}.bias", norm.bias)
        return self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=norm.eps)

    def split(self, x: str, num_heads: int) -> str:
        """(B, T, H · E) as heads (B, H, T, E)."""
        heads = self.op("Reshape", x, self.ints(0, 0, num_heads, -1))
        return self.op("Transpose", heads, perm=[0, 2, 1, 3])

    def model(self, name: str) -> ModelProto:
        """The model of all nodes, checked."""
        from onnx.checker import check_model

        graph = self._helper.make_graph(
            self.nodes, name, self.inputs, self.outputs, list(self.weights.values())
        )
        model = self._helper.make_model(
            graph,
            producer_name="regard",
            producer_version=__version__,
            ir_version=IR_VERSION,
            opset_imports=[self._helper.make_opsetid("", OPSET)],
        )
        check_model(model, full_check=True)
        return model


def names(kind: str, num_layers: int) -> Sequence[str]:
    """The names of keys and values of all layers, as in memory.0.key, memory.0.value, …"""
    return [f"{kind}.{number}.{part}" for number in range(num_layers) for part in ("key", "value")]
