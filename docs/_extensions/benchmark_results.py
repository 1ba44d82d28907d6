"""`{benchmarks}`: each subject of `python -m benchmarks`, its command and its kept results."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generated import MarkdownDirective
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "benchmarks"
sys.path.insert(0, str(ROOT))

from benchmarks.subjects import SUBJECTS  # noqa: E402

WORDS = {
    "needs": ("Needs:", "需要："),
    "none": ("No result has been kept yet.", "还没有保存的结果。"),
    "run": (
        "{date}: {processor}, {cores} cores (load {load} before), regard {version}, "
        "torch {torch}, Python {python}.",
        "{date}：{processor}，{cores} 核（运行前负载 {load}），regard {version}，"
        "torch {torch}，Python {python}。",
    ),
    "columns": (
        ("Measured", "regard", "Peer", "Ratio", "Bar", "Holds"),
        ("测量项目", "regard", "对照", "比值", "标准", "达到"),
    ),
    "holds": ("yes", "是"),
    "fails": ("**no**", "**否**"),
}


class BenchmarksDirective(MarkdownDirective):
    """A section for each subject."""

    def say(self, name: str) -> Any:
        """One of WORDS in the page's language."""
        return WORDS[name][self.chinese]

    def lines(self) -> Iterator[str]:
        for name, subject in SUBJECTS.items():
            path = RESULTS / f"{name}.json"
            self.env.note_dependency(str(path))
            about = subject.about[self.chinese]
            yield from (f"### `{name}`", "", _sentence(about, self.chinese), "")
            yield f"{self.say('needs')} {subject.needs[self.chinese]}".replace("： ", "：")
            yield ""
            runs = json.loads(path.read_text("utf-8"))["runs"] if path.is_file() else []
            if not runs:
                yield from self._command(f"python -m benchmarks {name} --keep docs/benchmarks")
                yield from (self.say("none"), "")
            for run in runs:
                yield from self._command(run["command"])
                yield from (self.say("run").format(**run), "")
                yield from self._table(run["rows"])

    def _command(self, command: str) -> Iterator[str]:
        yield from ("```console", command, "```", "")

    def _table(self, rows: list[dict[str, Any]]) -> Iterator[str]:
        yield f"| {' | '.join(self.say('columns'))} |"
        yield "|---|---:|---:|---:|---:|---|"
        for row in rows:
            sense, bar = row["bar"].split()
            limit = f"{'≤' if sense == '<=' else '≥'} {number(float(bar))}"
            holds = self.say("holds" if row["holds"] else "fails")
            cells = [row["name"].replace("|", "\\|"), number(row["ours"]), number(row["peer"]),
                     number(row["ratio"]), limit.replace(" ", "\u00a0"), holds]  # fmt: skip
            yield f"| {' | '.join(cells)} |"
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
    app.add_directive("benchmarks", BenchmarksDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
