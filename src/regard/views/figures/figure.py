"""A drawn figure: saved as PNG, SVG or PDF by its file ending, and displayed by notebooks.

Every figure is drawn inside `new_figure`, which applies one style whatever the user's matplotlib
settings are. matplotlib is imported when the first figure is drawn; its settings belong to the
whole process, so figures of several threads are drawn one after another.
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
from regard.views.figures.fonts import DEFAULT, FontSelection, select_fonts
from regard.views.figures.palette import LIGHT, Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

DPI = 150
MAX_INCHES = 22.0  # of either side: a thousand tokens, three dots each
_LOCK = RLock()
_METADATA: dict[str, dict[str, None]] = {  # without dates: a figure always gives the same bytes
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
_STYLE: dict[str, Any] = {
    "axes.linewidth": 0.8,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.labelsize": 9,
    "axes.axisbelow": True,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "regard",
    "pdf.fonttype": 3,
    "text.parse_math": False,  # a token may be a dollar sign
}


def _colors(theme: Theme) -> dict[str, str]:
    """The matplotlib settings of a theme."""
    return {
        "axes.edgecolor": theme.line,
        "axes.labelcolor": theme.muted,
        "axes.titlecolor": theme.ink,
        "axes.facecolor": theme.paper,
        "figure.facecolor": theme.paper,
        "grid.color": theme.line,
        "text.color": theme.ink,
        "xtick.color": theme.muted,
        "ytick.color": theme.muted,
        "xtick.labelcolor": theme.ink,
        "ytick.labelcolor": theme.ink,
    }


@dataclass(eq=False)
class Figure:
    """A finished figure.

    >>> from regard.views import heatmap
    >>> heatmap([[1.0, 0.0], [0.5, 0.5]], ["a", "b"], ["c", "d"])
    Figure(heatmap of 2 × 2)
    """

    canvas: Canvas = field(repr=False)
    about: str
    families: tuple[str, ...] = (DEFAULT,)
    theme: Theme = LIGHT

    def __repr__(self) -> str:
        return f"Figure({self.about})"

    def save(self, path: str | PathLike[str], *, dpi: int = DPI) -> Path:
        """Write the file atomically, in the format of its ending: .png, .svg or .pdf."""
        final = Path(path)
        replace_file(final, self.render(check_figure(final), dpi=dpi))
        return final

    def render(self, file_format: str, *, dpi: int = DPI) -> bytes:
        """The bytes of the figure as "png", "svg" or "pdf", always the same."""
        if file_format not in _METADATA:
            raise ValueError(f"file_format must be png, svg or pdf, got {file_format!r}.")
        buffer = BytesIO()
        metadata = _METADATA[file_format]
        with _style(self.families, self.theme):
            self.canvas.savefig(buffer, format=file_format, dpi=dpi, metadata=metadata)
        return buffer.getvalue()

    def _repr_png_(self) -> bytes:
        return self.render("png", dpi=96)

    def _repr_svg_(self) -> str:
        return self.render("svg").decode()


@dataclass(eq=False)
class FigureBuilder:
    """A figure being drawn: its canvas, and the fonts of its texts."""

    canvas: Canvas
    fonts: FontSelection
    theme: Theme = LIGHT

    def finish(self, about: str) -> Figure:
        """Lay the figure out once, so that it is always rendered the same, and return it."""
        if self.canvas.get_layout_engine() is not None:
            self.canvas.draw_without_rendering()
            self.canvas.set_layout_engine("none")
        return Figure(self.canvas, about, self.fonts.families, self.theme)


def check_matplotlib() -> None:
    """Raise an error if matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("figures need matplotlib; install it with `pip install regard[figures]`.")


def check_figure(path: Path) -> str:
    """The format of a figure's path, if a figure can be written there."""
    file_format = path.suffix.lower().lstrip(".")
    if file_format not in _METADATA:
        raise InputError(f"{path}: a figure ends in .png, .svg or .pdf.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it first.")
    check_matplotlib()
    return file_format


@contextmanager
def new_figure(
    size: tuple[float, float],
    texts: Iterable[str] = (),
    *,
    layout: str | None = "constrained",
    theme: Theme = LIGHT,
) -> Iterator[FigureBuilder]:
    """Start a figure of `size` inches; `texts` are the texts it will contain, for their fonts."""
    check_matplotlib()
    from matplotlib.figure import Figure as Canvas

    fonts = select_fonts(texts)
    fonts.warn()
    width, height = (min(max(side, 1.6), MAX_INCHES) for side in size)
    with _style(fonts.families, theme):
        canvas = Canvas(figsize=(width, height), layout=layout)  # type: ignore[arg-type]  # a str is fine
        yield FigureBuilder(canvas, fonts, theme)


@contextmanager
def _style(families: tuple[str, ...], theme: Theme) -> Iterator[None]:
    from matplotlib import style

    settings = {**_STYLE, **_colors(theme), "font.family": list(families)}
    log = logging.getLogger("matplotlib.font_manager")  # it reports each missing font family
    with _LOCK, style.context(settings, after_reset=True):
        log.addFilter(_is_not_about_fonts)
        try:
            yield
        finally:
            log.removeFilter(_is_not_about_fonts)


def _is_not_about_fonts(record: logging.LogRecord) -> bool:
    return "findfont" not in str(record.msg)
