"""The view in a browser: one component for the report, the notebook and the served page.

`scripts` and `style` are its code, `shown` makes its data: `regard.view(container, shown)`.
"""

from __future__ import annotations

from importlib.resources import files

from regard.views.html.payload import BUDGET, shown, shown_together

SCRIPTS = (
    "wording.js", "look.js", "weights.js", "planes.js", "words.js", "tiles.js", "axes.js",
    "steer.js", "map.js", "heads.js", "view.js",
)  # fmt: skip
"""In the order in which they build on each other."""

__all__ = ["BUDGET", "SCRIPTS", "scripts", "shown", "shown_together", "style"]


def scripts() -> str:
    """The scripts of the view, one after the other: they define `window.regard`."""
    return "\n".join(_part(name) for name in SCRIPTS)


def style() -> str:
    """The look of the view and of the pages around it."""
    return _part("look.css")


def _part(name: str) -> str:
    return files("regard.views.html.browser").joinpath(name).read_text("utf-8")
