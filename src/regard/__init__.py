"""regard: a toolkit for attention models.

`regard.load(folder)` loads a model, `regard.attention` is the library of attention mechanisms,
`regard.views` draws attention maps and `regard.data` prepares text to train on. Importing `regard`
loads no torch: each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from regard.errors import InputError
from regard.version import __version__

if TYPE_CHECKING:
    from regard import attention, views
    from regard.config.search import SearchOptions
    from regard.tasks import data, load
    from regard.tasks.train import train
    from regard.tasks.translation.translator import Translator

__all__ = [
    "InputError",
    "SearchOptions",
    "Translator",
    "__version__",
    "attention",
    "data",
    "load",
    "train",
    "views",
]

_MODULES = {"attention": "regard.attention", "data": "regard.tasks.data", "views": "regard.views"}
_NAMES = {
    "SearchOptions": "regard.config.search",
    "Translator": "regard.tasks.translation.translator",
    "load": "regard.tasks",
    "train": "regard.tasks.train",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
