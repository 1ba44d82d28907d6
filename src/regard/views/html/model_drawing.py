"""A drawing of a whole model as SVG: its blocks in the order of the computation, with real shapes.

Blocks are read from the names and shapes of the weights, so that every kind of model has a drawing.
A matrix is a rectangle whose sides grow with the square root of its sizes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

Shape = tuple[int, ...]
DrawnShape = dict[str, Any]

SIDES = {"source": "encoder", "encoder": "encoder", "target": "decoder", "decoder": "decoder"}
TITLES = {
    "attention": "self-attention",
    "cross": "cross-attention",
    "feed_forward": "feed-forward",
    "source": "embedding",
    "target": "embedding",
    "words": "embedding",
    "front": "embedding",
}
ORDER = ("embedding", "attention", "layers", "norm", "output")
INNER = ("self-attention", "cross-attention", "feed-forward", "recurrence")
"""Blocks of a side, and of a layer, in the order of the computation."""
MATRICES = {
    "query": "query",
    "key": "key",
    "value": "value",
    "out": "out",
    "bridges": "first state",
    "weight_ih": "input",
    "context_ih": "context",
    "weight_hh": "hidden",
}
"""What matrices are called, in the order in which they are drawn; others come after them."""
PARTS = {"attention": "cross-attention", "norm": "output", "readout": "output"}
"""What `trace` calls the part of a block, where that is another name."""
MAX_LAYERS = 3  # drawn one by one, if they are alike

WIDTH, GAP, MARGIN, LINE = 330, 26, 28, 18  # pixels: of a block, between blocks, around, of text
SIDE = 58  # pixels of the longest side of a matrix
STYLE = """
svg { --paper: #ffffff; --ground: #f7f7f5; --ink: #1c2126; --muted: #5d6770; --line: #8a949d;
  --accent: #1a5a9e; --second: #b3561f; background: var(--ground);
  font: 13px system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
@media (prefers-color-scheme: dark) { svg { --paper: #1a1e22; --ground: #131619; --ink: #e7e9eb;
  --muted: #9aa4ad; --line: #69747e; --accent: #6fb3f7; --second: #eb9d63; } }
text { fill: var(--ink); } .muted { fill: var(--muted); font-size: 11px; }
.title { font-size: 17px; font-weight: 650; } .name { font-weight: 600; }
.block { fill: var(--paper); stroke: var(--line); } .attention { stroke: var(--accent); }
.feed-forward, .recurrence { stroke: var(--second); }
.matrix { fill: var(--accent); fill-opacity: 0.25; stroke: var(--accent); }
.layer { fill: none; stroke: var(--line); stroke-dasharray: 4 4; }
.arrow { fill: none; stroke: var(--line); stroke-width: 1.5; marker-end: url(#head); }
#head path { fill: var(--line); }
"""


@dataclass
class ModelBlock:
    """A block: its matrices by name, and the number of all its weights."""

    title: str
    layer: str = ""
    matrices: dict[str, Shape] = field(default_factory=dict)
    parameters: int = 0

    @property
    def height(self) -> int:
        return 2 * LINE + (SIDE + 2 * LINE if self.matrices else 0)


def model_blocks(
    shapes: Mapping[str, Sequence[int]], num_heads: int | None = None
) -> dict[str, list[ModelBlock]]:
    """The blocks of each side, from the shapes of the weights by name.

    >>> blocks = model_blocks({"words.vectors.weight": (9, 4), "layers.0.cross.v.bias": (4,)})
    >>> [(side, [block.title for block in column]) for side, column in blocks.items()]
    [('model', ['embedding', 'cross-attention'])]
    """
    block_of: dict[tuple[str, str, str], ModelBlock] = {}
    for name, shape in shapes.items():
        side, title, layer, matrix = _place(name)
        key = side, layer, title
        block = block_of.setdefault(key, ModelBlock(title, layer))
        block.parameters += math.prod(shape)
        if sum(size > 1 for size in shape) > 1 and not matrix.startswith("bias"):
            block.matrices[matrix] = tuple(size for size in shape if size > 1)
    columns: dict[str, list[ModelBlock]] = {}
    last = "decoder" if any(side == "decoder" for side, *_ in block_of) else "model"
    embeddings = [block for block in block_of.values() if block.title == "embedding"]
    if last == "decoder" and len(embeddings) == 1:
        shared = ModelBlock("embedding (shared vectors)", matrices=dict(embeddings[0].matrices))
        block_of["decoder", "", "embedding"] = shared
    for (side, *_), block in sorted(block_of.items(), key=_order):
        column = side if last == "decoder" and side in SIDES else last
        if block.title == "output" and not block.matrices:  # shares the vectors of the tokens
            block.matrices |= next((b for b in reversed(embeddings)), block).matrices
            block.title = "output (shared vectors)"
        block.matrices = dict(sorted(block.matrices.items(), key=_matrix_order))
        if num_heads and block.title.endswith("attention"):
            block.title += f", {num_heads} heads"
        columns.setdefault(column, []).append(block)
    return {side: _collapsed(columns[side]) for side in sorted(columns, key=_side_order)}


def model_svg(title: str, about: str, columns: Mapping[str, Sequence[ModelBlock]]) -> str:
    """The drawing as the text of an SVG file."""
    drawing = model_drawing(columns)
    width, height = drawing["width"], drawing["height"]
    heading = [_text(MARGIN, 32, title, "title"), _text(MARGIN, 52, about, "muted")]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{escape(f"{title}: {about}")}">\n'
        f"<style>{STYLE}</style>\n"
        '<defs><marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>\n'
        + "\n".join(map(_svg, [*heading, *drawing["shapes"]]))
        + "\n</svg>\n"
    )


def model_drawing(columns: Mapping[str, Sequence[ModelBlock]]) -> dict[str, Any]:
    """The drawing as data: {"width", "height", "shapes"}.

    A shape is {"tag": "rect", "path" or "text", "attributes": {…}, "text"}; that of a block has
    "place" too: {"side", "part", "layers"} of the steps that happen in it, null where any do.
    """
    shapes: list[DrawnShape] = []
    tops = 96
    lowest = tops
    links: list[tuple[int, int]] = []  # where the second column reads the first
    source = (0, 0)
    for number, (side, blocks) in enumerate(columns.items()):
        x, y = MARGIN + number * (WIDTH + 3 * MARGIN), tops
        if len(columns) > 1:
            shapes.append(_text(x, y - 12, side.capitalize(), "muted"))
        layer, start = "", y
        for place, block in enumerate(blocks):
            if block.layer != layer:
                layer, start = block.layer, y
            if place:
                shapes.append(_arrow(f"M{x + WIDTH // 2} {y - GAP} V{y - 3}"))
            shapes.extend(_block(block, side, x, y))
            reads = block.title.startswith("cross") or (
                number > 0 and not block.layer and block.title.endswith("attention")
            )
            if reads and number:
                links.append((x, y + block.height // 2))
            y += block.height
            following = blocks[place + 1].layer if place + 1 < len(blocks) else ""
            if layer and following != layer:
                size = WIDTH + 20, y - start + 26
                shapes.append(_rect("layer", x - 10, start - 18, *size, 8))
                shapes.append(_text(x, start - 5, layer, "muted"))
            y += GAP
        lowest = max(lowest, y)
        if number == 0:
            source = x + WIDTH, y - GAP - blocks[-1].height // 2
    for x, y in links:
        bus = x - 2 * MARGIN
        shapes.append(_arrow(f"M{source[0]} {source[1]} H{bus} V{y} H{x - 3}"))
    width = 2 * MARGIN + len(columns) * WIDTH + (len(columns) - 1) * 3 * MARGIN
    return {"width": width, "height": lowest, "shapes": shapes}


def _place(name: str) -> tuple[str, str, str, str]:
    """The side, title, layer and matrix of a weight."""
    first, *rest = name.split(".")
    side = SIDES.get(first, "output" if first == "output" else "model")
    rest = [first, *rest] if first not in ("encoder", "decoder") else rest
    layer = ""
    if rest[0] == "layers":
        layer, rest = f"layer {rest[1]}", rest[2:]
    block = rest[0].removeprefix("around_")
    matrix = rest[-2] if rest[-1] in ("weight", "bias") and len(rest) > 1 else rest[-1]
    matrix = matrix.removesuffix("_proj")
    if block in ("bridges", "context_ih"):  # a recurrent cell's first state, and what it attends to
        layer = f"layer {rest[1] if block == 'bridges' else 0}"
        block = matrix = block if rest[-1] != "bias" else "bias"
    if layer and (len(rest) == 1 or block in ("bridges", "context_ih", "bias")):
        block = "recurrence"  # a cell, which has no blocks
    title = TITLES.get(block, block)
    if block == "attention" and side == "decoder" and not layer:
        title = "attention"  # of a recurrent decoder: over the source
    return side, title.replace("_", " "), layer, MATRICES.get(matrix, matrix)


def _order(item: tuple[tuple[str, str, str], ModelBlock]) -> tuple[int, int, int]:
    (side, layer, title), _ = item
    number = int(layer.removeprefix("layer ")) if layer else 0
    kind = "layers" if layer else title if title in ORDER else "norm"
    inner = INNER.index(title) if title in INNER else len(INNER)
    return (side == "output") * 9 + ORDER.index(kind), number, inner


def _matrix_order(item: tuple[str, Shape]) -> int:
    names = list(MATRICES.values())
    return names.index(item[0]) if item[0] in names else len(names)


def _side_order(side: str) -> int:
    return ("encoder", "decoder", "model").index(side)


def _collapsed(blocks: list[ModelBlock]) -> list[ModelBlock]:
    """Many layers of the same shapes as one."""
    layers = dict.fromkeys(block.layer for block in blocks if block.layer)
    alike = {str([(b.title, b.matrices) for b in blocks if b.layer == layer]) for layer in layers}
    if len(layers) <= MAX_LAYERS or len(alike) > 1:
        return blocks
    first, name = next(iter(layers)), f"{len(layers)} layers like this"
    drawn = [block for block in blocks if block.layer in ("", first)]
    for block in drawn:
        block.layer = name if block.layer else ""
    return drawn


def _block(block: ModelBlock, side: str, x: int, y: int) -> Iterator[DrawnShape]:
    kind = next((k for k in ("attention", "feed-forward", "recurrence") if k in block.title), "")
    outline = _rect(f"block {kind}".strip(), x, y, WIDTH, block.height, 6)
    yield {**outline, "text": block.title, "place": _steps_of(block, side)}
    yield _text(x + 12, y + 22, block.title, "name")
    weights = f"{block.parameters:,} weights" if block.parameters else ""
    yield _text(x + WIDTH - 12, y + 22, weights, "muted", "end")
    largest = max((max(shape) for shape in block.matrices.values()), default=1)
    step = (WIDTH - 24) / max(len(block.matrices), 4)
    for place, (name, shape) in enumerate(block.matrices.items()):
        height, width = (max(4.0, SIDE * math.sqrt(size / largest)) for size in shape[-2:])
        middle = x + 12 + step * (place + 0.5)
        across = min(width, step - 8)
        left, top = middle - across / 2, y + 34 + (SIDE - height) / 2
        yield _rect("matrix", left, top, across, height, 0)
        yield _text(middle, y + 34 + SIDE + 14, name, "muted", "middle")
        yield _text(middle, y + 34 + SIDE + 28, " × ".join(map(str, shape)), "muted", "middle")


def _steps_of(block: ModelBlock, column: str) -> DrawnShape:
    """The side, part and layers of the steps that happen in a block, as `trace` names them."""
    title = re.split(r"[,(]", block.title)[0].strip()
    side = None if column == "model" else column
    if title == "pooling":
        return {"side": "pooling", "part": None, "layers": None}
    layers = [int(number) for number in re.findall(r"^layer (\d+)$", block.layer)]
    recurrent = title == "recurrence"  # whose layers are traced as one
    return {
        "side": side,
        "part": PARTS.get(title, title),
        "layers": layers if layers and not recurrent else None,
    }


def _rect(kind: str, x: float, y: float, width: float, height: float, radius: int) -> DrawnShape:
    sizes = {"x": x, "y": y, "width": width, "height": height}
    rounded = {name: round(float(size), 1) for name, size in sizes.items()}
    return {"tag": "rect", "attributes": {"class": kind, **rounded, "rx": radius}, "text": ""}


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> DrawnShape:
    place = {"x": round(float(x), 1), "y": round(float(y), 1), "text-anchor": anchor}
    return {"tag": "text", "attributes": {"class": kind, **place}, "text": text}


def _arrow(path: str) -> DrawnShape:
    return {"tag": "path", "attributes": {"class": "arrow", "d": path}, "text": ""}


def _svg(shape: DrawnShape) -> str:
    attributes = " ".join(f'{name}="{value}"' for name, value in shape["attributes"].items())
    if shape["tag"] != "text":
        return f"<{shape['tag']} {attributes}/>"
    return f"<text {attributes}>{escape(shape['text'])}</text>"
