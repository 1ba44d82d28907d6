"""The block `{benchmarks}`: each subject of `python -m benchmarks`, its command and results."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generated import write_into_page
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "benchmarks"
sys.path.insert(0, str(ROOT))

from benchmarks.subjects import SUBJECTS  # noqa: E402

WORDS = {
    "needs": ("Needs: ", "需要："),
    "none": ("No result has been kept yet.", "还没有保存的结果。"),
    "run": (
        "{date}: {processor}, {cores} cores (load {load} before), regard {version}, "
        "torch {torch}, Python {python}.",
        "{date}：{processor}，{cores} 核（运行前负载 {load}），regard {version}，"
        "torch {torch}，Python {python}。",
    ),
    "holds": ("yes", "是"),
    "fails": ("**no**", "**否**"),
}
COLUMNS = (
    ("Measured", "regard", "Peer", "Ratio", "Bar", "Holds"),
    ("测量项目", "regard", "对照", "比值", "标准", "达到"),
)


def benchmark_lines(chinese: bool) -> Iterator[str]:
    """A section for each subject, as Markdown."""
    for name, subject in SUBJECTS.items():
        yield from (f"### `{name}`", "", _sentence(subject.about[chinese], chinese), "")
        yield f"{WORDS['needs'][chinese]}{subject.needs[chinese]}"
        yield ""
        path = RESULTS / f"{name}.json"
        runs = json.loads(path.read_text("utf-8"))["runs"] if path.is_file() else []
        if not runs:
            yield from _command(f"python -m benchmarks {name} --keep docs/benchmarks")
            yield from (WORDS["none"][chinese], "")
        for run in runs:
            yield from _command(run["command"])
            yield from (WORDS["run"][chinese].format(**run), "")
            yield from _table(run["rows"], chinese)


def _command(command: str) -> Iterator[str]:
    yield from ("```console", command, "```", "")


def _table(rows: list[dict[str, Any]], chinese: bool) -> Iterator[str]:
    yield f"| {' | '.join(COLUMNS[chinese])} |"
    yield "|---|---:|---:|---:|---:|---|"
    for row in rows:
        sense, bar = row["bar"].split()
        limit = f"{'≤' if sense == '<=' else '≥'}\u00a0{number(float(bar))}"
        holds = WORDS["holds" if row["holds"] else "fails"][chinese]
        name = row["name"].replace("|", "\\|")
        figures = (number(row[key]) for key in ("ours", "peer", "ratio"))
        yield f"| {' | '.join([name, *figures, limit, holds])} |"
    yield ""


def number(value: float | None) -> str:
    """A figure of three digits: 0.0712, 1.53, 6,511, 2.1e-14."""
    if value is None:
        return "–"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _sentence(words: str, chinese: bool) -> str:
    first = words[0].upper() + words[1:]
    return first + ("。" if chinese else ".")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    write_into_page(app, "benchmarks", benchmark_lines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
