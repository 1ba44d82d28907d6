"""Loaded classifiers: labels and explanations."""

import json

import numpy as np
import pytest
import torch

import regard
from classified import classifier
from known_texts import known_texts
from regard.corpus.planted_series import planted
from regard.demo.event_location import located_share
from regard.errors import InputError
from regard.models.classifier.explain import METHODS
from regard.tasks.classification.classifier import Classifier, smoothed

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
    results = model.classify([row.text for row in rows], why=why)
    pairs = list(zip(results, rows, strict=True))
    assert sum(result.label == row.label for result, row in pairs) >= 98
    hits = sum(result.peak[0].name == row.cause for result, row in pairs)
    assert hits >= 95
    for result, row in pairs:
        assert sum(abs(word.weight) for word in result.words) == pytest.approx(1)
        assert all(row.text[word.start : word.end] == word.name for word in result.words)
        probabilities = list(result.probabilities.values())
        assert sum(probabilities) == pytest.approx(1)
        assert probabilities == sorted(probabilities)[::-1]


def test_a_planted_event_decides_and_is_found(series):
    results = series.classify(list(DATA.x))
    correct = [r.label == DATA.labels[y] for r, y in zip(results, DATA.y, strict=True)]
    assert sum(correct) / len(correct) >= 0.93
    assert located_share(results, DATA) >= 0.95
    assert (
        located_share(series.classify(list(DATA.x), why="occlusion"), DATA, channel=False) >= 0.95
    )
    for result in results:
        assert result.grid.shape == (4, 8)
        assert np.abs(result.grid).sum() == pytest.approx(1)
        assert [moment.start for moment in result.moments] == list(range(0, 64, 8))
        assert [channel.name for channel in result.channels] == ["Fp1", "Fp2", "F7", "F3"]


@pytest.mark.parametrize("why", METHODS)
def test_one_alone_is_as_among_others(series, why):
    rows = [DATA.x[0], DATA.x[1][:, :37], DATA.x[2]]
    together = series.classify(rows, why=why)
    for row, batched in zip(rows, together, strict=True):
        alone = series.classify(row, why=why)
        assert alone.label == batched.label
        assert alone.probability == pytest.approx(batched.probability, abs=1e-5)
        weights = [moment.weight for moment in alone.moments]
        assert weights == pytest.approx([moment.weight for moment in batched.moments], abs=1e-4)
    assert len(together[1].moments) == 5 and together[1].moments[-1][2:] == (32, 37)


def test_attention_is_the_pooling_of_the_maps(series):
    result = series.classify(DATA.x[0], why="attention")
    assert result.grid is None and result.channels == ()
    last = series.attention(DATA.x[0])[-1].weights
    assert last.shape == (1, 1, 1, 8)
    weights = [moment.weight for moment in result.moments]
    torch.testing.assert_close(last[0, 0, 0], torch.tensor(weights), rtol=1e-4, atol=1e-5)


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


def test_input_that_cannot_be_classified(series, tmp_path_factory):
    words = text(tmp_path_factory, "en")
    for model, given, message in (
        (series, "the storm", "this model reads numeric series, not text"),
        (series, DATA.x[0][:2], r"shape \(4 channels, moments\), got float32 of shape \(2, 64\)"),
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
