"""The evidence for a decision in the terminal."""

import io

import numpy as np
from rich.cells import cell_len
from rich.console import Console

from regard.views.terminal.decision import WeightStrip, WordWeights


def printed(thing, width=40, encoding="utf-8"):
    raw = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    Console(file=raw, width=width, color_system=None).print(thing)
    raw.seek(0)
    return raw.read().splitlines()


def test_weights_are_below_their_words():
    words, weights = printed(WordWeights(["猫", "sleeps", "."], [0.7, -0.3, 0.001]))
    assert words.split() == ["猫", "sleeps", "."]
    assert weights.split() == ["70%", "-30%", "·"]
    assert cell_len(words[: words.index("sleeps")]) == cell_len(weights[: weights.index("-30%")])


def test_long_texts_are_wrapped():
    lines = printed(WordWeights(["word"] * 20, [0.05] * 20), width=30)
    assert len(lines) == 8 and all(cell_len(line) <= 30 for line in lines)
    assert sum(line.count("word") for line in lines) == 20


def test_strip():
    weights = np.zeros((2, 6))
    weights[1, 4], weights[0, 0] = 0.7, -0.3
    first, second, axis = printed(WeightStrip(weights, ["額", "Cz"], patch=8))
    assert first.startswith("額 ----·") and first.endswith("-30%")
    assert second.index("████") == len("Cz ") + 16 and second.endswith("70%")
    assert axis.split() == ["0", "24"] and axis.index("24") == 3 + 12
    plain = printed(WeightStrip(weights, ["Fz", "Cz"]), encoding="ascii")
    assert "#" in plain[1] and all(line.isascii() for line in plain)


def test_long_strip_is_summed_until_it_fits():
    weights = np.zeros((1, 1000))
    weights[0, 999] = 1.0
    row, _ = printed(WeightStrip(weights, ["ch"]), width=50)
    assert cell_len(row) <= 50 and row.split()[1].endswith("█")
