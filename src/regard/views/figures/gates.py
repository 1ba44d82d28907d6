"""Gates over a feature map: the gate value of each channel or position, alone or over the image.

Shapes: C channels, h × w positions of the feature map, H × W pixels of the image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.views.figures import palette
from regard.views.figures.figure import Figure, FigureBuilder, new_figure
from regard.views.figures.heatmap import add_color_bar, draw_cells
from regard.views.maps.arrays import Floats, as_floats, check_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from regard.attention import AttentionMap

MAX_BARS = 120
MAX_IMAGES = 16
STRENGTH = 0.85  # share of the color at the highest place
LIGHT = 0.35  # gray of black pixels under a map, so that its color is seen on dark images


def gate_figure(
    gate: AttentionMap,
    *,
    shape: tuple[int, ...] | None = None,
    row: int = 0,
    image: Any = None,
    features: Any = None,
) -> Figure:
    """Draw a recorded gate: of kind "channel" as bars, "spatial" as a heat map of its positions.

    `shape` is the height and width of the positions, a square by default; one number is a line.
    `row` is the image of the batch.

    `image` (H, W), (1, H, W), (3, H, W) or (H, W, 3) is the picture that the gate came from: the
    gate is laid over it, and its highest place circled. So is a map of kind "self": the attention
    that each position receives. A "channel" gate g over a picture needs the `features` (C, h, w)
    that it scaled, and shows Σ_c g_c |x_c| / Σ_c g_c.
    """
    if image is not None:
        return _over_image(gate, shape, row, image, features)
    if gate.kind not in ("channel", "spatial"):
        raise ValueError(
            f'gate must be of kind "channel" or "spatial", got {gate.kind!r}; give the image to '
            "draw it over."
        )
    from matplotlib.ticker import MaxNLocator

    values = as_floats(gate.weights[row]).mean(axis=(0, 1))
    title = f"{gate.kind} gate, layer {gate.layer}"
    if gate.kind == "channel":
        with new_figure((min(3.0 + 0.08 * len(values), 16.0), 3.0)) as builder:
            _draw_bars(builder.canvas.add_subplot(), values, title)
            return builder.finish(f"{title}, {len(values)} channels")
    height, width = _grid_shape(len(values), shape)
    cell = min(0.32, 8.0 / max(height, width))
    with new_figure((max(width * cell, 1.2) + 1.6, max(height * cell, 0.6) + 1.0)) as builder:
        axes = builder.canvas.add_subplot()
        everywhere = np.ones((height, width), np.bool_)
        cells = draw_cells(axes, values.reshape(height, width), everywhere, 1.0, signed=False)
        axes.set_title(title)
        axes.tick_params(length=2)
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
        axes.set_aspect("equal" if height > 1 else "auto")
        add_color_bar(builder, axes, cells, "gate", percent=True)
        return builder.finish(f"{title}, {height} × {width}")


def gaze_map(
    gate: AttentionMap, *, row: int = 0, shape: tuple[int, ...] | None = None, features: Any = None
) -> Floats:
    """(h, w): the gate of each position, the attention it receives, or its features by channel.

    As `gate_figure` lays it over the image; `shape` is (h, w), a square by default.
    """
    check_row(row, len(gate.weights))
    values = as_floats(gate.weights[row]).mean(axis=(0, 1))
    if gate.kind in ("spatial", "self"):
        height, width = _grid_shape(len(values), shape)
        return np.reshape(values, (height, width))
    if gate.kind != "channel":
        raise ValueError(f'gate must be of kind "channel", "spatial" or "self", got {gate.kind!r}.')
    if features is None:
        raise ValueError(
            "features must be given to lay a channel gate over an image: the map (C, h, w) that "
            "it scaled."
        )
    maps = as_floats(features)
    if maps.ndim != 3 or len(maps) != len(values):
        raise ValueError(f"features must have shape ({len(values)}, h, w), got {maps.shape}.")
    heat: Floats = np.tensordot(values, np.abs(maps), 1) / max(float(values.sum()), 1e-12)
    return heat


def gaze_figure(images: Any, maps: Mapping[str, Any], names: Sequence[str] = ()) -> Figure:
    """Draw images (B, …) in a row, and below, for each name in `maps`, its (B, h, w) over them.

    Every map has the full color at its own highest place, which is circled, and none at its lowest.
    """
    pictures = [as_picture(image) for image in images]
    if not 1 <= len(pictures) <= MAX_IMAGES:
        raise ValueError(f"images must be 1 to {MAX_IMAGES}, got {len(pictures)}.")
    for name, heats in maps.items():
        if len(heats) != len(pictures):
            raise ValueError(f"maps must have one map per image, got {len(heats)} of {name}.")
    count, cell = len(pictures), 1.15
    size = 1.1 + count * cell, 0.3 + (1 + len(maps)) * cell
    with new_figure(size, [*names, *maps]) as builder:
        printable = builder.fonts.printable
        grid = builder.canvas.subplots(1 + len(maps), count, squeeze=False)
        for column, picture in enumerate(pictures):
            _draw_picture(grid[0, column], picture)
            if column < len(names):
                grid[0, column].set_title(printable(names[column]), fontsize=9, loc="center")
            for axes, heats in zip(grid[1:, column], maps.values(), strict=True):
                _draw_picture(axes, picture, as_floats(heats[column]))
        for axes, name in zip(grid[:, 0], ("image", *maps), strict=True):
            axes.set_ylabel(printable(name), rotation=0, ha="right", va="center")
        return builder.finish(f"{len(maps)} maps of {count} images")


def as_picture(image: Any) -> Floats:
    """(H, W, 3) from 0 to 1 of an image (H, W), (1, H, W), (3, H, W) or (H, W, 3); bytes too."""
    values = as_floats(image)
    if values.ndim == 2:
        values = values[None]
    if values.ndim == 3 and values.shape[0] in (1, 3):
        values = np.moveaxis(values, 0, 2)
    if values.ndim != 3 or values.shape[2] not in (1, 3) or not values.size:
        raise ValueError(
            "image must have shape (H, W), (1, H, W), (3, H, W) or (H, W, 3), got "
            f"{np.shape(image)}."
        )
    if not np.isfinite(values).all():
        raise ValueError("image must be finite.")
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high > 1 and high <= 255:
        values = values / 255
    elif low < 0 or high > 1:  # normalized, as networks have it
        values = (values - low) / (high - low)
    return np.broadcast_to(values, (*values.shape[:2], 3))


def _over_image(
    gate: AttentionMap, shape: tuple[int, ...] | None, row: int, image: Any, features: Any
) -> Figure:
    picture = as_picture(image)
    if shape is None and gate.kind != "channel":
        shape = _like(picture.shape[:2], gate.weights.shape[-1])
    heat = gaze_map(gate, row=row, shape=shape, features=features)
    channel = gate.kind == "channel"
    name = "attention received" if gate.kind == "self" else f"{gate.kind} gate"
    title = f"{name}, layer {gate.layer}"
    side = 2.6 / max(picture.shape[:2])
    width, height = max(picture.shape[1] * side, 1.2), max(picture.shape[0] * side, 0.8)
    with new_figure((2 * width + (4.6 if channel else 1.3), height + 0.5)) as builder:
        ratios = [1, 1, 3.0 / width][: 3 if channel else 2]
        grid = builder.canvas.add_gridspec(1, len(ratios), width_ratios=ratios)
        plain, over = (builder.canvas.add_subplot(grid[0, n]) for n in range(2))
        _draw_picture(plain, picture)
        plain.set_title("image")
        _draw_picture(over, picture, heat)
        over.set_title(title)
        _scale_bar(builder, over, heat, "Σ gate · |feature|" if channel else "weight")
        if channel:
            values = as_floats(gate.weights[row]).mean(axis=(0, 1))
            _draw_bars(builder.canvas.add_subplot(grid[0, 2]), values, "gate of each channel")
        return builder.finish(f"{title}, over {picture.shape[0]} × {picture.shape[1]} pixels")


def _draw_bars(axes: Axes, values: Floats, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    if len(values) <= MAX_BARS:
        axes.bar(range(len(values)), values, width=0.8, color=palette.ACCENT)
    else:  # gaps between so many bars would cause moiré
        edges = np.arange(len(values) + 1) - 0.5
        axes.stairs(values, edges, fill=True, color=palette.ACCENT)
    axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    axes.set(xlabel="channel", ylabel="gate", title=title)
    axes.set_ylim(0, max(1.0, float(values.max())))
    axes.set_xlim(-0.7, len(values) - 0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_picture(axes: Axes, picture: Floats, heat: Floats | None = None) -> None:
    """Draw a picture, or, in light gray under a map (h, w), with the highest place circled."""
    height, width = picture.shape[:2]
    frame = (0, width, height, 0)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    if heat is None:
        axes.imshow(picture, extent=frame, interpolation="nearest", aspect="equal")
        return
    gray = LIGHT + (1 - LIGHT) * (picture @ np.array([0.299, 0.587, 0.114]))
    axes.imshow(gray, extent=frame, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    colors = np.empty((*heat.shape, 4))
    colors[..., :3] = [int(palette.ACCENT[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    low, high = float(heat.min()), float(heat.max())
    colors[..., 3] = STRENGTH * ((heat - low) / (high - low or 1.0)) ** palette.GAMMA
    axes.imshow(colors, extent=frame, interpolation="bilinear", aspect="equal")
    down, across = np.unravel_index(int(heat.argmax()), heat.shape)
    x, y = (across + 0.5) * width / heat.shape[1], (down + 0.5) * height / heat.shape[0]
    axes.plot(
        [x],
        [y],
        "o",
        markersize=9,
        markerfacecolor="none",
        markeredgecolor=palette.SECOND,
        markeredgewidth=1.8,
    )
    axes.set(xlim=(0, width), ylim=(height, 0))


def _scale_bar(builder: FigureBuilder, axes: Axes, heat: Floats, unit: str) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import PowerNorm

    low, high = float(heat.min()), float(heat.max())
    norm = PowerNorm(palette.GAMMA, vmin=low, vmax=high if high > low else low + 1.0)
    scale = ScalarMappable(norm, palette.color_map("weights"))
    add_color_bar(builder, axes, scale, unit, percent=unit == "weight")


def _like(frame: tuple[int, ...], count: int) -> tuple[int, int] | None:
    """(h, w) of h · w = count positions in the proportions of a frame (H, W); None if none fit."""
    height, width = frame
    rows = round((count * height / width) ** 0.5)
    fits = rows > 0 and count % rows == 0
    return (rows, count // rows) if fits else None


def _grid_shape(count: int, shape: tuple[int, ...] | None) -> tuple[int, int]:
    if shape is None:
        side = round(count**0.5)
        return (side, side) if side * side == count else (1, count)
    height, width = (1, *shape)[-2:]
    if height * width != count:
        raise ValueError(f"shape must hold the {count} positions of the gate, got {shape}.")
    return height, width
