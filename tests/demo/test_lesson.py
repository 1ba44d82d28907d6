"""What the demonstration learns from."""

import gc

import pytest

from regard.demo.lesson import Budget, lesson, prepared, settings

SMALL = Budget(sentences=300, minutes=0.1, test=10)


@pytest.mark.parametrize("language", ["fr", "zh"])
def test_sentences_are_encoded_as_the_tokenizers_do(language):
    taught = lesson(language, SMALL)
    ready = prepared(taught, settings("full", language, SMALL))
    source, target = ready.tokenizers.source, ready.tokenizers.target
    for pair, read, written in zip(
        taught.train, ready.examples.sources, ready.examples.targets, strict=True
    ):
        assert read.tolist() == source.encode(pair.source)
        assert written.tolist() == target.encode(pair.target)
        assert target.decode(written.tolist()) == pair.target


def test_the_garbage_collector_is_left_as_it_was():
    assert gc.isenabled()
    lesson("fr", SMALL)
    assert gc.isenabled()


def test_easy_sentences_come_first():
    taught = lesson("fr", SMALL)
    run = settings("full", "fr", SMALL)
    ready, plain = prepared(taught, run, easy=5), prepared(taught, run)
    first = ready.examples.epoch(0)
    assert len(first) == 5
    easy = [taught.train[place] for rows in first for place in rows]
    assert all(len(pair.source_words) <= 13 for pair in easy)
    assert sum(bool(pair.coreference) for pair in easy) > len(easy) / 3
    assert ready.examples.epoch(1) == plain.examples.epoch(1)  # then all, as ever
    assert sorted(place for rows in ready.examples.epoch(1) for place in rows) == [*range(300)]


def test_the_easy_sentences_last_as_long_as_they_are_asked_for():
    taught = lesson("fr", SMALL)
    run = settings("full", "fr", SMALL)
    every = len(prepared(taught, run).examples.epoch(0))
    assert len(prepared(taught, run, easy=10_000).examples.epoch(0)) == every
