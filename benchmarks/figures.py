"""`make figures`: the figures of both READMEs, from the results kept in docs/benchmarks.

A README has them between the lines BEGIN and END. A sentence is left out while the rows that it
needs have not been kept: no figure stands there that was not measured.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from benchmarks.results import read_runs

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "benchmarks"
READMES = (ROOT / "README.md", ROOT / "README.zh-CN.md")
BEGIN = "<!-- figures: written by `make figures` from docs/benchmarks -->"
END = "<!-- end of figures -->"
WIDTH = 110


class Figure(NamedTuple):
    """A sentence in English and Chinese about the stored rows of a subject.

    `rows` are regular expressions, each to be found in the name of at least one row. In the
    sentences {0} stands for the first: {0.ratio}, {0.ours} and {0.peer}, each "0.95 to 1.2" if
    several rows match; {0.model} is what the row's name has before its colon.
    """

    subject: str
    rows: tuple[str, ...]
    english: str
    chinese: str


FIGURES = (
    Figure(
        "train",
        (r"^(?P<model>[^:]*): target tokens/s over the limit",),
        "training ({0.model}) runs at {0.ratio} of the speed of its bare matrix products",
        "训练（{0.model}）达到单纯矩阵乘法速度的 {0.ratio}",
    ),
    Figure(
        "train",
        (r"^(?P<model>[^:]*): target tokens/s over those of a torch\.nn\.Transformer",),
        "training ({0.model}) is {0.ratio} times as fast as a loop around `torch.nn.Transformer` "
        "in its best setting",
        "训练（{0.model}）是围绕 `torch.nn.Transformer` 的循环（取其最佳设置）的 {0.ratio} 倍",
    ),
    Figure(
        "train",
        (r"^(?P<model>[^:]*): target tokens/s over those of JoeyNMT",),
        "training ({0.model}) is {0.ratio} times as fast as JoeyNMT 2.3 in its best setting",
        "训练（{0.model}）是 JoeyNMT 2.3（取其最佳设置）的 {0.ratio} 倍",
    ),
    Figure(
        "decode",
        (r"^(?P<model>[^:]*): translate plain over bare CTranslate2 int8",),
        "`translate` ({0.model}) is {0.ratio} times as fast as bare CTranslate2 in int8",
        "`translate`（{0.model}）的速度是 int8 的 CTranslate2 的 {0.ratio} 倍",
    ),
    Figure(
        "decode",
        (r"^(?P<model>[^:]*): translate with links and confidence read over",),
        "where all word links and confidences are read ({0.model}) it is {0.ratio} times as fast",
        "读取全部词对齐与置信度时（{0.model}）是 {0.ratio} 倍",
    ),
    Figure(
        "decode",
        (r"^(?P<model>[^:]*): translate with all maps over",),
        "with the attention maps of all heads ({0.model}) it is {0.ratio} times as fast",
        "返回所有头的注意力图时（{0.model}）是 {0.ratio} 倍",
    ),
    Figure(
        "decode",
        (r"^(?P<model>[^:]*): .*seconds from start to answer",),
        "`regard translate` ({0.model}) answers {0.ours} s after its start",
        "`regard translate`（{0.model}）启动后 {0.ours} 秒给出答案",
    ),
    Figure(
        "files",
        (r"^(?P<model>[^:]*): lines/s of .* from (a file$|standard input)",),
        "`regard translate` of 20,000 lines ({0.model}) makes {0.ours} lines/s, {0.ratio} times "
        "what a plain loop around the engine makes",
        "`regard translate` 翻译 20,000 行（{0.model}）每秒 {0.ours} 行，"
        "是围绕引擎的简单循环的 {0.ratio} 倍",
    ),
    Figure(
        "files",
        (r"^(?P<model>[^:]*): lines/s of .* with a placeholder in every line",),
        "with a placeholder in every line ({0.model}) it is {0.ratio} times",
        "每行都有占位符时（{0.model}）是 {0.ratio} 倍",
    ),
    Figure(
        "serve",
        (r"^(?P<model>[^:]*): .*answers/s together over engine",),
        "`regard serve` ({0.model}) answers {0.ours} requests/s of many clients, {0.ratio} times "
        "what the bare engine translates",
        "`regard serve`（{0.model}）对许多客户端每秒回答 {0.ours} 个请求，"
        "是引擎本身的 {0.ratio} 倍",
    ),
    Figure(
        "quality",
        (r"Multi30k.*BLEU|BLEU.*Multi30k",),
        "an hour's training on Multi30k en→de without any setting gives {0.ours} BLEU on test2016",
        "不加任何设置、在 Multi30k 英译德上训练一小时，在 test2016 上得到 {0.ours} BLEU",
    ),
    Figure(
        "attention",
        (r"^ScaledDot, .*forward \+ backward",),
        "scaled dot-product attention takes {0.ratio} of the time of torch's bare kernel, forward "
        "and backward",
        "缩放点积注意力前向加反向用时是 torch 内核的 {0.ratio} 倍",
    ),
    Figure(
        "attention",
        (r"times faster than statsmodels",),
        "kernel regression is {0.ratio} times as fast as that of statsmodels",
        "核回归的速度是 statsmodels 的 {0.ratio} 倍",
    ),
)


class Found:
    """The rows that a pattern has found; an attribute is a figure of them as text."""

    def __init__(self, pattern: str, rows: Sequence[dict[str, Any]], chinese: bool) -> None:
        self._rows, self._to = rows, " 到 " if chinese else " to "
        match = re.search(pattern, rows[0]["name"]) if rows else None
        self.model = match.groupdict().get("model") if match else None

    def __bool__(self) -> bool:
        return bool(self._rows)

    def __getattr__(self, name: str) -> str:
        if name not in ("ours", "peer", "ratio"):
            raise AttributeError(name)
        values = sorted(row[name] for row in self._rows)
        return self._to.join(dict.fromkeys(map(two_digits, (values[0], values[-1]))))


def two_digits(value: float) -> str:
    """Two digits, as much as runs on one machine agree in; whole numbers from 10 on."""
    if value >= 10:
        digits = len(str(int(value))) - 2
        return f"{round(value, -digits):,.0f}"
    return f"{value:.2g}"


def figure_text(results: Path, chinese: bool) -> str:
    """The text between the markers: a sentence of machine and date for each run, and figures."""
    sentences: dict[tuple[str, int, str], list[str]] = {}
    for figure in FIGURES:
        runs = read_runs(results / f"{figure.subject}.json")
        for rows in _rows_by_model(figure, runs):
            run = rows[0][0]["run"]
            values = [Found(p, r, chinese) for p, r in zip(figure.rows, rows, strict=True)]
            place = run["processor"], run["cores"], run["date"]
            words = (figure.chinese if chinese else figure.english).format(*values)
            sentences.setdefault(place, []).append(words)
    paragraphs = []
    for (processor, cores, date), parts in sentences.items():
        if chinese:
            paragraphs.append(f"{processor}，{cores} 核，{date}：{'；'.join(parts)}。")
        else:
            text = f"{processor}, {cores} cores, {date}: {'; '.join(parts)}."
            lines = wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
            paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def _rows_by_model(
    figure: Figure, runs: Sequence[dict[str, Any]]
) -> Iterator[list[list[dict[str, Any]]]]:
    """For each run and each model in its names, the rows of each pattern if all have some."""
    for run in runs:
        models: dict[str | None, list[list[dict[str, Any]]]] = {}
        for number, pattern in enumerate(figure.rows):
            for row in run["rows"]:
                if match := re.search(pattern, row["name"]):
                    model = match.groupdict().get("model")
                    lists = models.setdefault(model, [[] for _ in figure.rows])
                    lists[number].append({**row, "run": run})
        yield from (lists for lists in models.values() if all(lists))


def with_figures(text: str, results: Path, chinese: bool) -> str:
    """The README's text with the figures of the results between its markers."""
    before, begin, rest = text.partition(BEGIN + "\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the README must have the lines {BEGIN!r} and {END!r}.")
    return f"{before}{begin}{figure_text(results, chinese)}\n{end}{after}"


def main() -> int:
    """Write the figures into both READMEs."""
    for path, chinese in zip(READMES, (False, True), strict=True):
        text = path.read_text("utf-8")
        path.write_text(with_figures(text, RESULTS, chinese), "utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
