"""The view in a browser: one component for the report, the notebook and the served page.

`scripts` and `style` are its code; `regard.views.html.payload` makes its data:
`regard.view(container, data)`. Every script file is the body of a function of `regard`, the object
`window.regard` of what it offers to the others; its own names stay local.
"""

from __future__ import annotations

from importlib.resources import files

SCRIPTS = (
    "messages.js",
    "dom.js",
    "theme.js",
    "weights.js",
    "matrices.js",
    "alignment.js",
    "tiles.js",
    "labels.js",
    "map_input.js",
    "map.js",
    "pickers.js",
    "view.js",
)
"""In the order in which they build on each other."""
STAGES = tuple(
    f"stages/{name}.js"
    for name in ("texts", "grid", "steps", "next_words", "pictures", "drawing", "player")
)
"""The scripts of `regard.stages`, for a traced text; `stages/stages.css` is its style."""


def scripts(*names: str) -> str:
    """The scripts of the view, and of more files of regard.views.html, by their names."""
    bodies = (read(name) for name in (*(f"browser/{name}" for name in SCRIPTS), *names))
    return "\n".join(
        f'((regard) => {{\n"use strict";\n{body}}})(window.regard ??= {{}});' for body in bodies
    )


def style() -> str:
    """The style sheet of the view and of the pages around it."""
    return read("browser/style.css")


def read(name: str) -> str:
    """The text of a file of regard.views.html."""
    return files("regard.views.html").joinpath(name).read_text("utf-8")
