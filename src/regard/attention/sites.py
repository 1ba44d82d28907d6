"""Which layer of a model a call of attention belongs to.

While a model is watched, its modules tell their names as they are entered (hooks that are taken
away afterwards, writing only to this thread's context), so that a call knows the module around it.
Layers are numbered within each kind in the order in which they are first called.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import nn

from regard.attention.observe import Sight

_path: ContextVar[tuple[str, ...]] = ContextVar("regard_path", default=())


class Sites:
    """Numbers the places of attention in one model, or in whatever runs if there is no model."""

    def __init__(self, model: nn.Module | None) -> None:
        self.model = model
        self._kind_of: dict[str, str] = {}
        self._layers: dict[str, list[str]] = {}

    def find(self, sight: Sight) -> tuple[str, str, int] | None:
        """(module, kind, layer) of a call; None if it happens outside the model."""
        path = _path.get()
        if self.model is not None and not path:
            return None
        module = path[-1] if path else f"call {sum(map(len, self._layers.values()))}"
        kind = self._kind_of.setdefault(module, sight.place.kind)
        known = self._layers.setdefault(kind, [])
        if module not in known:
            known.append(module)
        return module, kind, known.index(module)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Follow the model's modules while they run."""
        if self.model is None:
            yield
            return
        model = getattr(self.model, "_orig_mod", self.model)
        with ExitStack() as stack:
            if _is_compiled(self.model):  # compiled code cannot be watched: run it as written
                stack.enter_context(torch.compiler.set_stance("force_eager"))
            for name, module in model.named_modules():
                enter, leave = _entering(name or type(model).__name__), _leaving
                stack.callback(module.register_forward_pre_hook(enter, prepend=True).remove)
                stack.callback(module.register_forward_hook(leave, always_call=True).remove)
            yield


def _entering(name: str) -> Any:
    def enter(_module: nn.Module, _inputs: object) -> None:
        _path.set((*_path.get(), name))

    return enter


def _leaving(_module: nn.Module, _inputs: object, _output: object) -> None:
    _path.set(_path.get()[:-1])


def _is_compiled(model: nn.Module) -> bool:
    return hasattr(model, "_orig_mod") or any(
        getattr(module, "_compiled_call_impl", None) is not None for module in model.modules()
    )
