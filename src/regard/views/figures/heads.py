"""Figures over all heads of all layers: their maps side by side, or one number for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.views.figures import palette
from regard.views.figures.figure import DPI, LARGEST, Figure, drawing
from regard.views.figures.heatmap import pooled, put_cells, put_notes, put_scale, put_values
from regard.views.maps.layers import LayerHeads, Maps, layers_of, unit_of
from regard.views.maps.summaries import HeadTable, distances, entropies

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

    from regard.attention import AttentionMap

PANEL, LEAST_PANEL = 1.5, 0.45  # inches of one map's longer side
ROOM = 1.12  # from panel to panel, in panels


def head_grid(
    maps: Maps | AttentionMap,
    kind: str | None = None,
    *,
    row: int = 0,
    mask: Any = None,
    each: bool = False,
    title: str | None = None,
) -> Figure:
    """Every head of every layer as a small map: layers down, heads across.

    `maps` are what `record` saw, a text of a page, or plain numbers: a tensor, an array or lists of
    shape (layers, heads, R, C), (heads, R, C) of one layer, or (layers, B, heads, R, C) of which
    `row` chooses the sentence; `mask` (R, C) or (C,), True where a row may look, says what of them
    is hidden.
    Colours run to the largest weight of all, or with `each` to each map's own largest. A map has
    its rows down and its columns across, as in `heatmap`.
    """
    layers = layers_of(maps, kind, row=row, mask=mask)
    heads = sorted({head for one in layers for head in one.heads})
    rows, columns = layers[0].visible.shape
    panel = min(PANEL, max(LEAST_PANEL, 18.0 / max(len(layers), len(heads)) / ROOM))
    longer = max(rows, columns)
    wide, high = (max(side / longer, 0.25) for side in (columns, rows))
    size = len(heads) * wide * ROOM * panel + 1.9, len(layers) * high * ROOM * panel + 1.0
    if max(size) > LARGEST:
        raise ValueError(
            f"{len(layers)} layers of {len(heads)} heads do not fit on one figure; choose some."
        )
    heading = _heading(layers[0].kind) if title is None else title
    unit = unit_of(*(one.weights for one in layers))
    with drawing(size, [heading]) as made:
        axes = made.axes()
        drawn = _panels(axes, layers, heads, (wide, high), panel, each=each)
        _around(axes, [one.layer for one in layers], heads, (wide, high), panel)
        axes.set_title(made.letters.spell(heading))
        if not each:
            put_scale(made, axes, drawn, unit, percent=unit == "weight")
        note = f"each map is coloured up to its own largest {unit}" if each else ""
        masked = any(not one.visible.all() for one in layers)
        put_notes(made, note, masked=masked, hatched=False)
        return made.done(f"{len(layers)} layers of {len(heads)} heads")


def _heading(kind: str) -> str:
    return f"{kind} attention" if kind else "attention"


def _panels(
    axes: Axes,
    layers: list[LayerHeads],
    heads: list[int],
    size: tuple[float, float],
    panel: float,
    *,
    each: bool,
) -> ScalarMappable:
    """All maps on one set of axes, a panel to a unit."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.patches import Rectangle

    wide, high = size
    largest = max(float(np.abs(one.weights).max()) for one in layers)
    signed = any((one.weights < 0).any() for one in layers)
    scaled = palette.sign_scale if signed else palette.weight_scale
    colours = palette.sign_colours() if signed else palette.weight_colours()
    for down, one in enumerate(layers):
        for head, plane in zip(one.heads, one.weights, strict=True):
            x, y = heads.index(head) * wide * ROOM, down * high * ROOM
            shown = pooled(np.ma.masked_array(plane, ~one.visible), most=int(panel * DPI))
            bound = float(np.abs(plane).max()) if each else largest
            axes.imshow(
                shown, extent=(x, x + wide, y + high, y), cmap=colours, norm=scaled(bound),
                interpolation="nearest", aspect="auto",
            )  # fmt: skip
            frame = Rectangle((x, y), wide, high, fill=False, edgecolor=palette.LINE, linewidth=0.8)
            axes.add_patch(frame)
    return ScalarMappable(scaled(largest), colours)


def _around(
    axes: Axes, layers: list[int], heads: list[int], size: tuple[float, float], panel: float
) -> None:
    """Which layer and head each panel is."""
    wide, high = size
    axes.set_xlim(-0.02, (len(heads) - 1) * wide * ROOM + wide + 0.02)
    axes.set_ylim((len(layers) - 1) * high * ROOM + high + 0.02, -0.02)
    letters = 9 if panel * min(wide, high) > 0.6 else 7
    down = [(place * ROOM + 0.5) * high for place in range(len(layers))]
    across = [(place * ROOM + 0.5) * wide for place in range(len(heads))]
    long = panel * wide > 0.75
    axes.set_yticks(down, [f"layer {n}" for n in layers], fontsize=letters)
    axes.set_xticks(across, [f"head {n}" if long else f"{n}" for n in heads], fontsize=letters)
    if not long:
        axes.set_xlabel("head")
        axes.xaxis.set_label_position("top")
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.spines[:].set_visible(False)


def head_matrix(
    table: HeadTable, *, title: str, unit: str, signed: bool = False, scale: float | None = None
) -> Figure:
    """A number for each head, layers down and heads across, and the mean of each layer as a bar."""
    num_layers, num_heads = table.values.shape
    wide = max(0.52 * num_heads, 3.4)
    size = wide + 3.6, max(0.36 * num_layers, 1.7) + 1.1
    with drawing(size, [title, unit]) as made:
        grid = made.canvas.add_gridspec(1, 2, width_ratios=(wide, 1.6))
        axes = made.axes(grid[0])
        there = np.isfinite(table.values)
        drawn = put_cells(axes, np.where(there, table.values, 0.0), there, scale, signed=signed)
        axes.set_xticks(range(num_heads), [str(head) for head in table.heads])
        axes.set_yticks(range(num_layers), [str(layer) for layer in table.layers])
        axes.set_xlabel("head")
        axes.set_ylabel("layer")
        axes.tick_params(length=0)
        axes.set_title(made.letters.spell(title))
        if table.values.size <= 400:
            put_values(axes, table.values, there, drawn)
        _layer_bars(made.axes(grid[1]), table, unit)
        put_scale(made, axes, drawn, unit)
        return made.done(f"{title}: {num_layers} layers of {num_heads} heads")


def _layer_bars(axes: Axes, table: HeadTable, unit: str) -> None:
    num_layers = len(table.layers)
    there = np.isfinite(table.values)
    total = np.where(there, table.values, 0.0).sum(1)
    means = np.divide(total, there.sum(1), out=np.zeros(num_layers), where=there.any(1))
    colours = [palette.ACCENT if mean >= 0 else palette.SECOND for mean in means]
    axes.barh(range(num_layers), means, color=colours, height=0.6)
    axes.set_ylim(num_layers - 0.5, -0.5)
    axes.set_yticks([])
    axes.axvline(0, color=palette.MUTED, linewidth=0.8)
    axes.set_title("mean of the layer", fontsize=9, color=palette.MUTED)
    axes.tick_params(axis="x", labelsize=8)
    axes.locator_params(axis="x", nbins=3)
    axes.ticklabel_format(
        axis="x", style="sci", scilimits=(-2, 3)
    )  # 0.00002 times three is no room
    axes.xaxis.get_offset_text().set_fontsize(8)
    axes.spines[["top", "right", "left"]].set_visible(False)


def head_entropy(
    maps: Maps | AttentionMap,
    kind: str | None = None,
    *,
    normalized: bool = True,
    row: int = 0,
    mask: Any = None,
) -> Figure:
    """How widely each head looks (`entropies`): 0 is one key alone, 1 all visible ones alike."""
    table = entropies(maps, kind, normalized=normalized, row=row, mask=mask)
    unit = "entropy / most possible" if normalized else "entropy (bits)"
    title = f"{_heading(table.kind)}: how widely heads look"
    return head_matrix(table, title=title, unit=unit, scale=1.0 if normalized else None)


def head_distance(
    maps: Maps | AttentionMap, kind: str | None = None, *, row: int = 0, mask: Any = None
) -> Figure:
    """How far each head looks (`distances`), in tokens."""
    table = distances(maps, kind, row=row, mask=mask)
    title = f"{_heading(table.kind)}: how far heads look"
    return head_matrix(table, title=title, unit="mean distance (tokens)")


def head_effects(effects: HeadTable, *, unit: str = "change of the score") -> Figure:
    """What switching each head off does (`switch_off_effects`): orange lowers the score."""
    title = f"{effects.kind} attention: a head switched off"
    return head_matrix(effects, title=title, unit=unit, signed=True)
