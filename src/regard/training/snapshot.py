"""All tensors of a run under names: weights, their mean, buffers, the optimiser's moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from regard.training.average import RunningMean
from regard.training.optimizer import Optimizers

MODEL, BUFFER = "model.", "buffer."
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def snapshot(
    network: nn.Module, optimizers: Optimizers, mean: RunningMean | None
) -> dict[str, Tensor]:
    """The tensors, not copied."""
    tensors: dict[str, Tensor] = {}
    for number, (name, parameter) in enumerate(_learned(network)):
        tensors[f"{MODEL}{name}"] = parameter
        if mean:
            tensors[f"mean.{name}"] = mean.mean[number]
        for part, value in optimizers.of(parameter).state[parameter].items():
            tensors[f"optimizer.{part}.{name}"] = value
    return tensors | {f"{BUFFER}{name}": buffer for name, buffer in network.named_buffers()}


@torch.no_grad()
def restore(
    tensors: Mapping[str, Tensor],
    network: nn.Module,
    optimizers: Optimizers,
    mean: RunningMean | None,
) -> None:
    """Put back what `snapshot` gave."""
    for name, buffer in network.named_buffers():  # random features and hashes, drawn once
        if f"{BUFFER}{name}" in tensors:
            buffer.copy_(tensors[f"{BUFFER}{name}"])
    for number, (name, parameter) in enumerate(_learned(network)):
        parameter.copy_(tensors[f"{MODEL}{name}"])
        if mean:  # a run that had none so far begins it here
            kept = tensors.get(f"mean.{name}", tensors[f"{MODEL}{name}"])
            mean.mean[number].copy_(kept)
        if f"optimizer.step.{name}" in tensors:
            optimizers.of(parameter).state[parameter] = {
                part: tensors[f"optimizer.{part}.{name}"].to(parameter.device).clone()
                for part in _MOMENTS
            }


def weights_of(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of a snapshot the model's weights alone, under their own names."""
    return {n.removeprefix(MODEL): t for n, t in tensors.items() if n.startswith(MODEL)}


def _learned(network: nn.Module) -> Sequence[tuple[str, nn.Parameter]]:
    return [(name, p) for name, p in network.named_parameters() if p.requires_grad]
