"""A plain training loop around `torch.nn.Transformer`.

B sentences, S source tokens, T target tokens, D features, V tokens of the vocabulary.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from contextlib import nullcontext
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.train.rounds import Rounds
from benchmarks.train.task import Pairs, Task
from regard.models.batch import batch_of
from regard.text import PAD

LONGEST = 1024
NUM_TRIES = 3  # of each Adam; the fastest counts

# names of a layer's parts in regard's layers
_ENCODER = {
    "self_attn": "attention",
    "linear1": "feed_forward.inner",
    "linear2": "feed_forward.outer",
    "norm1": "around_attention.norm",
    "norm2": "around_feed_forward.norm",
}
_DECODER = _ENCODER | {
    "multihead_attn": "cross",
    "norm2": "around_cross.norm",
    "norm3": "around_feed_forward.norm",
}


class Padded(NamedTuple):
    """A batch: source (B, S) with EOS, inputs (B, T) from BOS on, labels (B, T) to EOS."""

    source: Tensor
    inputs: Tensor
    labels: Tensor


class TorchTransformer(nn.Module):
    """`nn.Transformer` with three-way tied embeddings."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        sizes = task.sizes
        self.embedding = nn.Embedding(sizes.vocab, sizes.dim, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=sizes.dim**-0.5)
        self.dropout = nn.Dropout(task.dropout)
        with warnings.catch_warnings():  # about nested tensors, which training does not use
            warnings.simplefilter("ignore", UserWarning)
            self.transformer = nn.Transformer(
                sizes.dim,
                sizes.heads,
                sizes.layers,
                sizes.layers,
                sizes.ff,
                dropout=task.dropout,
                batch_first=True,
                norm_first=True,
            )
        self.output = nn.Linear(sizes.dim, sizes.vocab)
        nn.init.zeros_(self.output.bias)
        self.output.weight = self.embedding.weight
        self.positions: Tensor
        self.register_buffer("positions", _sinusoids(LONGEST, sizes.dim), persistent=False)

    def forward(self, source: Tensor, inputs: Tensor) -> Tensor:
        """Scores (B, T, V) of the token after each of `inputs`."""
        future = torch.ones(inputs.shape[1], inputs.shape[1], dtype=torch.bool).triu(1)
        source_padding = source == PAD
        features = self.transformer(
            self._embedded(source),
            self._embedded(inputs),
            tgt_mask=future,
            src_key_padding_mask=source_padding,
            tgt_key_padding_mask=inputs == PAD,
            memory_key_padding_mask=source_padding,
        )
        scores: Tensor = self.output(features)
        return scores

    def _embedded(self, tokens: Tensor) -> Tensor:
        scaled = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        embedded: Tensor = self.dropout(scaled + self.positions[: tokens.shape[1]])
        return embedded

    def regard_state(self) -> dict[str, Tensor]:
        """These weights under the names of regard's `TransformerModel`."""
        weight = self.embedding.weight
        state = dict.fromkeys(("source.vectors.weight", "target.vectors.weight"), weight)
        state |= {"output.weight": weight, "output.bias": self.output.bias}
        for name, tensor in self.transformer.state_dict().items():
            side, *rest = name.split(".")
            if rest[0] == "layers":
                _, number, part, *inner = rest
                names = _ENCODER if side == "encoder" else _DECODER
                rest = ["layers", number, names[part], *inner]
            state[".".join([side, *rest])] = tensor
        return state


def padded(pairs: Pairs) -> Padded:
    """A batch as tensors."""
    made = batch_of(pairs.sources, pairs.targets)
    assert made.source is not None
    return Padded(made.source.tokens, made.inputs, made.labels)


def loss_of(model: TorchTransformer, batch: Padded, smoothing: float) -> Tensor:
    """Mean loss of a target token."""
    scores = model(batch.source, batch.inputs)
    return F.cross_entropy(
        scores.flatten(0, 1), batch.labels.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )


def faster_adam(model: TorchTransformer, batch: Padded, task: Task) -> torch.optim.Adam:
    """Adam, fused or not, whichever is faster."""
    loss_of(model, batch, task.smoothing).backward()
    taken = {}
    for fused in (False, True):
        optimizer = _adam(model, task, fused)
        optimizer.step()
        times = []
        for _ in range(NUM_TRIES):
            start = time.perf_counter()
            optimizer.step()
            times.append(time.perf_counter() - start)
        taken[fused] = min(times)
    return _adam(model, task, fused=taken[True] < taken[False])


def main(path: str, precision: str) -> None:
    """Train on the task in the file; `precision` is fp32 or bf16."""
    task = Task.read(path)
    torch.set_num_threads(task.threads)
    torch.manual_seed(task.seed)
    model = TorchTransformer(task).train()
    made = {id(pairs): padded(pairs) for pairs in task.warmup + task.timed}
    rounds = Rounds(len(task.warmup), len(task.timed), task.rounds)
    bf16 = precision == "bf16"
    optimizer = faster_adam(model, made[id(task.warmup[0])], task)
    fused = "fused Adam" if optimizer.defaults["fused"] else "Adam"
    for pairs in task.order():
        batch = made[id(pairs)]
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16) if bf16 else nullcontext():
            loss = loss_of(model, batch, task.smoothing)
        loss.backward()
        optimizer.step()
        rounds.step(
            int((batch.labels != PAD).sum()),
            loss.item(),
            settings=f"{precision}, {fused}, {task.threads} threads",
            parameters=sum(p.numel() for p in model.parameters()),
        )


def _adam(model: nn.Module, task: Task, fused: bool) -> torch.optim.Adam:
    return torch.optim.Adam(
        model.parameters(), lr=task.rate, betas=task.betas, eps=task.eps, fused=fused
    )


def _sinusoids(length: int, dim: int) -> Tensor:
    """sin(p / 10000^(2i/D)) in the even columns, the cosine in the odd ones."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    angle = position / 10000 ** (torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :dim].float()


if __name__ == "__main__":
    main(*sys.argv[1:])
