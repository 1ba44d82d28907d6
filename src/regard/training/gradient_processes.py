"""Processes that compute the gradients of a batch's shards, one per core.

Threads wait for each other's Python code; small models spend much of their time there. The
processes are forked, so that each has the network, the data and the objective without copies. The
parameters are in shared memory, so that every process sees each update; so are the gradients that
the processes return.
"""

from __future__ import annotations

import mmap
import signal
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from regard.errors import InputError


class ShardGradients(NamedTuple):
    """The loss of a shard and its gradients; None for parameters that it does not use."""

    loss: float
    gradients: Sequence[Tensor | None]


Compute = Callable[..., ShardGradients]
"""Called with the number of a shard and the request's arguments."""


class GradientProcesses:
    """Forked processes, numbered from 1; shard 0 is the parent's own."""

    def __init__(self, count: int, parameters: Sequence[Tensor], compute: Compute) -> None:
        for parameter in parameters if count else ():
            parameter.data = _shared_like(parameter.data).copy_(parameter.data)
        self._gradients = [[_shared_like(p.data) for p in parameters] for _ in range(count)]
        self._pipes: list[Connection] = []
        context = get_context("fork")
        self._processes = []
        for number, gradients in enumerate(self._gradients, start=1):
            here, there = context.Pipe()
            self._pipes.append(here)
            process = context.Process(
                target=_serve,
                args=(there, tuple(self._pipes), number, gradients, compute),
                daemon=True,
            )
            process.start()
            there.close()
            self._processes.append(process)

    def request(self, *arguments: Any) -> None:
        """Ask every process for the gradients of its shard."""
        for pipe in self._pipes:
            try:
                pipe.send(arguments)
            except OSError:
                raise _ended() from None

    def results(self) -> list[ShardGradients]:
        """Wait for the processes; the gradients are valid until the next request."""
        return [
            _received(pipe, gradients)
            for pipe, gradients in zip(self._pipes, self._gradients, strict=True)
        ]

    def close(self) -> None:
        """End the processes."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _shared_like(tensor: Tensor) -> Tensor:
    """A tensor of the same shape in memory that forked processes share."""
    memory = mmap.mmap(-1, max(1, tensor.numel()) * tensor.element_size())
    return torch.frombuffer(memory, dtype=tensor.dtype, count=max(1, tensor.numel()))[
        : tensor.numel()
    ].view(tensor.shape)


def _serve(
    pipe: Connection,
    inherited: Sequence[Connection],
    number: int,
    shared: Sequence[Tensor],
    compute: Compute,
) -> None:
    """Answer requests until the parent closes the pipe or ends."""
    for number_of_signal in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number_of_signal, signal.SIG_IGN)  # the parent decides when to end
    for connection in inherited:  # or the pipes would stay open when the parent ends
        connection.close()
    torch.set_num_threads(1)
    try:
        while True:
            arguments = pipe.recv()
            try:
                loss, gradients = compute(number, *arguments)
                unused = []
                for index, (target, gradient) in enumerate(zip(shared, gradients, strict=True)):
                    if gradient is None:
                        unused.append(index)
                    else:
                        target.copy_(gradient)
                pipe.send((loss, unused))
            except Exception as error:
                pipe.send(error)
    except (EOFError, OSError):
        return


def _received(pipe: Connection, gradients: Sequence[Tensor]) -> ShardGradients:
    try:
        answer = pipe.recv()
    except (EOFError, OSError):
        raise _ended() from None
    if isinstance(answer, Exception):
        raise answer
    loss, unused = answer
    missing = frozenset(unused)
    return ShardGradients(
        loss, [None if index in missing else g for index, g in enumerate(gradients)]
    )


def _ended() -> InputError:
    return InputError(
        "a process that computes gradients was ended from outside, perhaps for lack of memory; "
        "continue with --resume, and with --training.threads 1 if it happens again."
    )
