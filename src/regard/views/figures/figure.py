"""A drawn figure: saved as PNG, SVG or PDF by its ending, and shown by notebooks.

Every figure is made by `drawing`, which gives them one look whatever the user's own settings are.
matplotlib is loaded when the first one is drawn; its settings are of the whole process, so that
figures of several threads are drawn one after another.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from os import PathLike
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from regard.errors import InputError
from regard.storage import replace_file
from regard.views.figures import palette
from regard.views.figures.fonts import FIRST, Lettering, lettering
from regard.views.figures.growth import check_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

DPI = 150
LARGEST = 22.0  # inches of either side: a thousand tokens, three dots each
_LOCK = RLock()
_LOOK: dict[str, Any] = {
    "axes.edgecolor": palette.LINE, "axes.labelcolor": palette.MUTED, "axes.linewidth": 0.8,
    "axes.titlelocation": "left", "axes.titlesize": 11, "axes.titlecolor": palette.INK,
    "axes.labelsize": 9, "axes.axisbelow": True, "figure.facecolor": palette.PAPER,
    "grid.color": palette.LINE, "grid.linewidth": 0.6, "legend.frameon": False,
    "legend.fontsize": 9, "text.color": palette.INK, "xtick.color": palette.MUTED,
    "ytick.color": palette.MUTED, "xtick.labelcolor": palette.INK,
    "ytick.labelcolor": palette.INK, "xtick.labelsize": 9, "ytick.labelsize": 9,
    "hatch.linewidth": 0.6, "svg.fonttype": "path", "svg.hashsalt": "regard", "pdf.fonttype": 3,
    "text.parse_math": False,  # a token may be a dollar sign
}  # fmt: skip


@dataclass(eq=False)
class Figure:
    """What was drawn.

    >>> from regard.views import heatmap
    >>> heatmap([[1.0, 0.0], [0.5, 0.5]], ["a", "b"], ["c", "d"])
    Figure(heatmap of 2 × 2)
    """

    canvas: Canvas = field(repr=False)
    about: str
    families: tuple[str, ...] = (FIRST,)

    def __repr__(self) -> str:
        return f"Figure({self.about})"

    def save(self, path: str | PathLike[str], *, dpi: int = DPI) -> Path:
        """Write the file whole, as its ending says: .png, .svg or .pdf."""
        final = Path(path)
        replace_file(final, self.rendered(check_figure(final), dpi=dpi))
        return final

    def rendered(self, kind: str, *, dpi: int = DPI) -> bytes:
        """The figure as "png", "svg" or "pdf"; the same one gives the same bytes."""
        dated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
        if kind not in dated:
            raise ValueError(f"kind must be png, svg or pdf, but {kind!r} came.")
        drawn = BytesIO()
        with _look(self.families):
            self.canvas.savefig(drawn, format=kind, dpi=dpi, metadata=dated[kind])
        return drawn.getvalue()

    def _repr_png_(self) -> bytes:
        return self.rendered("png", dpi=96)

    def _repr_svg_(self) -> str:
        return self.rendered("svg").decode()


@dataclass(eq=False)
class Drawing:
    """A figure being made: its canvas, and the letters its texts are drawn with."""

    canvas: Canvas
    letters: Lettering

    def axes(self, *grid: Any, **options: Any) -> Axes:
        """One more plot, as matplotlib's add_subplot."""
        made: Axes = self.canvas.add_subplot(*grid, **options)
        return made

    def done(self, about: str) -> Figure:
        """The finished figure, laid out once: every drawing of it is then the same."""
        if self.canvas.get_layout_engine() is not None:
            self.canvas.draw_without_rendering()
            self.canvas.set_layout_engine("none")
        return Figure(self.canvas, about, self.letters.families)


@contextmanager
def drawing(
    size: tuple[float, float], texts: Iterable[str] = (), *, layout: str | None = "constrained"
) -> Iterator[Drawing]:
    """A new canvas of `size` inches for what is drawn inside; `texts` are what it will spell."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("figures need matplotlib; install it with `pip install regard[figures]`.")
    from matplotlib.figure import Figure as Canvas

    letters = lettering(texts)
    letters.warn()
    width, height = (min(max(side, 1.6), LARGEST) for side in size)
    with _look(letters.families):
        yield Drawing(Canvas(figsize=(width, height), layout=layout), letters)  # type: ignore[arg-type]  # a str is fine


@contextmanager
def _look(families: tuple[str, ...]) -> Iterator[None]:
    from matplotlib import style

    fonts = logging.getLogger(
        "matplotlib.font_manager"
    )  # it tells of each family that is not there
    with _LOCK, style.context({**_LOOK, "font.family": list(families)}, after_reset=True):
        fonts.addFilter(_not_of_fonts)
        try:
            yield
        finally:
            fonts.removeFilter(_not_of_fonts)


def _not_of_fonts(told: logging.LogRecord) -> bool:
    return "findfont" not in str(told.msg)
