"""Draw the panels of a chart: two in a row, with a caption, in one language and one theme."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.cells import cell_len

from regard.views.charts.panels import (
    BarPanel,
    CurvePanel,
    GridPanel,
    LanguageCode,
    Panel,
    Words,
    in_language,
)
from regard.views.figures.figure import Figure, new_figure
from regard.views.figures.palette import GAMMA, LIGHT, MARKERS, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 2  # panels in a row
WIDTH, HEIGHT = 4.5, 3.5  # inches of a panel
BAR = 0.26  # inches of a horizontal bar
NAME_CELLS = 54  # columns of two names below the axes, beyond which each has its own line
LEGEND_INSIDE = 4  # names that fit into the axes; more are written below
CELLS_PER_INCH = 13.0  # columns of the caption's text, of which a Chinese character takes two
GROUP_CELLS = 44  # columns of the names of a panel's groups, beyond which they are turned
COLUMN_CELLS = 34  # columns of the names of a grid's columns, beyond which they are turned
MAX_TICKS = 8  # measured points of a logarithmic axis that all get their number
MAX_NUMBERS, MAX_WORDS = 10, 40  # labels along a side of a grid, of which numbers may be left out
WRITTEN = 0.55  # share of the largest value from which a cell's number is in the paper's color


def draw_chart(
    panels: Sequence[Panel],
    caption: Words = "",
    *,
    language: LanguageCode = "en",
    theme: Theme = LIGHT,
) -> Figure:
    """Draw the panels in order, each with the room it needs; the last of an odd number is wide."""
    columns = min(COLUMNS, len(panels))
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    heights = [max(map(_height, row)) for row in rows]
    width = WIDTH * columns if columns > 1 else 1.5 * WIDTH
    lines = wrap(in_language(caption, language), int(CELLS_PER_INCH * width))
    texts = [in_language(words, language) for panel in panels for words in _words(panel)]
    with new_figure(
        (width, sum(heights) + 0.2 * len(lines)), [*texts, *lines], theme=theme
    ) as builder:
        strips = builder.canvas.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)
        for strip, row in zip(strips[:, 0], rows, strict=True):
            for part, panel in zip(
                strip.subfigures(1, len(row), squeeze=False)[0], row, strict=True
            ):
                axes = part.add_subplot()
                axes.set_title(in_language(panel.title, language))
                _DRAW[type(panel)](axes, panel, language, theme)
        if lines:
            builder.canvas.supxlabel(
                "\n".join(lines), x=0.01, ha="left", fontsize=9, color=theme.muted
            )
        return builder.finish(f"chart of {len(panels)} panels")


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` terminal columns; Chinese text breaks between any two characters."""
    lines, line = [], ""
    for part in _parts(text):
        if line and cell_len(line + part.rstrip()) > width and part not in "，。；：、）”":
            lines.append(line.rstrip())
            line = ""
        line += part if line else part.lstrip()
    return [*lines, line.rstrip()] if line.strip() else lines


def _parts(text: str) -> Iterator[str]:
    """Words with the space after them, and single wide characters."""
    word = ""
    for character in text:
        if cell_len(character) == 2:
            if word:
                yield word
            word = ""
            yield character
            continue
        word += character
        if character == " ":
            yield word
            word = ""
    if word:
        yield word


def _words(panel: Panel) -> Iterator[Words]:
    """All texts of a panel, whose characters the fonts must have."""
    yield panel.title
    yield panel.y_label
    match panel:
        case CurvePanel():
            yield panel.x_label
            yield from (curve.name for curve in panel.curves)
        case BarPanel():
            yield from panel.groups
            yield from (bars.name for bars in panel.bars)
            if panel.reference:
                yield panel.reference[0]
        case GridPanel():
            yield panel.x_label
            yield from (*panel.rows, *panel.columns)


def _height(panel: Panel) -> float:
    """Inches of a panel: more where it has many bars, rows or names below it."""
    match panel:
        case CurvePanel():
            names = len(panel.curves)
        case BarPanel():
            names = len(panel.bars) + (panel.reference is not None)
            below = 0.2 * math.ceil(names / 2) if names > 1 else 0.0
            if panel.horizontal:
                return max(2.0, 1.0 + BAR * len(panel.groups) * len(panel.bars) + below)
            return HEIGHT + below
        case GridPanel():
            return min(7.0, max(HEIGHT, 1.2 + 0.24 * len(panel.rows)))
    return HEIGHT + (0.2 * math.ceil(names / 2) if names > LEGEND_INSIDE else 0.0)


def _draw_curves(axes: Axes, panel: CurvePanel, language: LanguageCode, theme: Theme) -> None:
    for index, curve in enumerate(panel.curves):
        series = index % len(theme.series)
        color = theme.series[series]
        style: dict[str, Any] = {
            "line": {"marker": MARKERS[series], "markersize": 4, "linewidth": 1.6},
            "dashed": {"linestyle": "--", "linewidth": 1.4},
            "dots": {"marker": ".", "linestyle": "", "markersize": 5},
        }[curve.kind]
        if len(curve.x) > 40 and curve.kind == "line":
            style["marker"] = None
        axes.plot(curve.x, curve.y, color=color, label=in_language(curve.name, language), **style)
        if curve.low is not None and curve.high is not None:
            axes.fill_between(curve.x, curve.low, curve.high, color=color, alpha=0.18, linewidth=0)
    for axis in ("x", "y"):
        if axis in panel.log:
            _set_log(
                axes, axis, {value for curve in panel.curves for value in getattr(curve, axis)}
            )
    if panel.y_range is not None:
        axes.set_ylim(*panel.y_range)
    axes.set(
        xlabel=in_language(panel.x_label, language), ylabel=in_language(panel.y_label, language)
    )
    axes.grid(True)
    _finish(axes, len(panel.curves))


def _set_log(axes: Axes, name: str, values: set[float]) -> None:
    """A logarithmic axis; 8, 16, 32 have no power of ten to show, nor has a short range."""
    from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

    getattr(axes, f"set_{name}scale")("log")
    axis = getattr(axes, f"{name}axis")
    if name == "x" and len(values) <= MAX_TICKS:
        axis.set_major_locator(FixedLocator(sorted(values)))
    elif max(values) < 50 * min(values):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:,g}")


def _draw_bars(axes: Axes, panel: BarPanel, language: LanguageCode, theme: Theme) -> None:
    names = [in_language(group, language) for group in panel.groups]
    places, width = np.arange(len(names), dtype=float), 0.8 / max(1, len(panel.bars))
    for index, bars in enumerate(panel.bars):
        drawn = [at for at, value in enumerate(bars.values) if value is not None]
        values = np.array([bars.values[at] for at in drawn], dtype=float)
        at = places[drawn] + (index - (len(panel.bars) - 1) / 2) * width
        errors = None
        if bars.low is not None and bars.high is not None:
            low, high = (
                np.array([side[i] for i in drawn], float) for side in (bars.low, bars.high)
            )
            errors = np.maximum(0.0, np.stack([values - low, high - values]))
        options: dict[str, Any] = {
            "color": theme.series[index % len(theme.series)],
            "label": in_language(bars.name, language),
            "error_kw": {"ecolor": theme.ink, "elinewidth": 1.0, "capsize": 2},
        }
        if panel.horizontal:
            axes.barh(at, values, width * 0.92, xerr=errors, **options)
        else:
            axes.bar(at, values, width * 0.92, yerr=errors, **options)
    label = in_language(panel.y_label, language)
    if panel.reference is not None:
        words, value = panel.reference
        line = axes.axvline if panel.horizontal else axes.axhline
        line(
            value,
            color=theme.muted,
            linestyle="--",
            linewidth=1.2,
            label=in_language(words, language),
        )
    if panel.horizontal:
        axes.set_yticks(places, names)
        axes.invert_yaxis()
        axes.set_xlabel(label)
        axes.grid(True, axis="x")
        if panel.y_range is not None:
            axes.set_xlim(*panel.y_range)
    else:
        room = GROUP_CELLS // max(1, len(names))
        lines = [wrap(name, room) for name in names]
        if all(
            len(label_lines) <= 3 and max(map(cell_len, label_lines), default=0) <= room
            for label_lines in lines
        ):
            axes.set_xticks(places, ["\n".join(label_lines) for label_lines in lines])
        else:
            axes.set_xticks(places, names, rotation=35, ha="right")
        axes.set_ylabel(label)
        axes.grid(True, axis="y")
        if panel.y_range is not None:
            axes.set_ylim(*panel.y_range)
    _finish(axes, len(panel.bars) + (panel.reference is not None), inside=False)


def _draw_grid(axes: Axes, panel: GridPanel, language: LanguageCode, theme: Theme) -> None:
    from matplotlib.colors import LinearSegmentedColormap, Normalize, PowerNorm

    cells = np.asarray(panel.cells, dtype=float)
    largest = float(np.nanmax(np.abs(cells))) or 1.0
    accent, second = theme.series[:2]
    colors = (second, theme.paper, accent) if panel.signed else (theme.paper, accent)
    norm: Normalize = (
        Normalize(-largest, largest) if panel.signed else PowerNorm(GAMMA, vmin=0.0, vmax=largest)
    )
    ramp = LinearSegmentedColormap.from_list("cells", colors, N=512)
    image = axes.imshow(cells, cmap=ramp, norm=norm, aspect="auto", interpolation="nearest")
    for words, ticks in ((panel.columns, axes.set_xticks), (panel.rows, axes.set_yticks)):
        if words:
            most = MAX_NUMBERS if all(map(_is_number, words)) else MAX_WORDS
            shown = range(0, len(words), math.ceil(len(words) / most))
            ticks(list(shown), [in_language(words[at], language) for at in shown])
    names = [label.get_text() for label in axes.get_xticklabels()]
    if sum(cell_len(name) + 1 for name in names) > COLUMN_CELLS:
        axes.tick_params(axis="x", labelrotation=60)
    axes.tick_params(length=0)
    if panel.written:
        for (row, column), value in np.ndenumerate(cells):
            dark = abs(value) > WRITTEN * largest
            axes.text(
                column,
                row,
                f"{value:.2f}",
                ha="center",
                va="center",
                fontsize=8,
                color=theme.paper if dark else theme.ink,
            )
    else:
        axes.figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02).outline.set_visible(False)
    axes.set(
        xlabel=in_language(panel.x_label, language), ylabel=in_language(panel.y_label, language)
    )


def _is_number(words: Words) -> bool:
    return isinstance(words, str) and words.replace(".", "").replace(",", "").isdigit()


def _finish(axes: Axes, names: int, *, inside: bool = True) -> None:
    """Names of the lines or bars, if there are several, and no frame on the right and on top."""
    axes.spines[["top", "right"]].set_visible(False)
    if names > (LEGEND_INSIDE if inside else 1):
        handles, labels = axes.get_legend_handles_labels()
        longest = sum(sorted(map(cell_len, labels))[-2:])  # of two names beside each other
        axes.figure.legend(
            handles, labels, loc="outside lower center", ncols=2 if longest <= NAME_CELLS else 1
        )
    elif names > 1:
        axes.legend()


_DRAW: dict[type[Panel], Any] = {
    CurvePanel: _draw_curves,
    BarPanel: _draw_bars,
    GridPanel: _draw_grid,
}
