"""I/O errors at a chosen moment: the n-th write, sync or rename of this process fails, once.

Python's own calls are replaced while the context is entered, so no other process is concerned. A
write fails half-way; what is written by other code (safetensors) meets a real limit on file sizes.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import resource
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch

RENAMES = ("rename", "replace", "mkdir")


class FailingIO:
    """Counts operations while it is entered; the one with the number `fail_at`, from 1, fails."""

    def __init__(self, fail_at: int = 0) -> None:
        self.fail_at = fail_at
        self.operations: list[str] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        import safetensors.numpy
        import safetensors.torch

        for name in ("fsync", *RENAMES):
            self._replace(os, name, self._checked(name, getattr(os, name)))
        for module in (builtins, io):
            self._replace(module, "open", self._opening(io.open))
        for module in (safetensors.torch, safetensors.numpy):
            self._replace(module, "save_file", self._limited(module.save_file))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def failed(self) -> str:
        """The operation that has failed; empty if there was none."""
        return self.operations[self.fail_at - 1] if self._reached() else ""

    def count(self, operation: str) -> bool:
        """Note an operation; whether it is to fail."""
        self.operations.append(operation)
        return len(self.operations) == self.fail_at

    def _reached(self) -> bool:
        return 0 < self.fail_at <= len(self.operations)

    def _replace(self, module: Any, name: str, function: Callable[..., Any]) -> None:
        self._stack.enter_context(patch.object(module, name, function))

    def _checked(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            target = arguments[0] if arguments else ""
            if self.count(f"{name} {_name(target)}"):
                named = () if isinstance(target, int) else (str(target),)
                raise OSError(errno.EIO, os.strerror(errno.EIO), *named)
            return function(*arguments, **options)

        return call

    def _opening(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            opened = function(file, mode, *arguments, **options)
            return FailingFile(opened, file, self) if set(mode) & set("wax+") else opened

        return call

    def _limited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(tensors: Any, path: Any, *arguments: Any, **options: Any) -> Any:
            if not self.count(f"save {_name(path)}"):
                return function(tensors, path, *arguments, **options)
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (40, before[1]))
            try:
                return function(tensors, path, *arguments, **options)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)

        return call


class FailingFile:
    """A file of which one write may fail half-way."""

    def __init__(self, file: Any, name: Any, faults: FailingIO) -> None:
        self._file, self._name, self._faults = file, name, faults

    def write(self, data: Any) -> int:
        """Write the data, or half of them."""
        if self._faults.count(f"write {_name(self._name)}"):
            self._file.write(data[: len(data) // 2])
            self._file.flush()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self._file.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> Self:
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.__exit__(*error)

    def __iter__(self) -> Any:
        return iter(self._file)


def _name(path: Any) -> str:
    """The name of a file, without the part that differs from run to run."""
    return str(path) if isinstance(path, int) else Path(os.fsdecode(path)).name
