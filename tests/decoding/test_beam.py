"""Beam search: against every possible output, against a beam by hand, alone and in company."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from decoding.writers import (
    BOS,
    EOS,
    SENTENCES,
    WORDS,
    WRITERS,
    TableWriter,
    beam_by_hand,
    enumerated,
    reading,
)
from regard.config import SearchOptions
from regard.decoding import beam, greedy, request, search

SEEDS = st.integers(0, 10_000)
ALPHAS = st.sampled_from([0.0, 0.6, 1.0, 2.0])
SOURCES = st.lists(st.lists(st.integers(5, 20), min_size=1, max_size=4), min_size=1, max_size=4)
GRAINS = st.sampled_from([None, 2.0])


def same(found, expected):
    assert [(one.tokens, one.finished) for one in found] == [(t, end) for t, _, end in expected]
    assert [one.score for one in found] == pytest.approx(
        [score for _, score, _ in expected], 1e-5, 1e-5
    )


@given(SEEDS, SOURCES, ALPHAS, st.integers(1, 4))
def test_a_wide_beam_finds_all_that_is_possible(seed, sentences, alpha, limit):
    writer = TableWriter(seed)
    found = search(
        writer,
        reading(*sentences),
        SearchOptions(beam=130, n_best=130, length_penalty=alpha, max_length=limit),
    )
    for sentence, hypotheses in zip(sentences, found, strict=True):
        same(hypotheses, enumerated(writer, sentence, limit, alpha))


@given(SEEDS, SOURCES, ALPHAS, st.integers(2, 5), st.sampled_from([0.0, 3.0]))
def test_a_narrow_beam_is_the_one_by_hand(seed, sentences, alpha, width, ending):
    writer = TableWriter(seed, ending=ending)
    settings = SearchOptions(beam=width, n_best=width, length_penalty=alpha, max_length=6)
    found = search(writer, reading(*sentences), settings)
    for sentence, hypotheses in zip(sentences, found, strict=True):
        same(hypotheses, beam_by_hand(writer, sentence, 6, alpha, width))


@given(SEEDS, SOURCES, ALPHAS, GRAINS)
def test_a_beam_of_one_is_greedy(seed, sentences, alpha, grain):
    writer = TableWriter(seed, grain=grain)
    wanted = request(writer, reading(*sentences), max_length=9)
    narrow = beam(writer, wanted, beam=1, length_penalty=alpha)
    assert [[one] for one in greedy(writer, wanted, length_penalty=alpha)] == narrow


@given(SEEDS, SOURCES, ALPHAS, st.integers(2, 6), GRAINS)
def test_alone_as_in_company(seed, sentences, alpha, width, grain):
    writer = TableWriter(seed, grain=grain)
    settings = SearchOptions(beam=width, n_best=width, length_penalty=alpha)
    together = search(writer, reading(*sentences), settings)
    alone = [search(writer, reading(sentence), settings)[0] for sentence in sentences]
    assert together == alone


@given(SEEDS, SOURCES, ALPHAS, st.integers(2, 6), GRAINS)
def test_stopping_early_changes_nothing(seed, sentences, alpha, width, grain):
    writer = TableWriter(seed, grain=grain, ending=1.0)
    many, one = (
        search(
            writer,
            reading(*sentences),
            SearchOptions(beam=width, n_best=n_best, length_penalty=alpha, max_length=12),
        )
        for n_best in (width, 1)
    )
    assert [found[:1] for found in many] == one


@given(SEEDS, SOURCES, ALPHAS, st.integers(1, 6), GRAINS)
def test_n_best_are_sorted_different_and_plain(seed, sentences, alpha, width, grain):
    writer = TableWriter(seed, grain=grain)
    settings = SearchOptions(beam=max(width, 2), n_best=max(width, 2), length_penalty=alpha)
    for sentence, found in zip(
        sentences, search(writer, reading(*sentences), settings), strict=True
    ):
        limit = 2 * (len(sentence) + 1) + 10
        assert len({(one.tokens, one.finished) for one in found}) == len(found) >= 1
        order = [-one.score for one in found]
        assert order == sorted(order)
        for one in found:
            assert set(one.tokens) <= set(WORDS)
            assert len(one.token_log_probabilities) == len(one.tokens) + one.finished
            assert len(one.tokens) < limit if one.finished else len(one.tokens) == limit
            logs = writer.logs(sentence, [*one.tokens, *[EOS] * one.finished])
            assert one.token_log_probabilities == pytest.approx(logs, abs=1e-5)
            assert one.log_probability == pytest.approx(sum(logs), abs=1e-4)


@given(SEEDS, SOURCES)
def test_no_finished_sample_or_greedy_output_beats_a_wide_beam(seed, sentences):
    writer = TableWriter(seed, ending=1.0)
    source = reading(*sentences)
    (wide, one, drawn) = (
        search(writer, source, SearchOptions(length_penalty=0.0, max_length=4, **more))
        for more in ({"beam": 130}, {"beam": 1}, {"sample": True, "n_best": 5})
    )
    for best, *rivals in zip(wide, one, drawn, strict=True):
        for rival in (rival for found in rivals for rival in found if rival.finished):
            assert best[0].log_probability >= rival.log_probability - 1e-5


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("width", [1, 4])
def test_every_kind_of_writer_alone_as_in_company(kind, width):
    writer = WRITERS[kind]()
    settings = SearchOptions(beam=width, n_best=width)
    prefix = [[], [30], [], [31, 32, 33], []]
    together = search(writer, reading(*SENTENCES), settings, prefix=prefix)
    for sentence, begin, found in zip(SENTENCES, prefix, together, strict=True):
        alone = search(writer, reading(sentence), settings, prefix=[begin])[0]
        assert [one.tokens for one in found] == [one.tokens for one in alone]
        assert [one.score for one in found] == pytest.approx([one.score for one in alone], 1e-4)
    assert len({found[0].tokens for found in together}) > 1


@pytest.mark.parametrize("width", [1, 4])
def test_a_batch_is_no_more_work_than_its_sentences_alone(width):
    writer, settings = TableWriter(3, ending=2.0), SearchOptions(beam=width, n_best=width)
    search(writer, reading(*SENTENCES), settings)
    together, alone = writer.rows, [0] * len(writer.rows)
    for sentence in SENTENCES:
        writer.rows = []
        search(writer, reading(sentence), settings)
        for step, rows in enumerate(writer.rows):
            alone[step] += rows
    assert together == alone
    assert together[0] == len(SENTENCES)  # one row each before there is anything to compare
    assert max(together) <= width * len(SENTENCES) and together[-1] < max(together)


def test_a_sentence_stops_when_nothing_can_win_any_more():
    writer = TableWriter(0)
    writer.table[:] = 0.0
    writer.table[..., 2, 5] = 9.0  # after BOS a 5, and after it the end: all else is hopeless
    writer.table[..., 5, EOS] = 9.0
    settings = {"beam": 3, "length_penalty": 0.0, "max_length": 20}
    ((found,),) = search(writer, reading([6]), SearchOptions(**settings))
    assert found.tokens == (5,) and len(writer.rows) == 2
    search(writer, reading([6]), SearchOptions(n_best=3, **settings))
    assert len(writer.rows) > 2 + 2


def test_rows_that_stay_are_not_copied():
    certain = TableWriter(0)
    certain.table = torch.full_like(certain.table, -30.0)
    certain.table[..., 5] = 0.0
    search(certain, reading([5]), SearchOptions(beam=1, max_length=8))
    wanted = request(certain, reading([5]), max_length=8)
    beam(certain, wanted, beam=1)
    assert certain.selected == []


def test_what_cannot_go_on_is_given_back_unfinished():
    writer = TableWriter(0)
    writer.table[:] = -torch.inf
    writer.table[..., BOS, 5] = 0.0
    for width in (1, 3):
        (found,) = search(writer, reading([5]), SearchOptions(beam=width))
        assert [(one.tokens, one.finished) for one in found] == [((5,), False)]


def test_equal_scores_go_to_the_lower_id():
    writer = TableWriter(0, max_length=3)
    writer.table[:] = 0.0
    for width in (1, 2, 3, 7):
        settings = SearchOptions(beam=width, n_best=width, max_length=1)
        (found,) = search(writer, reading([5]), settings)
        tokens = [one.tokens for one in found]
        assert tokens == [(), (5,), (6,), (7,)][:width]
