"""Which module and layer of a model an attention call belongs to.

While a model is tracked, forward hooks keep the names of its running modules (the hooks are removed
afterwards and act only in the tracking context). Layers are numbered within each kind, in the order
of their first calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from torch import nn

from regard.attention.inspection.observe import ObservedCall


@dataclass(frozen=True)
class RunningModule:
    """A module that is running: its name, and the kind of attention its call implies, if any."""

    name: str
    kind: str | None


# the running modules of each tracked model, by the identity of its `Sites`
_paths: ContextVar[Mapping[int, tuple[RunningModule, ...]]] = ContextVar(
    "regard_paths", default=MappingProxyType({})
)

_NONE: Mapping[str, Any] = MappingProxyType({})
_CROSS_ARGUMENTS = ("key_value_states", "encoder_hidden_states")
_CROSS_NAMES = (
    "encoder_attn",
    "crossattention",
    "cross_attn",
    "cross_attention",
    "encdecattention",
)


@dataclass(frozen=True)
class Site:
    """The module of a call, its layer within the kind, and the first query's position."""

    module: str
    kind: str
    layer: int
    offset: int


class Sites:
    """Numbers the attention layers of one model, or of all calls if there is no model."""

    def __init__(self, model: nn.Module | None) -> None:
        self.model = model
        self._kind_of: dict[str, str] = {}
        self._layers: dict[str, list[str]] = {}

    def find(self, call: ObservedCall) -> Site | None:
        """Return the site of a call; None if it is outside the model."""
        path = _paths.get().get(id(self), ())
        if self.model is not None and not path:
            return None
        module = path[-1].name if path else f"call {sum(map(len, self._layers.values()))}"
        kind = self._kind(module, path[-1] if path else None, call)
        known = self._layers.setdefault(kind, [])
        if module not in known:
            known.append(module)
        offset = call.info.offset
        if call.info.guessed and kind == "causal":  # queries that follow a cache of keys
            offset = max(0, call.source.num_keys - call.source.num_queries)
        return Site(module, kind, known.index(module), offset)

    def _kind(self, module: str, running: RunningModule | None, call: ObservedCall) -> str:
        """Return the kind stated by the call, else by its module, else the first guess."""
        if not call.info.guessed:
            return call.info.kind
        if running is not None and running.kind is not None:
            return running.kind
        return self._kind_of.setdefault(module, call.info.kind)

    @contextmanager
    def tracked(self) -> Iterator[None]:
        """Track the model's running modules in this context."""
        if self.model is None:
            yield
            return
        if not isinstance(self.model, nn.Module):
            raise TypeError(f"model must be a torch module or None, got {self.model!r}.")
        model = getattr(self.model, "_orig_mod", self.model)
        before = _paths.get()
        _paths.set({**before, id(self): ()})
        try:
            with ExitStack() as stack:
                for name, module in model.named_modules():
                    enter = self._enter_hook(name or type(model).__name__)
                    hook = module.register_forward_pre_hook(enter, prepend=True, with_kwargs=True)
                    stack.callback(hook.remove)
                    hook = module.register_forward_hook(self._leave, always_call=True)
                    stack.callback(hook.remove)
                yield
        finally:
            _paths.set({k: path for k, path in _paths.get().items() if k != id(self)})

    def _enter_hook(self, name: str) -> Any:
        # torch calls it without kwargs in a thread that runs while another one registers it
        def enter(module: nn.Module, _inputs: object, kwargs: Mapping[str, Any] = _NONE) -> None:
            paths = _paths.get()
            if id(self) in paths:
                running = RunningModule(name, _implied_kind(name, module, kwargs))
                _paths.set({**paths, id(self): (*paths[id(self)], running)})

        return enter

    def _leave(self, _module: nn.Module, _inputs: object, _output: object) -> None:
        paths = _paths.get()
        if id(self) in paths:
            _paths.set({**paths, id(self): paths[id(self)][:-1]})


def _implied_kind(name: str, module: nn.Module, kwargs: Mapping[str, Any]) -> str | None:
    """Return the kind implied by a foreign module's arguments, name or attribute `is_causal`."""
    last = name.rpartition(".")[2].lower()
    if last in _CROSS_NAMES or any(kwargs.get(a) is not None for a in _CROSS_ARGUMENTS):
        return "cross"
    return "causal" if getattr(module, "is_causal", False) is True else None
