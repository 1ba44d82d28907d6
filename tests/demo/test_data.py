"""The demonstration's sentences and their order."""

import gc

import pytest

from regard.demo.data import draw_data, prepare_data
from regard.demo.settings import Budget, run_settings
from regard.text import words

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


@pytest.mark.parametrize("language", ["fr", "zh"])
def test_guided_heads_learn_what_the_grammar_annotates(language):
    run = run_settings("full", language, SMALL, guided=True)
    prepared = prepare_data(draw_data(language, SMALL, guides=run.guides), run)
    alignment, antecedents = prepared.train.guided
    assert (alignment.guide.attention, antecedents.guide.attention) == ("cross", "encoder")
    pronouns = []
    for n, (source, target) in enumerate(
        zip(prepared.train.sources, prepared.train.targets, strict=True)
    ):
        assert set(alignment.links[n][:, 0]) == set(range(1, len(target) + 1))  # each, after BOS
        assert alignment.links[n][:, 1].max() < len(source)
        pronouns += [source[query] for query, _ in antecedents.links[n]]
    assert len(pronouns) > 20
    assert {prepared.tokenizers.source.decode([int(id)]).strip() for id in pronouns} == {"it"}


def test_training_sentences_differ_and_are_in_no_other_set():
    data = draw_data("fr", SMALL)
    sources = [pair.source for pair in data.train]
    assert len(set(sources)) == len(sources) == SMALL.sentences
    assert not {pair.source for pair in (*data.dev, *data.test, *data.showcase)} & set(sources)
    assert draw_data("fr", SMALL) == data


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
    assert all(pair.easy and " it " in pair.source for pair in easy)
    assert max(len(words(pair.source, "en")) for pair in easy) <= 13
    assert prepared.train.epoch(1) == plain.train.epoch(1)  # then all, as ever
    assert sorted(row for rows in prepared.train.epoch(1) for row in rows) == [*range(300)]


def test_the_easy_sentences_last_as_long_as_they_are_asked_for():
    data = draw_data("fr", SMALL)
    run = run_settings("full", "fr", SMALL)
    every = len(prepare_data(data, run).train.epoch(0))
    assert len(prepare_data(data, run, easy_updates=10_000).train.epoch(0)) == every
