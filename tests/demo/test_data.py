"""The demonstration's sentences and their order."""

import gc

import pytest

from regard.demo.data import draw_data, prepare_data
from regard.demo.settings import Budget, run_settings

SMALL = Budget(sentences=300, minutes=0.1, dev=10, test=10)


@pytest.mark.parametrize("language", ["fr", "zh"])
def test_sentences_are_encoded_as_the_tokenizers_do(language):
    data = draw_data(language, SMALL)
    prepared = prepare_data(data, run_settings("full", language, SMALL))
    source, target = prepared.tokenizers.source, prepared.tokenizers.target
    for pair, read, written in zip(
        data.train, prepared.train.sources, prepared.train.targets, strict=True
    ):
        assert read.tolist() == source.encode(pair.source)
        assert written.tolist() == target.encode(pair.target)
        assert target.decode(written.tolist()) == pair.target


def test_the_garbage_collector_is_left_as_it_was():
    assert gc.isenabled()
    draw_data("fr", SMALL)
    assert gc.isenabled()


def test_easy_sentences_come_first():
    data = draw_data("fr", SMALL)
    run = run_settings("full", "fr", SMALL)
    prepared, plain = prepare_data(data, run, easy_updates=5), prepare_data(data, run)
    first = prepared.train.epoch(0)
    assert len(first) == 5
    easy = [data.train[row] for rows in first for row in rows]
    assert all(len(pair.source_words) <= 13 for pair in easy)
    assert sum(bool(pair.coreference) for pair in easy) > len(easy) / 3
    assert prepared.train.epoch(1) == plain.train.epoch(1)  # then all, as ever
    assert sorted(row for rows in prepared.train.epoch(1) for row in rows) == [*range(300)]


def test_the_easy_sentences_last_as_long_as_they_are_asked_for():
    data = draw_data("fr", SMALL)
    run = run_settings("full", "fr", SMALL)
    every = len(prepare_data(data, run).train.epoch(0))
    assert len(prepare_data(data, run, easy_updates=10_000).train.epoch(0)) == every
