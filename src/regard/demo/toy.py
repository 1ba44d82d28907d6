"""`regard trace --toy`: attention by hand, on three words of four whole numbers each.

First vector by vector, then the same as one matrix product; then two heads with separate matrices,
with one joint matrix that is cut, and by slices of the input without matrices, and W^O; and what
each form costs.

Shapes: X (3, 4), W_Q, W_K, W_V, W_O (4, 4); rows are words, so that q = x W_Q and Q = X W_Q.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.attention import MultiHead
from regard.views.terminal.trace_table import matrix_lines, number

Floats = NDArray[np.float64]

WORDS = ("the", "cat", "sleeps")
X = np.array([[1, 0, 1, 0], [0, 2, 0, 1], [1, 1, 0, 2]], float)
W_Q = np.array([[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 1, 0], [0, 1, 0, 0]], float)
W_K = np.array([[0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0], [1, 0, 1, 0]], float)
W_V = np.array([[1, 0, 2, 0], [0, 3, 0, 1], [1, 0, 0, 0], [0, 1, 1, 2]], float)
W_O = np.array([[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 1, 0], [0, 1, 0, 1]], float)
LENGTHS = (4, 16, 64, 256, 1024, 4096)
MEASURED = 16  # words whose vectors are timed; the time of more of them is extrapolated


@dataclass(frozen=True)
class ToyAttention:
    """Every number of the example.

    by_vectors, by_matrix  (3, 4)  the contexts, computed in both forms
    heads, sliced          the contexts (3, 2) of both heads, with matrices and by slices of X
    output                 (3, 4)  [c¹; c²] W_O
    differences            the largest difference of each form from the first one
    seconds                length ▶ seconds by vectors and as one product
    """

    by_vectors: Floats
    by_matrix: Floats
    heads: tuple[Floats, Floats]
    sliced: tuple[Floats, Floats]
    output: Floats
    differences: dict[str, float]
    seconds: dict[int, tuple[float, float]]

    def payload(self) -> dict[str, Any]:
        """The example as JSON."""
        matrices = {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O}
        results = {"context": self.by_matrix, "head 1": self.heads[0], "head 2": self.heads[1]}
        results |= {"output": self.output}
        return {
            "words": list(WORDS),
            "matrices": {name: x.astype(int).tolist() for name, x in matrices.items()},
            "results": {name: x.round(6).tolist() for name, x in results.items()},
            "differences": self.differences,
            "seconds": [
                {"n": n, "vectors": vectors, "matrix": matrix, "extrapolated": n > MEASURED}
                for n, (vectors, matrix) in self.seconds.items()
            ],
        }

    def text(self) -> str:
        """The example, written out step by step."""
        return "\n".join([*_by_vectors(), *_by_matrix(self), *_heads(self), *_times(self)])


def toy_attention(lengths: tuple[int, ...] = LENGTHS) -> ToyAttention:
    """Compute the example in all its forms."""
    by_vectors = vector_by_vector(X, W_Q, W_K, W_V)
    by_matrix = as_one_product(X, W_Q, W_K, W_V)
    halves = slice(0, 2), slice(2, 4)
    first, second = (as_one_product(X, W_Q[:, h], W_K[:, h], W_V[:, h]) for h in halves)
    output = np.concatenate([first, second], 1) @ W_O
    eye = np.eye(4)
    sliced = tuple(as_one_product(X, eye[:, h], eye[:, h], eye[:, h]) for h in halves)
    layers = {form: _layer(form) for form in ("separate", "joint")}
    differences = {"matrix product": float(np.abs(by_vectors - by_matrix).max())}
    for form, computed in layers.items():
        differences[f"{form} heads"] = float(np.abs(computed - output).max())
    return ToyAttention(
        by_vectors,
        by_matrix,
        (first, second),
        (sliced[0], sliced[1]),
        output,
        differences,
        {n: measure(n) for n in lengths},
    )


def vector_by_vector(x: Floats, w_q: Floats, w_k: Floats, w_v: Floats) -> Floats:
    """The contexts (n, d), each word and each pair of words by itself."""
    keys, values = [word @ w_k for word in x], [word @ w_v for word in x]
    return np.array([context_of(word @ w_q, keys, values) for word in x])


def context_of(query: Floats, keys: list[Floats], values: list[Floats]) -> Floats:
    """Σ_j softmax_j(q · k_j / √d) v_j of one query (d,)."""
    root = math.sqrt(len(query))
    scores = [float(query @ key) / root for key in keys]
    largest = max(scores)
    shares = [math.exp(score - largest) for score in scores]
    total = sum(shares)
    context = np.zeros_like(values[0])
    for share, value in zip(shares, values, strict=True):
        context = context + share / total * value
    return context


def as_one_product(x: Floats, w_q: Floats, w_k: Floats, w_v: Floats) -> Floats:
    """softmax(Q Kᵀ / √d) V of all words at once."""
    return _softmax((x @ w_q) @ (x @ w_k).T / math.sqrt(w_q.shape[1])) @ (x @ w_v)


def measure(n: int, dim: int = 4) -> tuple[float, float]:
    """Seconds for n words by vectors (of more than a few extrapolated) and as one product."""
    words = np.random.default_rng(n).normal(size=(n, dim))
    keys, values = list(words @ W_K), list(words @ W_V)
    queries = (words @ W_Q)[:MEASURED]
    vectors = _seconds(lambda: [context_of(query, keys, values) for query in queries])
    return vectors * n / len(queries), _seconds(lambda: as_one_product(words, W_Q, W_K, W_V))


def _seconds(run: Callable[[], object]) -> float:
    """The shorter of two runs."""
    best = math.inf
    for _ in range(2):
        begun = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begun)
    return best


def _softmax(scores: Floats) -> Floats:
    shares = np.exp(scores - scores.max(1, keepdims=True))
    weights: Floats = shares / shares.sum(1, keepdims=True)
    return weights


def toy_layer(num_heads: int = 2, out: Floats = W_O) -> MultiHead:
    """A `MultiHead` layer with the example's matrices."""
    layer = MultiHead(4, num_heads=num_heads, bias=False).double()
    matrices = {"query_proj": W_Q, "key_proj": W_K, "value_proj": W_V, "out_proj": out}
    layer.load_state_dict({f"{n}.weight": torch.tensor(w.T.copy()) for n, w in matrices.items()})
    return layer


def _layer(form: str) -> Floats:
    """The output of a layer of two heads, whose matrices are joint or separate."""
    joint = toy_layer()
    layer = joint if form == "joint" else joint.with_projections("separate")
    with torch.no_grad():
        output: Floats = layer(torch.tensor(X)[None]).context[0].numpy()
    return output


def _matrix(name: str, x: Floats, decimals: int = 2, rows: tuple[str, ...] = ()) -> Iterator[str]:
    yield f"  {name}"
    labels = rows or ("",) * len(x)
    yield from (f"    {line}" for line in matrix_lines(x, labels, decimals=decimals))


def _vector(x: Floats, decimals: int = 0) -> str:
    return "[" + " ".join(number(float(value), decimals) for value in x) + "]"


def _by_vectors() -> Iterator[str]:
    yield "Three words of four numbers each, and three matrices of whole numbers"
    yield from _matrix("X", X, 0, WORDS)
    for name, w in (("W_Q", W_Q), ("W_K", W_K), ("W_V", W_V)):
        yield from _matrix(name, w, 0)
    yield "\n1. Vector by vector: q = x W_Q, k = x W_K, v = x W_V"
    for word, x in zip(WORDS, X, strict=True):
        q, k, v = x @ W_Q, x @ W_K, x @ W_V
        yield f"  {word:<7} q = {_vector(q)}   k = {_vector(k)}   v = {_vector(v)}"
    keys = X @ W_K
    for word, q in zip(WORDS, X @ W_Q, strict=True):
        yield f"\n  the query of “{word}”, q = {_vector(q)}"
        scores = keys @ q
        weights = _softmax(scores[None] / 2)[0]
        for key_word, k, score, weight in zip(WORDS, keys, scores, weights, strict=True):
            sums = " + ".join(f"{a:g}·{b:g}" for a, b in zip(q, k, strict=True))
            yield (
                f"    with {key_word:<7} q · k = {sums} = {score:>2g}   ÷ √4 = {score / 2:>4.1f}"
                f"   softmax {weight:.3f}"
            )
        terms = " + ".join(
            f"{weight:.3f} {_vector(x @ W_V)}" for weight, x in zip(weights, X, strict=True)
        )
        yield f"    context = {terms} = {_vector(weights @ X @ W_V, 3)}"


def _by_matrix(toy: ToyAttention) -> Iterator[str]:
    q, k, v = X @ W_Q, X @ W_K, X @ W_V
    yield "\n2. The same as one matrix product: softmax(Q Kᵀ / √4) V"
    for name, x in (("Q = X W_Q", q), ("K = X W_K", k), ("V = X W_V", v), ("Q Kᵀ", q @ k.T)):
        yield from _matrix(name, x, 0, WORDS)
    yield from _matrix("Q Kᵀ / √4", q @ k.T / 2, 1, WORDS)
    yield from _matrix("softmax of each row", _softmax(q @ k.T / 2), 3, WORDS)
    yield from _matrix("softmax(Q Kᵀ / √4) V", toy.by_matrix, 3, WORDS)
    yield f"  {_same(toy.differences['matrix product'], 'both forms')}"


def _heads(toy: ToyAttention) -> Iterator[str]:
    yield "\n3. Two heads of width 2, each with a score of its own (÷ √2)"
    for number_, h in ((1, slice(0, 2)), (2, slice(2, 4))):
        yield from _matrix(f"separate: W_Q of head {number_}", W_Q[:, h], 0)
    yield "  joint: side by side they are W_Q again; X W_Q is cut into columns 1–2 and 3–4"
    for number_, context in enumerate(toy.heads, 1):
        yield from _matrix(f"context of head {number_}", context, 3, WORDS)
    yield f"  {_same(toy.differences['separate heads'], 'separate matrices and these numbers')}"
    yield f"  {_same(toy.differences['joint heads'], 'one joint matrix, cut, and these numbers')}"
    yield "  sliced: no matrices at all; head 1 sees numbers 1–2 of each word, head 2 the others"
    for number_, context in enumerate(toy.sliced, 1):
        yield from _matrix(f"context of head {number_}, sliced", context, 3, WORDS)
    yield "\n4. Heads joined, [c¹; c²], times W_O: every number of the output mixes both heads"
    yield from _matrix("[c¹; c²]", np.concatenate(toy.heads, 1), 3, WORDS)
    yield from _matrix("W_O", W_O, 0)
    yield from _matrix("[c¹; c²] W_O", toy.output, 3, WORDS)


def _times(toy: ToyAttention) -> Iterator[str]:
    yield "\n5. What each form costs on this computer, for n words of 4 numbers"
    yield f"  {'n':>6}  {'vector by vector':>18}  {'one product':>14}  {'times as fast':>14}"
    for n, (vectors, matrix) in toy.seconds.items():
        about = "≈ " if n > MEASURED else ""
        yield (
            f"  {n:>6}  {about + duration(vectors):>18}  {duration(matrix):>14}  "
            f"{vectors / matrix:>13.0f}×"
        )
    if max(toy.seconds) > MEASURED:
        yield f"  ≈: measured for {MEASURED} of the words, and multiplied"


def _same(difference: float, name: str) -> str:
    if difference < 1e-12:
        by = f"at most {difference:.0e}" if difference else "0"
        return f"The same result: {name} differ by {by}."
    return f"NOT the same: {name} differ by {difference:.2e}."


def duration(seconds: float) -> str:
    """A time as people read it.

    >>> duration(12.3), duration(0.0042), duration(3.1e-5)
    ('12.3 s', '4.2 ms', '31 µs')
    """
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"
