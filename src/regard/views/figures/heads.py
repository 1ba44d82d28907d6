"""Figures over all heads of all layers: their maps side by side, or one number for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.views.figures import palette
from regard.views.figures.figure import DPI, MAX_INCHES, Figure, new_figure
from regard.views.figures.heatmap import add_color_bar, add_notes, draw_cells, pool, write_values
from regard.views.maps.layers import LayerHeads, layers_of, unit_of
from regard.views.maps.summaries import HeadTable, distances, entropies

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

    from regard.views.maps.layers import Maps

PANEL, MIN_PANEL = 1.5, 0.45  # inches of one map's longer side
SPACING = 1.12  # from panel to panel, in panels


def head_grid(
    maps: Maps,
    kind: str | None = None,
    *,
    row: int = 0,
    mask: Any = None,
    each: bool = False,
    title: str | None = None,
) -> Figure:
    """Draw every head of every layer as a small map: layers down, heads across.

    `maps` are recorded maps, a `SentenceView`, or plain numbers: a tensor, an array or lists of
    shape (layers, heads, R, C), (heads, R, C) of one layer, or (layers, B, heads, R, C) of which
    `row` selects the sentence. `mask` (R, C) or (C,) is True where a row may attend. Colors go up
    to the largest weight of all maps, or with `each` to each map's own largest. Rows are drawn down
    and columns across, as in `heatmap`.
    """
    layers = layers_of(maps, kind, row=row, mask=mask)
    heads = sorted({head for layer in layers for head in layer.heads})
    rows, columns = layers[0].visible.shape
    panel = min(PANEL, max(MIN_PANEL, 18.0 / max(len(layers), len(heads)) / SPACING))
    width, height = (max(side / max(rows, columns), 0.25) for side in (columns, rows))
    size = len(heads) * width * SPACING * panel + 1.9, len(layers) * height * SPACING * panel + 1.0
    if max(size) > MAX_INCHES:
        raise ValueError(
            f"maps are too many for one figure, got {len(layers)} layers of {len(heads)} heads; "
            "choose some."
        )
    heading = _heading(layers[0].kind) if title is None else title
    unit = unit_of(*(layer.weights for layer in layers))
    with new_figure(size, [heading]) as builder:
        axes = builder.canvas.add_subplot()
        colors = _draw_panels(axes, layers, heads, (width, height), panel, scale_each=each)
        _label_panels(axes, [layer.layer for layer in layers], heads, (width, height), panel)
        axes.set_title(builder.fonts.printable(heading))
        if not each:
            add_color_bar(builder, axes, colors, unit, percent=unit == "weight")
        note = f"each map is colored up to its own largest {unit}" if each else ""
        masked = any(not layer.visible.all() for layer in layers)
        add_notes(builder, note, masked=masked, hatched=False)
        return builder.finish(f"{len(layers)} layers of {len(heads)} heads")


def _heading(kind: str) -> str:
    return f"{kind} attention".strip()


def _draw_panels(
    axes: Axes,
    layers: list[LayerHeads],
    heads: list[int],
    size: tuple[float, float],
    panel: float,
    *,
    scale_each: bool,
) -> ScalarMappable:
    """Draw all maps on one set of axes, which is faster than one set for each."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.patches import Rectangle

    width, height = size
    largest = max(float(np.abs(layer.weights).max()) for layer in layers)
    signed = any((layer.weights < 0).any() for layer in layers)
    for number, layer in enumerate(layers):
        for head, matrix in zip(layer.heads, layer.weights, strict=True):
            x, y = heads.index(head) * width * SPACING, number * height * SPACING
            cells = pool(np.ma.masked_array(matrix, ~layer.visible), int(panel * DPI))
            bound = float(np.abs(matrix).max()) if scale_each else largest
            axes.imshow(
                cells,
                extent=(x, x + width, y + height, y),
                interpolation="nearest",
                aspect="auto",
                **palette.color_scale(signed, bound),
            )
            axes.add_patch(
                Rectangle((x, y), width, height, fill=False, edgecolor=palette.LINE, linewidth=0.8)
            )
    return ScalarMappable(**palette.color_scale(signed, largest))


def _label_panels(
    axes: Axes, layers: list[int], heads: list[int], size: tuple[float, float], panel: float
) -> None:
    """Write the layers on the left and the heads on top."""
    width, height = size
    axes.set_xlim(-0.02, (len(heads) - 1) * width * SPACING + width + 0.02)
    axes.set_ylim((len(layers) - 1) * height * SPACING + height + 0.02, -0.02)
    fontsize = 9 if panel * min(width, height) > 0.6 else 7
    down = [(number * SPACING + 0.5) * height for number in range(len(layers))]
    across = [(number * SPACING + 0.5) * width for number in range(len(heads))]
    wide = panel * width > 0.75
    axes.set_yticks(down, [f"layer {n}" for n in layers], fontsize=fontsize)
    axes.set_xticks(across, [f"head {n}" if wide else f"{n}" for n in heads], fontsize=fontsize)
    if not wide:
        axes.set_xlabel("head")
        axes.xaxis.set_label_position("top")
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.spines[:].set_visible(False)


def head_matrix(
    table: HeadTable, *, title: str, unit: str, signed: bool = False, scale: float | None = None
) -> Figure:
    """Draw a number for each head, layers down and heads across, and each layer's mean as a bar."""
    num_layers, num_heads = table.values.shape
    width = max(0.52 * num_heads, 3.4)
    size = width + 3.6, max(0.36 * num_layers, 1.7) + 1.1
    with new_figure(size, [title, unit]) as builder:
        grid = builder.canvas.add_gridspec(1, 2, width_ratios=(width, 1.6))
        axes = builder.canvas.add_subplot(grid[0])
        present = np.isfinite(table.values)
        values = np.where(present, table.values, 0.0)
        cells = draw_cells(axes, values, present, scale, signed=signed)
        axes.set_xticks(range(num_heads), [str(head) for head in table.heads])
        axes.set_yticks(range(num_layers), [str(layer) for layer in table.layers])
        axes.set(xlabel="head", ylabel="layer")
        axes.tick_params(length=0)
        axes.set_title(builder.fonts.printable(title))
        if values.size <= 400:
            write_values(axes, values, present, cells)
        means = values.sum(1) / np.maximum(present.sum(1), 1)
        _draw_bars(builder.canvas.add_subplot(grid[1]), means.tolist())
        add_color_bar(builder, axes, cells, unit)
        return builder.finish(f"{title}: {num_layers} layers of {num_heads} heads")


def _draw_bars(axes: Axes, means: list[float]) -> None:
    """Draw the mean of each layer as a horizontal bar."""
    colors = [palette.ACCENT if mean >= 0 else palette.SECOND for mean in means]
    axes.barh(range(len(means)), means, color=colors, height=0.6)
    axes.set_ylim(len(means) - 0.5, -0.5)
    axes.set_yticks([])
    axes.axvline(0, color=palette.MUTED, linewidth=0.8)
    axes.set_title("mean of the layer", fontsize=9, color=palette.MUTED)
    axes.tick_params(axis="x", labelsize=8)
    axes.locator_params(axis="x", nbins=3)
    axes.ticklabel_format(axis="x", style="sci", scilimits=(-2, 3))  # long numbers would overlap
    axes.xaxis.get_offset_text().set_fontsize(8)
    axes.spines[["top", "right", "left"]].set_visible(False)


def head_entropy(
    maps: Maps, kind: str | None = None, *, normalized: bool = True, row: int = 0, mask: Any = None
) -> Figure:
    """Draw the entropy of each head (`entropies`): 0 is a single key, 1 is uniform."""
    table = entropies(maps, kind, normalized=normalized, row=row, mask=mask)
    unit = "entropy / maximum" if normalized else "entropy (bits)"
    title = f"{_heading(table.kind)}: entropy of heads"
    return head_matrix(table, title=title, unit=unit, scale=1.0 if normalized else None)


def head_distance(maps: Maps, kind: str | None = None, *, row: int = 0, mask: Any = None) -> Figure:
    """Draw the mean attention distance of each head (`distances`), in tokens."""
    table = distances(maps, kind, row=row, mask=mask)
    title = f"{_heading(table.kind)}: distance of heads"
    return head_matrix(table, title=title, unit="mean distance (tokens)")


def head_effects(effects: HeadTable, *, unit: str = "change of the score") -> Figure:
    """Draw the effect of switching off each head (`switch_off_effects`): orange is a loss."""
    title = f"{effects.kind} attention: a head switched off"
    return head_matrix(effects, title=title, unit=unit, signed=True)
