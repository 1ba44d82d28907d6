"""The matrix products of a training step and nothing else: what no training can be faster than.

Per linear map with N tokens, x (N, D) and W (O, D): x Wᵀ, ∂y W and ∂yᵀ x; per attention with B · H
heads: q kᵀ, weights · v and their four backward products, or torch's fused kernels if these take
less time. Each is in its fastest form (`products`), chosen before the first round; of causal
attention, products are left out where no query sees a key. Batches are cut into shards as `regard
train` does, one for each process; the processes meet at the end of a round, not after every batch.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from itertools import chain
from multiprocessing import get_context
from typing import Any

import torch

from benchmarks.train.products import FastestProducts, Job, Shape, fastest
from benchmarks.train.rounds import Rounds
from benchmarks.train.task import Pairs, Sizes, Task
from regard.models.batch import Batch, batch_of
from regard.training.update import shards

CAUSAL_PARTS = (1, 2)  # of the queries, each with the keys up to its last one


class Products:
    """The products of shards as jobs."""

    def __init__(self, sizes: Sizes, precision: str) -> None:
        self.sizes = sizes
        dtypes = [torch.float32] + [torch.bfloat16] * (precision == "bf16")
        self.products = FastestProducts(dtypes)
        self._attention: dict[tuple[int, ...], int] = {}

    def jobs(self, shard: Batch) -> list[Job]:
        """All products of one shard."""
        assert shard.source is not None
        sizes, dim = self.sizes, self.sizes.dim
        rows, width = shard.inputs.shape
        source_width = shard.source.tokens.shape[1]
        source, target = int(shard.source.lengths.sum()), shard.answers
        layer: list[Job] = []
        for tokens in (source, target):  # self-attention and feed-forward of both sides
            layer += self._linear(tokens, dim, 3 * dim)
            layer += self._linear(tokens, dim, dim)
            layer += self._linear(tokens, dim, sizes.ff)
            layer += self._linear(tokens, sizes.ff, dim)
        layer += self._linear(target, dim, dim)  # cross-attention: queries, keys and values, output
        layer += self._linear(source, dim, 2 * dim)
        layer += self._linear(target, dim, dim)
        for queries, keys, causal in (
            (source_width, source_width, False),
            (width, width, True),
            (width, source_width, False),
        ):
            layer += self._attend(rows, queries, keys, causal)
        return layer * sizes.layers + self._linear(target, dim, sizes.vocab)

    def _linear(self, tokens: int, width: int, out: int) -> list[Job]:
        return [
            self.products.job(("output", width, out), Shape(1, tokens, width, out)),
            self.products.job(("input", width, out), Shape(1, tokens, out, width)),
            self.products.job(("weight", width, out), Shape(1, out, tokens, width)),
        ]

    def _attend(self, rows: int, queries: int, keys: int, causal: bool) -> list[Job]:
        """The jobs of one attention, in the way that is fastest for such lengths."""
        kind = queries // 16, keys // 16, int(causal)
        parts = [n for n in CAUSAL_PARTS if n <= queries] if causal else [1]
        ways = [self._bare(rows, queries, keys, number) for number in parts]
        ways += self._fused(rows, queries, keys, causal)
        if kind not in self._attention:
            self._attention[kind] = fastest(
                [(number, partial(_run, jobs)) for number, jobs in enumerate(ways)]
            )
        return ways[self._attention[kind]]

    def _bare(self, rows: int, queries: int, keys: int, parts: int) -> list[Job]:
        """The products of scores and context, and those of the four gradients."""
        heads, width = rows * self.sizes.heads, self.sizes.dim // self.sizes.heads
        jobs, first = [], 0
        for number in range(parts):
            end = queries * (number + 1) // parts
            count, seen = end - first, keys if parts == 1 else end
            for name, shape in (
                ("scores", Shape(heads, count, width, seen)),  # and gradient of the weights
                ("context", Shape(heads, count, seen, width)),  # and gradient of the queries
                ("keys", Shape(heads, seen, count, width)),  # gradients of keys and values
            ):
                jobs += [self.products.job((name, count // 16, seen // 16), shape)] * 2
            first = end
        return jobs

    def _fused(self, rows: int, queries: int, keys: int, causal: bool) -> list[list[Job]]:
        """Torch's fused attention, forward and backward, in each number format."""
        heads, width = self.sizes.heads, self.sizes.dim // self.sizes.heads
        forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
        ways: list[list[Job]] = []
        for dtype in self.products.dtypes:
            q, k, v = (
                self.products.memory.matrix(
                    name, dtype, rows * heads, length, width, turned=False
                ).view(rows, heads, length, width)
                for name, length in (("q", queries), ("k", keys), ("v", keys))
            )
            output, sums = forward(q, k, v, 0.0, causal)
            ways.append(
                [
                    partial(forward, q, k, v, 0.0, causal),
                    partial(backward, q, q, k, v, output, sums, 0.0, causal),
                ]
            )
        return ways


def main(path: str, precision: str, processes: str, threads: str) -> None:
    """Compute the products of the task in the file by processes of some threads each."""
    task, number = Task.read(path), int(processes)
    torch.set_num_threads(1)  # until the processes are there: threads do not survive a fork
    batches = [batch_of(p.sources, p.targets) for p in task.warmup + task.timed]
    pieces = [shards(batch, number) for batch in batches]
    pipes = []
    for rank in range(1, number):
        here, there = get_context("fork").Pipe()
        get_context("fork").Process(
            target=_serve, args=(there, rank, task, pieces, precision, int(threads)), daemon=True
        ).start()
        pipes.append(here)
    laps = _laps(0, task, pieces, precision, int(threads))
    rounds = Rounds(len(task.warmup), len(task.timed), task.rounds)
    settings = f"{precision}, {processes} processes of {threads} threads"

    def lap(jobs: Sequence[Job], timed: Sequence[Pairs]) -> None:
        for pipe in pipes:
            pipe.send(None)
        _run(jobs)
        for pipe in pipes:
            pipe.recv()
        for pairs in timed:
            rounds.step(pairs.tokens, 0.0, settings=settings, parameters=0)

    lap(laps[0], task.warmup)
    for _ in range(task.rounds):
        lap(laps[1], task.timed)


def _serve(
    pipe: Any, rank: int, task: Task, pieces: Sequence[list[Batch]], precision: str, threads: int
) -> None:
    """Compute one shard of every batch of a round on request."""
    warmup, timed = _laps(rank, task, pieces, precision, threads)
    for jobs in (warmup, *[timed] * task.rounds):
        pipe.recv()
        _run(jobs)
        pipe.send(None)


def _laps(
    rank: int, task: Task, pieces: Sequence[list[Batch]], precision: str, threads: int
) -> tuple[list[Job], list[Job]]:
    """The products of the warm-up and of a round, for one of the processes."""
    torch.set_num_threads(threads)
    products = Products(task.sizes, precision)
    for _ in range(2):  # the second time, forms are known and the shared memory is large enough
        jobs = [products.jobs(shards[rank]) if rank < len(shards) else [] for shards in pieces]
    warmup, timed = jobs[: len(task.warmup)], jobs[len(task.warmup) :]
    return list(chain(*warmup)), list(chain(*timed))


def _run(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job()


if __name__ == "__main__":
    main(*sys.argv[1:])
