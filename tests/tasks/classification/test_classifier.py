"""Classifiers, loaded: they find what they were taught, and what decided."""

import json

import numpy as np
import pytest
import torch

import regard
from classified import classifier
from regard.corpus.labeled import known_texts
from regard.corpus.series import planted
from regard.demo.series import causes_found
from regard.errors import InputError
from regard.models.classifier.explain import WHYS
from regard.tasks.classification.classifier import smoothed
from regard.translator import Classifier

DATA = planted(150, 9, channels=4, moments=64)


@pytest.fixture(scope="session")
def series(tmp_path_factory):
    return regard.load(classifier("series", tmp_path_factory))


def text(tmp_path_factory, language):
    return regard.load(classifier(f"text-{language}", tmp_path_factory))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("why", ["gradient", "occlusion"])
def test_a_planted_word_decides_and_is_found(tmp_path_factory, language, why):
    model = text(tmp_path_factory, language)
    assert isinstance(model, Classifier)
    rows = known_texts(100, 5, language)
    found = model.classify([row.text for row in rows], why=why)
    assert sum(one.label == row.label for one, row in zip(found, rows, strict=True)) >= 98
    hits = sum(one.peak[0].name == row.cause for one, row in zip(found, rows, strict=True))
    assert hits >= 95
    for one, row in zip(found, rows, strict=True):
        assert sum(abs(word.weight) for word in one.words) == pytest.approx(1)
        assert all(row.text[word.start : word.end] == word.name for word in one.words)
        assert sum(one.probabilities.values()) == pytest.approx(1)
        assert list(one.probabilities.values()) == sorted(one.probabilities.values())[::-1]


def test_a_planted_event_decides_and_is_found(series):
    found = series.classify(list(DATA.x))
    right = [one.label == DATA.labels[y] for one, y in zip(found, DATA.y, strict=True)]
    assert sum(right) / len(right) >= 0.93
    assert causes_found(found, DATA) >= 0.95
    assert causes_found(series.classify(list(DATA.x), why="occlusion"), DATA, channel=False) >= 0.95
    for one in found:
        assert one.grid.shape == (4, 8)
        assert np.abs(one.grid).sum() == pytest.approx(1)
        assert [moment.start for moment in one.moments] == list(range(0, 64, 8))
        assert [channel.name for channel in one.channels] == ["Fp1", "Fp2", "F7", "F3"]


@pytest.mark.parametrize("why", WHYS)
def test_one_alone_is_as_among_others(series, why):
    rows = [DATA.x[0], DATA.x[1][:, :37], DATA.x[2]]
    together = series.classify(rows, why=why)
    for row, one in zip(rows, together, strict=True):
        alone = series.classify(row, why=why)
        assert alone.label == one.label
        assert alone.probability == pytest.approx(one.probability, abs=1e-5)
        told = [moment.weight for moment in alone.moments]
        assert told == pytest.approx([moment.weight for moment in one.moments], abs=1e-4)
    assert len(together[1].moments) == 5 and together[1].moments[-1][2:] == (32, 37)


def test_attention_is_the_pooling_of_the_maps(series):
    one = series.classify(DATA.x[0], why="attention")
    assert one.grid is None and one.channels == ()
    last = series.attention(DATA.x[0])[-1].weights
    assert last.shape == (1, 1, 1, 8)
    told = [moment.weight for moment in one.moments]
    torch.testing.assert_close(last[0, 0, 0], torch.tensor(told), rtol=1e-4, atol=1e-5)


def test_figures_of_the_development_set(series):
    metrics = json.loads((series.path / "metrics.json").read_text())
    dev = metrics["dev"]
    assert set(dev["labels"]) == {"rest", "up", "down", "burst"}
    table = np.array(dev["confusion"])
    assert table.sum() == 600 and metrics["train_sentences"] == 5400
    assert dev["accuracy"] == pytest.approx(np.trace(table) / 600)
    row = list(dev["labels"]).index("up")
    assert dev["labels"]["up"]["recall"] == pytest.approx(table[row, row] / table[row].sum())
    assert "labels series" in (series.path / "README.md").read_text("utf-8")
    assert series.run.model.channels == ("Fp1", "Fp2", "F7", "F3")


def test_what_cannot_be_labelled(series, tmp_path_factory):
    words = text(tmp_path_factory, "en")
    for model, given, message in (
        (series, "the storm", "this model reads numeric series, not text"),
        (series, DATA.x[0][:2], r"shape \(4 channels, moments\), but float32 of shape \(2, 64\)"),
        (series, np.full((4, 9), np.nan), "has gaps"),
        (series, np.zeros((4, 0)), "the series is empty"),
        (series, np.zeros((4, 8 * 257)), "makes 257 tokens, but the model holds 256"),
        (words, DATA.x[0], "this model reads text, not numeric series"),
        (words, "  ", "the text is empty"),
    ):
        with pytest.raises(InputError, match=message):
            model.classify(given)
    with pytest.raises(InputError, match="why must be gradient"):
        words.classify("x", why="magic")


def test_smoothing_keeps_the_middle():
    grid = np.zeros((1, 9))
    grid[0, 4] = 1
    assert smoothed(grid, 3)[0].tolist() == pytest.approx([0, 0, 0, 1 / 3, 1 / 3, 1 / 3, 0, 0, 0])
    assert smoothed(grid, 1) is grid
