"""`make figures`: the figures of the READMEs are those of docs/benchmarks, and of nothing else."""

import pytest

from benchmarks.figures import READMES, RESULTS, figure_text, two_digits, with_figures
from benchmarks.results import keep_rows
from regard.bench.row import Row

ABOUT = {"processor": "A CPU", "cores": 2, "date": "2026-11-18"}
LIMIT = "target tokens/s over the limit of its matrix products"


@pytest.mark.parametrize("number", range(2), ids=("en", "zh"))
def test_the_readme_has_the_figures_of_the_kept_results(number):
    text = READMES[number].read_text("utf-8")
    assert text == with_figures(text, RESULTS, chinese=bool(number)), "run `make figures`"


@pytest.mark.parametrize("chinese", [False, True])
def test_without_results_there_is_no_figure(chinese, tmp_path):
    assert figure_text(tmp_path, chinese) == ""


def test_each_model_has_its_sentence(tmp_path):
    rows = [
        Row(f"{model}: {LIMIT}", 700.0, 1000.0, ratio, ">=", 0.85)
        for model, ratio in (("default", 0.7), ("small", 0.84))
    ]
    keep_rows(tmp_path, "train", ABOUT, rows)
    assert figure_text(tmp_path, chinese=False).replace("\n", " ") == (
        "A CPU, 2 cores, 2026-11-18: training (default) runs at 0.7 of the speed of its bare "
        "matrix products; training (small) runs at 0.84 of the speed of its bare matrix products."
    )
    assert "训练（small）达到单纯矩阵乘法速度的 0.84。" in figure_text(tmp_path, chinese=True)


def test_several_rows_are_a_range(tmp_path):
    name = "tiny: translate plain over bare CTranslate2 int8, batch"
    rows = [Row(f"{name} {n}", 1.0, 1.0, ratio, ">=", 1) for n, ratio in ((1, 1.2), (64, 0.951))]
    keep_rows(tmp_path, "decode", ABOUT, rows)
    assert "is 0.95 to 1.2 times as fast" in figure_text(tmp_path, chinese=False)


def test_a_readme_without_markers_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="must have the lines"):
        with_figures("# regard\n", tmp_path, chinese=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.849, "0.85"), (1.234, "1.2"), (12.6, "13"), (362.6, "360"), (4993, "5,000")],
)
def test_two_digits(value, text):
    assert two_digits(value) == text
