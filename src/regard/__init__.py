"""regard: a toolkit for attention models.

`regard.load(folder)` gives a model ready for use; the library itself is `regard.attention`.
Importing `regard` loads no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.version import __version__

if TYPE_CHECKING:
    from regard.translator import load

__all__ = ["__version__", "load"]


def __getattr__(name: str) -> Any:
    if name == "load":
        from regard.translator import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
