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
