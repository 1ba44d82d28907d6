"""What a chart shows, as plain data that can be stored as JSON and drawn again.

A `Bilingual` is written in English and Chinese; a plain string reads the same in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

LanguageCode = Literal["en", "zh"]


class Bilingual(NamedTuple):
    """A text in both languages."""

    en: str
    zh: str


Words = Bilingual | str


def in_language(words: Words, language: LanguageCode) -> str:
    """The words in one language."""
    return words if isinstance(words, str) else getattr(words, language)


@dataclass(frozen=True)
class Curve:
    """A line through points, with a band from `low` to `high` where they are given.

    kind  "line" with a marker at each point, "dashed" without markers, or "dots" without a line
    """

    name: Words
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    kind: Literal["line", "dashed", "dots"] = "line"


@dataclass(frozen=True)
class CurvePanel:
    """Curves over a common axis; `log` names the axes that are logarithmic ("x", "y", "xy")."""

    title: Words
    x_label: Words
    y_label: Words
    curves: Sequence[Curve]
    log: Literal["", "x", "y", "xy"] = ""
    y_range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bars:
    """One bar per group of a `BarPanel`, with an interval where it is given; None: no bar."""

    name: Words
    values: Sequence[float | None]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None


@dataclass(frozen=True)
class BarPanel:
    """Bars side by side in groups; `horizontal` for groups with long names.

    reference  a dashed line at a value to compare with, such as chance
    """

    title: Words
    y_label: Words
    groups: Sequence[Words]
    bars: Sequence[Bars]
    horizontal: bool = False
    reference: tuple[Words, float] | None = None
    y_range: tuple[float, float] | None = None


@dataclass(frozen=True)
class GridPanel:
    """A matrix as colored cells: weights from 0, or `signed` values around 0.

    written  whether each cell has its number
    """

    title: Words
    x_label: Words
    y_label: Words
    columns: Sequence[Words]
    rows: Sequence[Words]
    cells: Sequence[Sequence[float]]
    signed: bool = False
    written: bool = False


Panel = CurvePanel | BarPanel | GridPanel
_KINDS: dict[str, type[CurvePanel] | type[BarPanel] | type[GridPanel]] = {
    "curves": CurvePanel,
    "bars": BarPanel,
    "grid": GridPanel,
}


def stored_panel(panel: Panel) -> dict[str, Any]:
    """The panel as JSON values."""
    kind = next(name for name, panel_type in _KINDS.items() if isinstance(panel, panel_type))
    return {"kind": kind, **asdict(panel)}


def restored_panel(values: dict[str, Any]) -> Panel:
    """The panel that `stored_panel` stored, also after its values have been through JSON."""
    fields = {name: value for name, value in values.items() if name != "kind"}
    for name in ("title", "x_label", "y_label"):
        if name in fields:
            fields[name] = restored_words(fields[name])
    for name in ("groups", "columns", "rows"):
        if name in fields:
            fields[name] = [restored_words(words) for words in fields[name]]
    for name, part in (("curves", Curve), ("bars", Bars)):
        if name in fields:
            fields[name] = [
                part(**{**entry, "name": restored_words(entry["name"])}) for entry in fields[name]
            ]
    if fields.get("reference"):
        words, value = fields["reference"]
        fields["reference"] = restored_words(words), value
    return _KINDS[values["kind"]](**fields)


def restored_words(words: Any) -> Words:
    """Words that have been through JSON, where a `Bilingual` is a list of two."""
    return words if isinstance(words, str) else Bilingual(*words)
