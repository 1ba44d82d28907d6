"""The matrix products of a training step and nothing else: what no training can be faster than.

Per linear map with N tokens, x (N, D) and W (O, D): x Wᵀ, ∂y W and ∂yᵀ x; per attention with B · H
heads: q kᵀ, weights · v and their four backward products. Batches are cut into shards as `regard
train` does, one process per core; results go to memory that was allocated before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import torch
from torch import Tensor

from benchmarks.train.rounds import Rounds
from benchmarks.train.task import Pairs, Sizes, Task
from regard.models.batch import Batch, batch_of
from regard.training.update import shards


class Products:
    """The products of shards; tensors of a shape are made once."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self._made: dict[tuple[int, ...], Tensor] = {}

    def __call__(self, shard: Batch) -> None:
        """Compute all products of one shard."""
        assert shard.source is not None
        sizes, dim = self.sizes, self.sizes.dim
        rows, width = shard.inputs.shape
        source_width = shard.source.tokens.shape[1]
        source, target = int(shard.source.lengths.sum()), shard.answers
        for _ in range(sizes.layers):
            for tokens in (source, target):  # self-attention and feed-forward of both sides
                self._linear(tokens, dim, 3 * dim)
                self._linear(tokens, dim, dim)
                self._linear(tokens, dim, sizes.ff)
                self._linear(tokens, sizes.ff, dim)
            self._linear(target, dim, dim)  # cross-attention: queries, keys and values, output
            self._linear(source, dim, 2 * dim)
            self._linear(target, dim, dim)
            for queries, keys in (
                (source_width, source_width), (width, width), (width, source_width),
            ):  # fmt: skip
                self._attention(rows * sizes.heads, queries, keys, dim // sizes.heads)
        self._linear(target, dim, sizes.vocab)

    def _linear(self, tokens: int, width: int, out: int) -> None:
        x, y = self._tensor(0, tokens, width), self._tensor(0, tokens, out)
        weight = self._tensor(0, out, width)
        torch.mm(x, weight.T, out=self._tensor(1, tokens, out))
        torch.mm(y, weight, out=self._tensor(1, tokens, width))
        torch.mm(y.T, x, out=self._tensor(1, out, width))

    def _attention(self, heads: int, queries: int, keys: int, width: int) -> None:
        q, k = self._tensor(0, heads, queries, width), self._tensor(0, heads, keys, width)
        weights = self._tensor(0, heads, queries, keys)
        for _ in range(2):  # scores and gradient of the weights
            torch.bmm(q, k.mT, out=self._tensor(1, heads, queries, keys))
            torch.bmm(weights, k, out=self._tensor(1, heads, queries, width))
            torch.bmm(weights.mT, q, out=self._tensor(1, heads, keys, width))

    def _tensor(self, number: int, *shape: int) -> Tensor:
        if (number, *shape) not in self._made:
            self._made[number, *shape] = torch.randn(shape)
        return self._made[number, *shape]


def main(path: str) -> None:
    """Compute the products of the task in the file, one process per core."""
    task = Task.read(path)
    torch.set_num_threads(1)
    made = {id(p): batch_of(p.sources, p.targets) for p in task.warmup + task.timed}
    pipes = []
    for number in range(1, task.threads):
        here, there = get_context("fork").Pipe()
        process = get_context("fork").Process(
            target=_serve, args=(there, number, task, made), daemon=True
        )
        process.start()
        pipes.append(here)
    compute = _shard_products(0, task, made)
    rounds = Rounds(len(task.warmup), len(task.timed), task.rounds)
    for pairs in task.order():
        for pipe in pipes:
            pipe.send(None)
        compute(pairs)
        for pipe in pipes:
            pipe.recv()
        rounds.step(pairs.tokens, 0.0, settings=f"fp32, {task.threads} processes", parameters=0)


def _serve(pipe: Any, number: int, task: Task, made: dict[int, Batch]) -> None:
    """Compute one shard of every batch when told to."""
    compute = _shard_products(number, task, made)
    for pairs in task.order():
        pipe.recv()
        compute(pairs)
        pipe.send(None)


def _shard_products(number: int, task: Task, made: dict[int, Batch]) -> Callable[[Pairs], None]:
    products = Products(task.sizes)
    pieces = {key: shards(batch, task.threads) for key, batch in made.items()}

    def compute(pairs: Pairs) -> None:
        mine = pieces[id(pairs)]
        if number < len(mine):
            products(mine[number])

    return compute


if __name__ == "__main__":
    main(*sys.argv[1:])
