"""Curves of trainings: a panel and a legend for what each run has logged."""

import pytest

from regard.views.figures.curves import curves_figure

pytest.importorskip("matplotlib")

LOSS = [{"step": 1, "loss": 3.0, "rate": 0.1}, {"step": 2, "loss": 2.0, "dev_loss": 2.5}]
WITHOUT = [*LOSS, {"step": 3, "dev_accuracy": 0.5}]
WITH = [*WITHOUT, {"step": 4, "dev_bleu": 20.0}]


def panels(runs):
    """The legend of each panel by its title."""
    found = {}
    for axes in curves_figure(runs).canvas.axes:
        legend = axes.get_legend()
        texts = [text.get_text() for text in legend.get_texts()] if legend else []
        found[axes.get_title(loc="left")] = texts
    return found


def test_a_run_without_bleu_is_not_in_its_legend():
    assert panels({"a": WITH, "b": WITHOUT}) == {
        "loss": ["a, training", "a, development", "b, training", "b, development"],
        "learning rate": ["a", "b"],
        "BLEU": ["a"],
        "accuracy": ["a", "b"],
    }
    assert list(panels({"a": WITH})) == ["loss", "learning rate", "BLEU"]
    assert list(panels({"b": WITHOUT})) == ["loss", "learning rate", "accuracy"]
    assert panels({"c": [{"step": 1, "loss": 1.0}]}) == {"loss": ["training"]}
