"""The files of a finished study: Markdown, figures and JSON, in a folder of its own.

NAME.json holds everything in both languages, so that the others can be written again from it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regard.errors import InputError
from regard.storage import replace_file
from regard.studies import find_study
from regard.studies.study import Claim, Findings, FindingsTable
from regard.version import __version__
from regard.views.charts.draw import draw_chart
from regard.views.charts.panels import (
    Bilingual,
    LanguageCode,
    Words,
    in_language,
    restored_panel,
    restored_words,
    stored_panel,
)
from regard.views.figures.palette import DARK, LIGHT

FORMAT = 1
WORDS: dict[str, Bilingual] = {
    "claimed": Bilingual("Claimed", "说法"),
    "measured": Bilingual("Measured", "测量结果"),
    "holds": Bilingual("It holds.", "成立。"),
    "fails": Bilingual("It does not hold.", "不成立。"),
    "quick": Bilingual("Not shown by this quick run.", "这次快速运行没有显示出来。"),
    "run": Bilingual("Run with", "运行命令"),
    "on": Bilingual("on", "日期"),
    "took": Bilingual("took {seconds} s", "用时 {seconds} 秒"),
}


def stored(name: str, findings: Findings, about: dict[str, Any]) -> dict[str, Any]:
    """Everything of a study as JSON values; `about` says how it was run."""
    return {
        "format": FORMAT,
        "study": name,
        "title": find_study(name).title,
        "version": __version__,
        **about,
        "caption": findings.caption,
        "claims": [asdict(claim) for claim in findings.claims],
        "tables": [asdict(table) for table in findings.tables],
        "panels": [stored_panel(panel) for panel in findings.panels],
        "values": findings.values,
    }


def restored(path: Path) -> tuple[Findings, dict[str, Any]]:
    """The findings of a NAME.json, and all that it holds."""
    try:
        values = json.loads(path.read_text("utf-8"))
        findings = Findings(
            Bilingual(*values["caption"]),
            [
                Claim(Bilingual(*claim["claimed"]), Bilingual(*claim["measured"]), claim["holds"])
                for claim in values["claims"]
            ],
            [_restored_table(table) for table in values["tables"]],
            [restored_panel(panel) for panel in values["panels"]],
            values["values"],
        )
    except FileNotFoundError:
        raise InputError(f"{path}: there are no results yet; run the study first.") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: these are not the results of a study; run it again.") from None
    return findings, values


def _restored_table(values: dict[str, Any]) -> FindingsTable:
    def cell(value: Any) -> Any:
        return restored_words(value) if isinstance(value, list | str) else value

    return FindingsTable(
        restored_words(values["title"]),
        [restored_words(words) for words in values["columns"]],
        [[cell(value) for value in row] for row in values["rows"]],
    )


def write_study(
    folder: Path, values: dict[str, Any], findings: Findings, language: LanguageCode
) -> None:
    """Write NAME.md, NAME.png, NAME.svg, NAME-dark.png, NAME-dark.svg and, last, NAME.json.

    The Chinese ones are NAME.zh.md, NAME.zh.png and so on, beside the English ones.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = values["study"]
    stem = name if language == "en" else f"{name}.{language}"
    for suffix, theme in (("", LIGHT), ("-dark", DARK)):
        figure = draw_chart(findings.panels, findings.caption, language=language, theme=theme)
        for ending in ("png", "svg"):
            figure.save(folder / f"{stem}{suffix}.{ending}")
    page = "".join(markdown(values, findings, language, f"{stem}.png"))
    replace_file(folder / f"{stem}.md", page.encode())
    text = json.dumps(_finite(values), ensure_ascii=False, indent=1)
    replace_file(folder / f"{name}.json", f"{text}\n".encode())


def markdown(
    values: dict[str, Any], findings: Findings, language: LanguageCode, image: str
) -> Iterator[str]:
    """The study as a Markdown page: claims, figure, tables, and how to run it."""

    def say(words: Words) -> str:
        return in_language(words, language)

    colon = "：" if language == "zh" else ": "
    yield f"# {say(restored_words(values['title']))}\n\n"
    for claim in findings.claims:
        yield f"- **{say(WORDS['claimed'])}**{colon}{say(claim.claimed)}\n"
        yield f"  **{say(WORDS['measured'])}**{colon}{say(claim.measured)}\n"
        yield f"  **{say(verdict(claim.holds, quick=values['quick']))}**\n"
    yield f"\n![{say(findings.caption)}]({image})\n"
    for table in findings.tables:
        yield f"\n**{say(table.title)}**\n\n"
        yield _row([say(words) for words in table.columns])
        yield _row(["---"] * len(table.columns))
        for row in table.rows:
            yield _row([_cell(value, language) for value in row])
    took = say(WORDS["took"]).format(seconds=f"{values['seconds']:.0f}")
    yield f"\n{say(WORDS['run'])} `{values['command']}`, {say(WORDS['on'])} {values['date']}, "
    yield f"regard {values['version']}, {took}.\n"


def verdict(holds: bool, *, quick: bool) -> Bilingual:
    """Whether a claim holds, in words; a quick run is too small to say that one does not."""
    return WORDS["holds" if holds else "quick" if quick else "fails"]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _cell(value: Words | float | int | None, language: LanguageCode) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if isinstance(value, float) else in_language(value, language)


def _finite(value: Any) -> Any:
    """The value with None for numbers that JSON does not have, and six digits of the others."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
