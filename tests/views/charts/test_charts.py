"""Charts as data: stored and restored without loss, drawn in both languages and themes."""

import json

import pytest
from rich.cells import cell_len

from regard.views.charts.draw import draw_chart, wrap
from regard.views.charts.panels import (
    BarPanel,
    Bars,
    Bilingual,
    Curve,
    CurvePanel,
    GridPanel,
    restored_panel,
    stored_panel,
)
from regard.views.figures.palette import DARK, LIGHT

PANELS = [
    CurvePanel(
        Bilingual("Error", "误差"),
        "n",
        Bilingual("error", "误差"),
        [
            Curve(Bilingual("fixed", "固定"), [1.0, 2.0], [3.0, 2.0], [2.0, 1.0], [4.0, 3.0]),
            Curve("noise", [1.0, 2.0], [0.1, 0.1], kind="dashed"),
        ],
        log="xy",
    ),
    BarPanel(
        "Accuracy",
        "%",
        [Bilingual("with", "有"), "without"],
        [Bars("all", [90.0, None], [80.0, None], [95.0, None])],
        reference=(Bilingual("chance", "随机"), 25.0),
    ),
    BarPanel("Time", "s", ["GRU", "LSTM"], [Bars("s", [1.0, 2.0])], horizontal=True),
    GridPanel("Map", "keys", "queries", ["a", "b"], ["c"], [[0.2, 0.8]], written=True),
]


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_a_panel_is_restored_from_json(panel):
    again = restored_panel(json.loads(json.dumps(stored_panel(panel))))
    assert json.dumps(stored_panel(again)) == json.dumps(stored_panel(panel))
    assert type(again) is type(panel)


@pytest.mark.needs("cjk-font")
def test_a_chart_is_the_same_every_time_and_differs_by_language_and_theme():
    caption = Bilingual("One sentence.", "一句话。")
    looks = [("en", LIGHT), ("zh", DARK), ("en", DARK), ("en", LIGHT)]
    drawn = [
        draw_chart(PANELS[:2], caption, language=language, theme=theme).render("svg")
        for language, theme in looks
    ]
    assert drawn[0] == drawn[-1]
    assert len(set(drawn)) == 3


def test_all_panels_in_one_chart():
    assert draw_chart(PANELS).render("png", dpi=30).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "text", ["a sentence of some words " * 9, "这是一个很长的句子，没有空格。" * 9]
)
def test_wrapped_lines_keep_the_text_and_the_width(text):
    lines = wrap(text, 30)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(cell_len(line) <= 32 for line in lines)  # a comma may stand beyond the end
    assert not any(line.startswith(("，", "。")) for line in lines)
