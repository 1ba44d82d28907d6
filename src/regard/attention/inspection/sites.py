"""Which layer of a model a call of attention belongs to.

While a model is watched, its modules tell their names as they are entered (hooks that are taken
away afterwards and act only in the context that watches), so that a call knows the module around
it. Layers are numbered within each kind in the order in which they are first called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from torch import nn

from regard.attention.inspection.observe import Sight


@dataclass(frozen=True)
class Step:
    """A module that is running: its name, and the kind of attention its call speaks of, if any."""

    name: str
    kind: str | None


# the running modules of each watched model, by the identity of its `Sites`
_paths: ContextVar[Mapping[int, tuple[Step, ...]]] = ContextVar(
    "regard_paths", default=MappingProxyType({})
)

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
    """Where a call happens: the module, its layer within the kind, the first query's position."""

    module: str
    kind: str
    layer: int
    offset: int


class Sites:
    """Numbers the places of attention in one model, or in whatever runs if there is no model."""

    def __init__(self, model: nn.Module | None) -> None:
        self.model = model
        self._kind_of: dict[str, str] = {}
        self._layers: dict[str, list[str]] = {}

    def find(self, sight: Sight) -> Site | None:
        """Where a call happens; None if that is outside the model."""
        path = _paths.get().get(id(self), ())
        if self.model is not None and not path:
            return None
        module = path[-1].name if path else f"call {sum(map(len, self._layers.values()))}"
        kind = self._kind(module, path[-1] if path else None, sight)
        known = self._layers.setdefault(kind, [])
        if module not in known:
            known.append(module)
        offset = sight.place.offset
        if sight.place.guessed and kind == "causal":  # queries that follow a cache of keys
            offset = max(0, sight.call.num_keys - sight.call.num_queries)
        return Site(module, kind, known.index(module), offset)

    def _kind(self, module: str, step: Step | None, sight: Sight) -> str:
        """What the call says of itself, else what its module says, else the first guess kept."""
        if not sight.place.guessed:
            return sight.place.kind
        if step is not None and step.kind is not None:
            return step.kind
        return self._kind_of.setdefault(module, sight.place.kind)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Follow the model's modules while they run in this context."""
        if self.model is None:
            yield
            return
        if not isinstance(self.model, nn.Module):
            raise TypeError(f"model must be a torch module or None, but {self.model!r} came.")
        model = getattr(self.model, "_orig_mod", self.model)
        before = _paths.get()
        _paths.set({**before, id(self): ()})
        try:
            with ExitStack() as stack:
                for name, module in model.named_modules():
                    enter = self._entering(name or type(model).__name__)
                    hook = module.register_forward_pre_hook(enter, prepend=True, with_kwargs=True)
                    stack.callback(hook.remove)
                    left = module.register_forward_hook(self._leaving, always_call=True)
                    stack.callback(left.remove)
                yield
        finally:
            _paths.set({k: path for k, path in _paths.get().items() if k != id(self)})

    def _entering(self, name: str) -> Any:
        def enter(module: nn.Module, _inputs: object, named: dict[str, Any]) -> None:
            paths = _paths.get()
            if id(self) in paths:
                step = Step(name, _spoken_kind(name, module, named))
                _paths.set({**paths, id(self): (*paths[id(self)], step)})

        return enter

    def _leaving(self, _module: nn.Module, _inputs: object, _output: object) -> None:
        paths = _paths.get()
        if id(self) in paths:
            _paths.set({**paths, id(self): paths[id(self)][:-1]})


def _spoken_kind(name: str, module: nn.Module, named: Mapping[str, Any]) -> str | None:
    """The kind that a foreign module's arguments, name or attribute `is_causal` speak of."""
    last = name.rpartition(".")[2].lower()
    if last in _CROSS_NAMES or any(named.get(a) is not None for a in _CROSS_ARGUMENTS):
        return "cross"
    return "causal" if getattr(module, "is_causal", False) is True else None
