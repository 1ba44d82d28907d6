"""A figure of costs over length: one line for each mechanism, both axes logarithmic."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import InputError
from regard.views.figures import palette


@dataclass(frozen=True)
class Panel:
    """One quantity: its title, its unit, and for each name the values at the lengths."""

    title: str
    unit: str
    lines: Mapping[str, tuple[Sequence[int], Sequence[float]]]


def check_figure(path: Path) -> str:
    """The kind of figure that a path's ending asks for, if it can be drawn there."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("png", "svg", "pdf"):
        raise InputError(f"{path}: a figure ends in .png, .svg or .pdf.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it first.")
    check_matplotlib()
    return kind


def check_matplotlib() -> None:
    """An error if there is nothing to draw with."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("figures need matplotlib; install it with `pip install regard[figures]`.")


def growth_figure(panels: Sequence[Panel], path: Path) -> None:
    """Write a PNG, SVG or PDF, by the path's ending."""
    check_figure(path)
    from regard.views.figures.figure import drawing

    names = {name for panel in panels for name in panel.lines}
    with drawing((6.2 * len(panels), 4.8), names) as made:
        for number, panel in enumerate(panels, 1):
            axes = made.axes(1, len(panels), number)
            for place, (name, (lengths, values)) in enumerate(panel.lines.items()):
                axes.plot(lengths, values, label=name, markersize=5, linewidth=1.6, **_line(place))
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")  # no mathematics in text
            axes.set_xlabel("length n (tokens)")
            axes.set_ylabel(panel.unit)
            axes.set_title(panel.title)
            axes.grid(True, which="major")
            axes.spines[["top", "right"]].set_visible(False)
            ticks = sorted({n for lengths, _ in panel.lines.values() for n in lengths})
            axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
            axes.minorticks_off()
        handles, labels = made.canvas.axes[0].get_legend_handles_labels()
        made.canvas.legend(handles, labels, loc="outside right center")
        made.done("growth").save(path)


def _line(place: int) -> dict[str, Any]:
    """Told apart by colour, by mark, and after the last of those by dashes."""
    round_, here = divmod(place, len(palette.SERIES))
    return {
        "color": palette.SERIES[here],
        "marker": palette.MARKS[here],
        "linestyle": ("-", "--", ":")[round_ % 3],
    }
