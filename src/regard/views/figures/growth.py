"""Curves of cost over sequence length: one line per mechanism, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.views.figures import palette
from regard.views.figures.figure import check_figure, new_figure


@dataclass(frozen=True)
class Panel:
    """One quantity: its title, its unit, and for each line its lengths and values."""

    title: str
    unit: str
    lines: Mapping[str, tuple[Sequence[int], Sequence[float]]]


def growth_figure(panels: Sequence[Panel], path: Path) -> None:
    """Write a PNG, SVG or PDF, by the path's ending."""
    check_figure(path)
    names = {name for panel in panels for name in panel.lines}
    with new_figure((6.2 * len(panels), 4.8), names) as builder:
        for number, panel in enumerate(panels, 1):
            axes = builder.canvas.add_subplot(1, len(panels), number)
            for index, (name, (lengths, values)) in enumerate(panel.lines.items()):
                repeat, series = divmod(index, len(palette.SERIES))
                axes.plot(
                    lengths,
                    values,
                    label=name,
                    markersize=5,
                    linewidth=1.6,
                    color=palette.SERIES[series],
                    marker=palette.MARKERS[series],
                    linestyle=("-", "--", ":")[repeat % 3],
                )
            axes.set(xlabel="length n (tokens)", ylabel=panel.unit, title=panel.title)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")  # no math text
            axes.grid(True, which="major")
            axes.spines[["top", "right"]].set_visible(False)
            ticks = sorted({n for lengths, _ in panel.lines.values() for n in lengths})
            axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
            axes.minorticks_off()
        handles, labels = builder.canvas.axes[0].get_legend_handles_labels()
        builder.canvas.legend(handles, labels, loc="outside right center")
        builder.finish("growth").save(path)
