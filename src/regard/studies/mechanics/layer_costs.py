"""What a layer over a sequence costs: dependent operations, path length, time and memory.

A layer maps x (B, H, n, D) to as many vectors: a recurrent network, a convolution, or
self-attention, whose queries, keys and values are all x.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from regard.attention import MultiHead, attend
from regard.attention.mechanisms import MECHANISMS

HEADS, WIDTH, KERNEL = 4, 32, 3
FULL = ("projected", "dense", "fused")
LAYERS = (
    "rnn",
    "cnn",
    "projected",
    "dense",
    "fused",
    *(name for name in MECHANISMS if name not in ("full", "ring")),
)
"""Names of the layers: a GRU, a convolution, multi-head attention with its projections, and without
them full attention by two engines and the mechanisms of regard (ring needs several processes)."""


def new_layer(name: str, length: int) -> Callable[[Tensor], Tensor]:
    """A layer with random weights, for sequences of at most `length` vectors."""
    if name == "rnn":
        rnn = nn.GRU(HEADS * WIDTH, HEADS * WIDTH, batch_first=True)
        return lambda x: rnn(x.transpose(1, 2).flatten(2))[0]
    if name == "cnn":
        cnn = nn.Conv1d(HEADS * WIDTH, HEADS * WIDTH, KERNEL, padding="same")
        return lambda x: cnn(x.transpose(2, 3).flatten(1, 2))
    if name == "projected":
        multi_head = MultiHead(HEADS * WIDTH, HEADS)
        return lambda x: multi_head(x.transpose(1, 2).flatten(2)).context
    if name in ("dense", "fused"):
        return lambda x: attend(x, x, x, engine=name).context  # type: ignore[arg-type]  # an engine
    mechanism = MECHANISMS[name](length, HEADS, WIDTH)
    return lambda x: mechanism(x, x, x).context


def inputs(batch: int, length: int, seed: int = 0) -> Tensor:
    """Random vectors x (B, H, n, D)."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, HEADS, length, WIDTH, generator=generator, requires_grad=True)


def train_once(layer: Callable[[Tensor], Tensor], x: Tensor) -> None:
    """Run the layer forward and backward."""
    y = layer(x)
    torch.autograd.grad(y, x, torch.ones_like(y))


def operation_depth(output: Tensor) -> int:
    """The longest chain of operations that led to a tensor, each of which needs the one before.

    >>> x = torch.ones(3, requires_grad=True)
    >>> operation_depth((2 * x + 1).exp()) - operation_depth(2 * x)
    2
    """
    assert output.grad_fn is not None
    depths: dict[Node, int] = {}
    stack = [output.grad_fn]
    while stack:
        node = stack[-1]
        before = [previous for previous, _ in node.next_functions if previous is not None]
        missing = [previous for previous in before if previous not in depths]
        if missing:
            stack += missing
        else:
            depths[stack.pop()] = 1 + max((depths[previous] for previous in before), default=0)
    return depths[output.grad_fn]


def influence(name: str, length: int, seed: int = 0) -> Tensor:
    """(n, n): True where output i depends on vector j after one step of the layer.

    A step of the recurrent network is one of its cell, which sees its own vector and the state
    before it. Of attention it is the map in which some head has a weight; keys that are projected
    before they are attended to are all mixed.
    """
    eye = torch.eye(length, dtype=torch.bool)
    if name == "rnn":
        return eye | eye.roll(1, 0).tril()
    if name == "cnn":
        ones = torch.ones(1, 1, KERNEL)
        near: Tensor = nn.functional.conv1d(eye.float()[:, None], ones, padding="same")
        return near[:, 0] > 0
    x = inputs(1, length, seed).detach()
    torch.manual_seed(seed)
    new = MECHANISMS["full" if name in FULL else name]
    mechanism = new(length, HEADS, WIDTH).eval()
    if mechanism.facts.map == "projected":
        return torch.ones(length, length, dtype=torch.bool)
    weights: Tensor | None = mechanism(x, x, x, weights=True).weights
    assert weights is not None
    return (weights != 0).any(1)[0]


def path_length(reached: Tensor) -> int:
    """Steps until every vector depends on every one before it; `reached` (n, n) is of one step.

    Powers of the matrix, by doubling and halving.
    """
    needed = torch.ones_like(reached).tril()

    def arrived(steps: Tensor) -> bool:
        return bool((steps | ~needed).all())

    powers = [reached]
    while not arrived(powers[-1]):
        if len(powers) > len(reached).bit_length():
            raise ValueError("the last vector never depends on the first.")
        powers.append(_joined(powers[-1], powers[-1]))
    steps, done = 0, torch.eye(len(reached), dtype=torch.bool, device=reached.device)
    for exponent in reversed(range(len(powers))):  # the most steps that do not yet suffice
        further = _joined(powers[exponent], done)
        if not arrived(further):
            steps, done = steps + 2**exponent, further
    return steps + 1


def _joined(after: Tensor, before: Tensor) -> Tensor:
    """What is reached by `after` from what `before` reached."""
    return after.float() @ before.float() > 0


class PeakBytes(TorchDispatchMode):
    """Inside, `peak` is the most bytes that tensors made here have held at once.

    Memory that a kernel takes and frees by itself is not seen.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # untyped in torch
        self.peak, self._current = 0, 0
        self._known: set[int] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        argument_storages = {
            id(x.untyped_storage()) for x in tree_leaves((args, kwargs)) if _is_tensor(x)
        }
        result = func(*args, **(kwargs or {}))
        for tensor in filter(_is_tensor, tree_leaves(result)):
            storage = tensor.untyped_storage()
            if id(storage) not in self._known and id(storage) not in argument_storages:
                self._known.add(id(storage))
                self._current += storage.nbytes()
                weakref.finalize(storage, self._free, id(storage), storage.nbytes())
        self.peak = max(self.peak, self._current)
        return result

    def _free(self, storage: int, size: int) -> None:
        self._known.discard(storage)
        self._current -= size


def _is_tensor(value: object) -> bool:
    return isinstance(value, Tensor)


def peak_bytes(run: Callable[[], object]) -> int:
    """The most bytes of tensors that a call holds at once, its arguments aside."""
    counter = PeakBytes()
    with counter:
        run()
    return counter.peak
