"""The view in a browser: one component for the report, the notebook and the served page.

`scripts` and `style` are its code; `regard.views.html.payload` makes its data:
`regard.view(container, data)`.
"""

from __future__ import annotations

from importlib.resources import files

SCRIPTS = (
    "messages.js", "dom.js", "theme.js", "weights.js", "matrices.js", "alignment.js", "tiles.js",
    "labels.js", "map_input.js", "map.js", "pickers.js", "view.js",
)  # fmt: skip
"""In the order in which they build on each other."""


def scripts() -> str:
    """The scripts of the view, concatenated: they define `window.regard`."""
    return "\n".join(_file(name) for name in SCRIPTS)


def style() -> str:
    """The style sheet of the view and of the pages around it."""
    return _file("style.css")


def _file(name: str) -> str:
    return files("regard.views.html.browser").joinpath(name).read_text("utf-8")
