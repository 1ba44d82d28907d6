"""Draw the pictures of the architecture: `python docs/pictures/architecture/make.py`.

data.svg     the way of the data through the packages of `src/regard/`
layers.svg   which package may import which, from the import-linter contract in `pyproject.toml`

Each for light and dark pages (`-dark`) and in English and Chinese (`.zh`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
FONT = "system-ui, 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
MONO = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
WIDTH = 960


class Colors(NamedTuple):
    """The colors of a theme."""

    text: str
    muted: str
    line: str
    box: str
    accent: str
    accent_box: str
    outside: str


LOOKS = {
    "": Colors("#1b1f24", "#57606a", "#8c959f", "#f6f8fa", "#1a5a9e", "#dcebfa", "#ffffff"),
    "-dark": Colors("#e6edf3", "#9da7b3", "#768390", "#1f252d", "#6fb3f7", "#16324f", "#13171c"),
}


class Box(NamedTuple):
    """A package (its name in `src/regard/`) or something outside, with what it does."""

    x: int
    y: int
    width: int
    height: int
    name: tuple[str, str]
    about: tuple[str, str]
    kind: str = "package"  # or "accent", "outside", "group"


def package_box(
    x: int, y: int, width: int, name: str, english: str, chinese: str, height: int = 70
) -> Box:
    """The box of a package; `|` begins a new line."""
    return Box(x, y, width, height, (f"{name}/", f"{name}/"), (english, chinese))


BOXES = [
    Box(
        10,
        30,
        150,
        90,
        ("your text", "你的文本"),
        ("TSV, TMX, PO, JSONL,|XLIFF, plain text", "TSV、TMX、PO、|JSONL、XLIFF、纯文本"),
        "outside",
    ),
    package_box(
        190, 30, 130, "formats", "one reader for|each file format", "每种文件格式|一个读取器", 90
    ),
    package_box(360, 30, 130, "text", "normalize,|tokenize: ids", "规范化、|分词：编号", 90),
    package_box(530, 30, 130, "corpus", "clean, split,|batches", "清洗、划分、|批次", 90),
    package_box(
        700,
        30,
        250,
        "models",
        "networks: Transformer, recurrent,|language models, classifier",
        "网络：Transformer、循环网络、|语言模型、分类器",
        160,
    ),
    Box(
        714,
        112,
        222,
        66,
        ("attention/", "attention/"),
        ("score, mask, normalize, sum", "评分、掩蔽、归一化、加权和"),
        "accent",
    ),
    Box(
        330,
        260,
        160,
        80,
        ("model folder", "模型文件夹"),
        ("settings, weights,|tokenizers", "设置、权重、|分词器"),
        "outside",
    ),
    package_box(
        530,
        260,
        190,
        "training",
        "loss, gradients,|schedule, checkpoints",
        "损失、梯度、|学习率、检查点",
        80,
    ),
    package_box(
        750,
        260,
        200,
        "decoding",
        "greedy, beam, sampling;|own engine or CTranslate2",
        "贪心、束搜索、采样；|自带引擎或 CTranslate2",
        80,
    ),
    package_box(
        10,
        400,
        940,
        "tasks",
        "one folder per kind of model: its data, objective, validation "
        "and façade (Translator, Generator, Classifier …)",
        "每种模型一个文件夹：数据、目标、验证与接口（Translator、Generator、Classifier …）",
        64,
    ),
    Box(10, 504, 940, 94, ("", ""), ("", ""), "group"),
    package_box(22, 516, 172, "alignment", "attention maps|to word links", "从注意力图|到词的对应"),
    package_box(
        208, 516, 172, "documents", "twelve formats,|with their markup", "十二种格式，|保留标记"
    ),
    package_box(394, 516, 172, "views", "figures, pages,|terminal", "图、网页、|终端"),
    package_box(
        580,
        516,
        172,
        "evaluation",
        "BLEU, chrF, TER,|alignment error",
        "BLEU、chrF、TER、|对齐错误率",
    ),
    package_box(
        766,
        516,
        172,
        "exchange",
        "ONNX, transformers,|CTranslate2, MarianMT",
        "ONNX、transformers、|CTranslate2、MarianMT",
    ),
    Box(10, 634, 940, 94, ("", ""), ("", ""), "group"),
    package_box(22, 646, 146, "cli", "one module|per command", "每个命令|一个模块"),
    package_box(176, 646, 146, "server", "HTTP API,|batching, page", "HTTP API、|批处理、网页"),
    package_box(330, 646, 146, "watch", "curves of runs,|in a browser", "浏览器中的|训练曲线"),
    package_box(484, 646, 146, "studies", "claims, measured|and drawn", "逐一测量|各种说法"),
    package_box(638, 646, 146, "demo", "a translator|in minutes", "几分钟训练|一个翻译器"),
    package_box(792, 646, 146, "bench", "mechanisms on|your tensors", "在自己的张量|上比较机制"),
]


class Arrow(NamedTuple):
    """An arrow through points, with a word beside it."""

    points: list[tuple[int, int]]
    word: tuple[str, str] = ("", "")
    at: tuple[int, int] = (0, 0)


ARROWS = [
    Arrow([(160, 75), (188, 75)]),
    Arrow([(320, 75), (358, 75)]),
    Arrow([(490, 75), (528, 75)]),
    Arrow([(660, 75), (698, 75)]),
    Arrow([(740, 190), (740, 222), (600, 222), (600, 258)], ("logits", "logits"), (592, 245)),
    Arrow([(680, 260), (680, 150), (698, 150)], ("weights", "权重"), (672, 180)),
    Arrow([(820, 190), (820, 258)], ("logits, maps", "logits、注意力图"), (828, 229)),
    Arrow([(530, 300), (492, 300)]),
    Arrow([(600, 398), (600, 342)], ("objective, validation", "目标、验证"), (608, 374)),
    Arrow([(820, 340), (820, 398)], ("hypotheses, maps", "候选译文、注意力图"), (828, 374)),
    Arrow([(425, 340), (425, 398)], ("load", "加载"), (433, 374)),
    Arrow([(480, 464), (480, 502)], ("results with their attention", "结果及其注意力"), (488, 487)),
    Arrow([(480, 598), (480, 632)]),
]
LEFT_OF_ARROW = ("logits", "weights")


def data_picture(colors: Colors, chinese: bool) -> str:
    """The way of the data."""
    title = "数据在 regard 中的路径" if chinese else "The way of the data through regard"
    parts = [*(_box(box, colors, chinese) for box in BOXES)]
    parts += [_arrow(arrow, colors, chinese) for arrow in ARROWS]
    return _svg(738, title, colors, parts)


def layers() -> list[list[str]]:
    """The packages of each layer, from the top; a layer may import those below it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (contract,) = (
        contract
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    return [
        [name.strip(" ()").removeprefix("regard.") for name in layer.split("|")]
        for layer in contract["layers"]
    ]


def layers_picture(colors: Colors, chinese: bool) -> str:
    """The layers: a package may import those below it."""
    words = (
        "The layers of regard: each may import those below it",
        "regard 的分层：只能导入下面的层",
    )
    title = words[chinese]
    parts, y = [], 16
    for names in layers():
        width = (WIDTH - 80 - 12 * (len(names) - 1)) // len(names)
        for place, name in enumerate(names):
            is_package = (ROOT / "src" / "regard" / name).is_dir()
            shown = f"{name}/" if is_package else f"{name}.py"
            kind = "accent" if name == "attention" else "package" if is_package else "outside"
            box = Box(70 + place * (width + 12), y, width, 32, (shown, shown), ("", ""), kind)
            parts.append(_box(box, colors, chinese))
        y += 42
    word = ("imports", "导入")[chinese]
    parts.append(_arrow(Arrow([(40, 20), (40, y - 14)]), colors, chinese))
    parts.append(
        f'<text transform="translate(30 {y // 2}) rotate(-90)" text-anchor="middle" '
        f'font-size="13" fill="{colors.muted}">{word}</text>'
    )
    return _svg(y + 4, title, colors, parts)


def _box(box: Box, colors: Colors, chinese: bool) -> str:
    fill, edge, name = {
        "package": (colors.box, colors.line, colors.text),
        "accent": (colors.accent_box, colors.accent, colors.accent),
        "outside": (colors.outside, colors.line, colors.muted),
        "group": ("none", colors.line, colors.muted),
    }[box.kind]
    dash = ' stroke-dasharray="4 3"' if box.kind in ("outside", "group") else ""
    title, lines = box.name[chinese], [line for line in box.about[chinese].split("|") if line]
    code = title.endswith(("/", ".py"))
    top = box.kind == "package" and box.height >= 150  # another box stands in it
    middle = box.x + box.width / 2
    first = box.y + (26 if top else (box.height - 17 * len(lines)) / 2 + 5)
    size = 15 if len(title) * 9.2 < box.width - 8 else 12
    font = f' font-family="{MONO}"' if code else ""
    texts = [
        f'<text x="{middle:g}" y="{first:g}" font-size="{size}" font-weight="600" '
        f'fill="{name}"{font}>{escape(title)}</text>'
    ]
    for number, line in enumerate(lines, 1):
        texts.append(
            f'<text x="{middle:g}" y="{first + 18 * number:g}" font-size="13" '
            f'fill="{colors.muted}">{escape(line)}</text>'
        )
    return (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="7" '
        f'fill="{fill}" stroke="{edge}"{dash}/>\n<g text-anchor="middle">{"".join(texts)}</g>'
    )


def _arrow(arrow: Arrow, colors: Colors, chinese: bool) -> str:
    points = " ".join(f"{x},{y}" for x, y in arrow.points)
    line = (
        f'<polyline points="{points}" fill="none" stroke="{colors.accent}" stroke-width="1.6" '
        'stroke-linejoin="round" marker-end="url(#head)"/>'
    )
    if not arrow.word[chinese]:
        return line
    x, y = arrow.at
    anchor = ' text-anchor="end"' if arrow.word[0] in LEFT_OF_ARROW else ""
    return (
        f'{line}\n<text x="{x}" y="{y}" font-size="13" fill="{colors.accent}"{anchor}>'
        f"{escape(arrow.word[chinese])}</text>"
    )


def _svg(height: int, title: str, colors: Colors, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" font-family="{FONT}">\n<title>{escape(title)}</title>\n'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="{colors.accent}"/>'
        "</marker></defs>"
    )
    return "\n".join([head, *parts, "</svg>", ""])


def pictures() -> Iterator[tuple[str, str]]:
    """The name and the content of each file."""
    for name, draw in (("data", data_picture), ("layers", layers_picture)):
        for chinese, language in enumerate(("", ".zh")):
            for look, colors in LOOKS.items():
                yield f"{name}{language}{look}.svg", draw(colors, bool(chinese))


if __name__ == "__main__":
    for file, content in pictures():
        (FOLDER / file).write_text(content, "utf-8")
