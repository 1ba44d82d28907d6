"""The two ONNX graphs of a model run by onnxruntime, as a model that search can use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.exchange.onnx_builder import names
from regard.exchange.requirements import needed
from regard.models.batch import Source

ENCODER, DECODER = "encoder.onnx", "decoder.onnx"


@dataclass(frozen=True)
class OnnxState:
    """What one step of the decoder needs of those before it.

    memory, cache  keys and values of each layer, in the order of `names`
    lengths        (B,)  number of source tokens
    """

    memory: tuple[Tensor, ...]
    cache: tuple[Tensor, ...]
    lengths: Tensor


class OnnxModel:
    """A `StepModel` whose network is in the two files of a folder."""

    def __init__(self, folder: Path, max_length: int, threads: int = 0) -> None:
        onnxruntime = needed("onnxruntime")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.max_length = max_length
        self._encoder, self._decoder = (
            onnxruntime.InferenceSession(str(folder / name), options, ["CPUExecutionProvider"])
            for name in (ENCODER, DECODER)
        )
        self._memory = [value.name for value in self._encoder.get_outputs()]
        self._cache = names("cache", len(self._memory) // 2)

    def start(self, source: Source, batch: int = 1) -> OnnxState:
        """Encode the source."""
        memory = _run(self._encoder, {"tokens": source.tokens, "lengths": source.lengths})
        empty = memory[0].new_zeros(len(source.lengths), memory[0].shape[1], 0, memory[0].shape[3])
        return OnnxState(tuple(memory), (empty,) * len(memory), source.lengths)

    def step(
        self, state: OnnxState, tokens: Tensor, attention: bool = False
    ) -> tuple[Tensor, OnnxState, Sequence[Any]]:
        """Return logits (B, V) of the token after `tokens` (B,); there are no maps."""
        inputs = {"tokens": tokens, "lengths": state.lengths}
        inputs |= dict(zip(self._memory, state.memory, strict=True))
        inputs |= dict(zip(self._cache, state.cache, strict=True))
        logits, *cache = _run(self._decoder, inputs)
        return logits, replace(state, cache=tuple(cache)), []

    def select(self, state: OnnxState, rows: Tensor) -> OnnxState:
        """Return the state of the given rows."""
        return OnnxState(
            tuple(tensor[rows] for tensor in state.memory),
            tuple(tensor[rows] for tensor in state.cache),
            state.lengths[rows],
        )


def _run(session: Any, inputs: dict[str, Tensor]) -> list[Tensor]:
    arrays = {name: tensor.contiguous().numpy() for name, tensor in inputs.items()}
    return [torch.from_numpy(array) for array in session.run(None, arrays)]
