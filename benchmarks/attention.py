"""`python -m benchmarks attention`: the attention library against the peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks import kernel_regression
from benchmarks.measurement import Measurement
from regard.attention import Additive, ScaledDot, attend
from regard.bench.clock import peak_megabytes, seconds

HIDDEN = 256


def measurements(repeats: int) -> Iterator[Measurement]:
    """All rows of the benchmark."""
    long, few = max(1, repeats // 2), max(1, repeats // 3)
    yield Measurement(
        "ScaledDot, (8,8,512,64), forward + backward: seconds over bare SDPA's",
        partial(_scaled_dot, repeats),
        "<=",
        1.05,
    )
    yield Measurement(
        "Additive, B 8, T 512, H 256, forward + backward: megabytes over the naive broadcast's",
        lambda: (peak_megabytes(additive_ours, 8, 512), peak_megabytes(additive_naive, 8, 512)),
        "<=",
        1 / 8,
    )
    yield Measurement(
        "Additive, B 8, T 512, H 256, forward + backward: seconds over the naive broadcast's",
        partial(_additive, 8, 512, 512, few, True),
        "<=",
        1.0,
    )
    yield Measurement(
        "Additive, B 1, T 4096, H 256, forward + backward: megabytes",
        lambda: (peak_megabytes(additive_ours, 1, 4096), None),
        "<=",
        1000.0,
    )
    for backward in (False, True):
        yield Measurement(
            "Additive single-query step, B 64, K 50, H 256, "
            f"{'forward + backward' if backward else 'forward'}: seconds over the naive's",
            partial(_additive, 64, 1, 50, 30 * repeats, backward),
            "<=",
            1.0,
        )
    yield from kernel_regression.measurements(long)


def additive_ours(batch: int, length: int) -> None:
    """Forward and backward through `attend`."""
    score, tensors = _additive_inputs(batch, length, length)
    attend(*tensors, score=score).context.sum().backward()


def additive_naive(batch: int, length: int) -> None:
    """Forward and backward through the plain formula."""
    score, tensors = _additive_inputs(batch, length, length)
    naive_additive(score, *tensors).sum().backward()


def naive_additive(score: Additive, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Additive attention as it is usually written, through the (B, Q, K, H) sum."""
    sums = score.query_proj(query)[:, :, None] + score.key_proj(key)[:, None]
    return torch.softmax(torch.tanh(sums) @ score.v, dim=-1) @ value


def _scaled_dot(repeats: int) -> tuple[float, float]:
    torch.manual_seed(0)
    query, key, value = (torch.randn(8, 8, 512, 64, requires_grad=True) for _ in range(3))
    tensors = [query, key, value]
    grad, score = torch.randn(8, 8, 512, 64), ScaledDot()
    ours, peer = seconds(
        [
            lambda: _backward(attend(query, key, value, score=score).context, tensors, grad),
            lambda: _backward(F.scaled_dot_product_attention(query, key, value), tensors, grad),
        ],
        3 * repeats,
    )
    return ours, peer


def _additive(
    batch: int, num_queries: int, num_keys: int, repeats: int, backward: bool
) -> tuple[float, float]:
    score, tensors = _additive_inputs(batch, num_queries, num_keys)
    grad = torch.randn(batch, num_queries, HIDDEN)
    leaves = [*tensors, *score.parameters()]

    def timed(forward: Callable[[], Tensor]) -> Callable[[], object]:
        def both() -> object:
            return _backward(forward(), leaves, grad)

        def only() -> object:
            with torch.no_grad():
                return forward()

        return both if backward else only

    ours, peer = seconds(
        [
            timed(lambda: attend(*tensors, score=score).context),
            timed(lambda: naive_additive(score, *tensors)),
        ],
        repeats,
    )
    return ours, peer


def _backward(output: Tensor, inputs: list[Tensor], grad: Tensor) -> object:
    return torch.autograd.grad(output, inputs, grad)


def _additive_inputs(
    batch: int, num_queries: int, num_keys: int
) -> tuple[Additive, tuple[Tensor, Tensor, Tensor]]:
    torch.manual_seed(0)
    query, key, value = (
        torch.randn(batch, n, HIDDEN, requires_grad=True) for n in (num_queries, num_keys, num_keys)
    )
    return Additive(HIDDEN, HIDDEN, HIDDEN), (query, key, value)
