"""Adam and AdamW, fused where torch has it so."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.config import Training


def make_optimizer(model: nn.Module, settings: Training) -> torch.optim.Optimizer:
    """Weight decay for matrices; none for biases and norms."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    matrices = [p for p in parameters if p.ndim > 1]
    vectors = [p for p in parameters if p.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    kind = torch.optim.AdamW if settings.optimizer == "adamw" else torch.optim.Adam
    return kind(
        groups,
        lr=settings.learning_rate,
        betas=(settings.beta1, settings.beta2),
        eps=1e-9,
        fused=parameters[0].device.type in ("cpu", "cuda"),
    )


def clip(gradients: list[Tensor], largest: float) -> float:
    """Scale gradients, in place, to a joint norm of at most `largest` (0: leave them); the norm."""
    norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))))
    if largest and norm > largest:
        torch._foreach_mul_(gradients, largest / norm)
    return norm
