"""Small synthetic tasks on sequences of tokens, and networks that learn them in seconds.

B sequences, N tokens, F fields of a token, A answers per token, L labels, D features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Attended, Mask, Position

NO_ANSWER = -100
"""The label of a token that is not asked, as in torch's cross-entropy."""
TEST_SEED = 1_000_000
"""Test sequences are drawn with seeds from here on, training sequences with smaller ones."""


class TokenExamples(NamedTuple):
    """Sequences with their answers.

    fields   (B, N, F)  ids: what a token is made of
    labels   (B, N, A)  the answers of each token, `NO_ANSWER` where it has no label
    lengths  (B,)       tokens of each sequence; None: all of them
    """

    fields: Tensor
    labels: Tensor
    lengths: Tensor | None = None


Draw = Callable[[int, torch.Generator], TokenExamples]
"""Draws so many examples."""


class TokenReader(nn.Module):
    """Σ_f E_f[field] with positions, layers x + f(x), and an answer of each token by itself.

    sizes      ids of each field
    layers     modules with `layer(x, mask=…) -> Attended`
    positions  added to the embedded tokens; other positions belong into the layers
    hidden     inner width of the answer W₂ gelu(W₁ x)
    """

    def __init__(
        self,
        sizes: Sequence[int],
        dim: int,
        layers: Sequence[nn.Module],
        num_labels: int,
        *,
        num_answers: int = 1,
        positions: Position | None = None,
        hidden: int = 64,
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(size, dim) for size in sizes)
        for embedding in self.embeddings:
            nn.init.normal_(embedding.weight, std=dim**-0.5)  # type: ignore[arg-type]  # a tensor
        self.layers = nn.ModuleList(layers)
        self.positions = Position() if positions is None else positions
        self.answer = nn.Sequential(
            nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, num_answers * num_labels)
        )
        self.num_answers, self.causal = num_answers, causal

    def forward(self, fields: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Logits (B, N, A, L) of fields (B, N, F)."""
        parts = [embed(fields[..., f]) for f, embed in enumerate(self.embeddings)]
        x = self.positions.add(torch.stack(parts).sum(0))
        mask = None if lengths is None else Mask.lengths(lengths)
        if self.causal:
            mask = Mask.causal() if mask is None else mask & Mask.causal()
        for layer in self.layers:
            attended: Attended = layer(x, mask=mask)
            x = x + attended.context
        logits: Tensor = self.answer(x).unflatten(-1, (self.num_answers, -1))
        return logits


def fit(
    model: nn.Module,
    draw: Draw,
    *,
    steps: int,
    seed: int,
    batch: int = 128,
    rate: float = 3e-3,
) -> None:
    """Train on `steps` batches that are drawn anew, with Adam and a rate that rises and decays."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=max(steps, 4), pct_start=0.1
    )
    model.train()
    for _ in range(steps):
        examples = draw(batch, generator)
        logits = model(examples.fields, examples.lengths)
        loss = F.cross_entropy(
            logits.flatten(0, -2), examples.labels.flatten(), ignore_index=NO_ANSWER
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()


@torch.no_grad()
def accuracy(model: nn.Module, examples: TokenExamples) -> float:
    """The share of right answers."""
    answers = model(examples.fields, examples.lengths).argmax(-1)
    labeled = examples.labels != NO_ANSWER
    return float((answers == examples.labels)[labeled].float().mean())


def guess_accuracy(examples: TokenExamples) -> float:
    """The share of right answers of always guessing the most frequent label."""
    labels = examples.labels[examples.labels != NO_ANSWER]
    return float(labels.bincount().max()) / len(labels)


def num_parameters(model: nn.Module) -> int:
    """The number of learned numbers."""
    return sum(parameter.numel() for parameter in model.parameters())
