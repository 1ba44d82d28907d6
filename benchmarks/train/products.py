"""One matrix product in the form that is fastest on this machine, found by trying.

A product of a batch of matrices, A (B, M, K) times B (B, K, N), may have each matrix by rows or by
columns, may be computed in parts, and in each of several number formats. Matrices lie at the
beginning of memory that all products share, so that what fits stays in the caches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

TRIES = 3
VERY_FAR, FAR = 3.0, 1.2  # times the shortest time, after the first turn and after the others
PARTS = (2, 3, 4, 8)
CHUNKS = (1 << 18, 1 << 20, 1 << 21)  # results of parts that stay in caches
Job = Callable[[], object]
Choice = TypeVar("Choice")


class Shape(NamedTuple):
    """The sizes of a product: (batch, rows, inner) times (batch, inner, columns)."""

    batch: int
    rows: int
    inner: int
    columns: int


class Form(NamedTuple):
    """How a product is computed.

    by_columns  whether A, B and the result are stored by columns
    axis, parts  in how many parts, of batch (0), rows (1) or columns (2) of the result
    add         whether the result is added to what is there
    """

    dtype: torch.dtype
    by_columns: tuple[bool, bool, bool] = (False, False, False)
    axis: int = 0
    parts: int = 1
    add: bool = False


class Memory:
    """Memory for operands and results, which all products of a number format share."""

    def __init__(self) -> None:
        self._rooms: dict[tuple[str, torch.dtype], Tensor] = {}

    def matrix(
        self, name: str, dtype: torch.dtype, batch: int, rows: int, columns: int, *, turned: bool
    ) -> Tensor:
        """Matrices (batch, rows, columns)."""
        size = batch * rows * columns
        room = self._rooms.get((name, dtype))
        if room is None or len(room) < size:
            room = self._rooms[name, dtype] = torch.randn(size).to(dtype)
        sides = (columns, rows) if turned else (rows, columns)
        made = room[:size].view(batch, *sides)
        return made.mT if turned else made


class FastestProducts:
    """Products as jobs; the form of a kind of product is chosen once, on its first shape."""

    def __init__(self, dtypes: Sequence[torch.dtype]) -> None:
        self.dtypes, self.memory = tuple(dtypes), Memory()
        self._forms: dict[object, Form] = {}

    def job(self, kind: object, shape: Shape) -> Job:
        """A product to be computed; products of a kind have one form."""
        if kind not in self._forms:
            self._forms[kind] = self._fastest_form(shape)
        return self.job_of(shape, self._forms[kind])

    def job_of(self, shape: Shape, form: Form) -> Job:
        """A product in a form."""
        batch, rows, inner, columns = shape
        matrix = partial(self.memory.matrix, dtype=form.dtype, batch=batch)
        of_a, of_b, of_result = form.by_columns
        a = matrix("a", rows=rows, columns=inner, turned=of_a)
        b = matrix("b", rows=inner, columns=columns, turned=of_b)
        result = matrix("result", rows=rows, columns=columns, turned=of_result)
        results = result.chunk(form.parts, form.axis)
        lefts = a.chunk(form.parts, form.axis) if form.axis < 2 else [a] * len(results)
        rights = b.chunk(form.parts, form.axis) if form.axis != 1 else [b] * len(results)
        triples = list(zip(lefts, rights, results, strict=True))
        if batch == 1:
            triples = [(a[0], b[0], result[0]) for a, b, result in triples]
        return partial(_compute, triples, batch > 1, form.add)

    def _fastest_form(self, shape: Shape) -> Form:
        layouts = [
            Form(dtype, (a, b, result))
            for dtype in self.dtypes
            for a, b, result in product((False, True), repeat=3)
        ]
        best = fastest([(form, self.job_of(shape, form)) for form in layouts])
        forms = [*_parts_of(shape, best), best._replace(add=True), best]
        return fastest([(form, self.job_of(shape, form)) for form in forms])


def fastest(jobs: Sequence[tuple[Choice, Job]]) -> Choice:
    """The job that takes the least time; they take turns, and the shortest time of each counts.

    Those that are far from the fastest are left out of the next turns.
    """
    taken = [float("inf")] * len(jobs)
    left = list(range(len(jobs)))
    for turn in range(1 + TRIES):
        for number in left:
            start = time.perf_counter()
            jobs[number][1]()
            taken[number] = min(taken[number], time.perf_counter() - start)
        far = VERY_FAR if turn == 0 else FAR
        left = [number for number in left if taken[number] < far * min(taken)]
    return jobs[taken.index(min(taken))][0]


def _parts_of(shape: Shape, form: Form) -> Iterator[Form]:
    """The form with its result in parts, none of them small."""
    size = shape.batch * shape.rows * shape.columns
    counts = sorted({*PARTS, *(-(-size // chunk) for chunk in CHUNKS)} - {1})
    lengths = (shape.batch, shape.rows // 32, shape.columns // 32)
    for count in counts:
        for axis, most in enumerate(lengths):
            if count <= most and (axis == 0 or shape.batch == 1):
                yield form._replace(axis=axis, parts=count)


def _compute(parts: Sequence[tuple[Tensor, Tensor, Tensor]], batched: bool, add: bool) -> None:
    for a, b, result in parts:
        if add:
            (result.baddbmm_ if batched else result.addmm_)(a, b)
        else:
            (torch.bmm if batched else torch.mm)(a, b, out=result)
