"""Beam search: against every possible output, a reference beam, alone and in a batch."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from decoding.step_models import (
    MODELS,
    SENTENCES,
    WORDS,
    TableModel,
    enumerated,
    reference_beam,
    sources,
)
from regard.config import SearchOptions
from regard.decoding import beam_search, greedy, prepare_request, search
from regard.text import BOS, EOS

SEEDS = st.integers(0, 10_000)
ALPHAS = st.sampled_from([0.0, 0.6, 1.0, 2.0])
SOURCES = st.lists(st.lists(st.integers(5, 20), min_size=1, max_size=4), min_size=1, max_size=4)
GRAINS = st.sampled_from([None, 2.0])


def same(results, expected):
    assert [(hyp.tokens, hyp.finished) for hyp in results] == [(t, end) for t, _, end in expected]
    assert [hyp.score for hyp in results] == pytest.approx(
        [score for _, score, _ in expected], 1e-5, 1e-5
    )


@given(SEEDS, SOURCES, ALPHAS, st.integers(1, 4))
def test_a_wide_beam_finds_all_that_is_possible(seed, sentences, alpha, limit):
    model = TableModel(seed)
    results = search(
        model,
        sources(*sentences),
        SearchOptions(beam=130, n_best=130, length_penalty=alpha, max_length=limit),
    )
    for sentence, hypotheses in zip(sentences, results, strict=True):
        same(hypotheses, enumerated(model, sentence, limit, alpha))


@given(SEEDS, SOURCES, ALPHAS, st.integers(2, 5), st.sampled_from([0.0, 3.0]))
def test_a_narrow_beam_is_the_one_by_hand(seed, sentences, alpha, width, ending):
    model = TableModel(seed, ending=ending)
    settings = SearchOptions(beam=width, n_best=width, length_penalty=alpha, max_length=6)
    results = search(model, sources(*sentences), settings)
    for sentence, hypotheses in zip(sentences, results, strict=True):
        same(hypotheses, reference_beam(model, sentence, 6, alpha, width))


@given(SEEDS, SOURCES, ALPHAS, GRAINS)
def test_a_beam_of_one_is_greedy(seed, sentences, alpha, grain):
    model = TableModel(seed, grain=grain)
    request = prepare_request(model, sources(*sentences), max_length=9)
    narrow = beam_search(model, request, SearchOptions(beam=1, length_penalty=alpha))
    assert [[hyp] for hyp in greedy(model, request, length_penalty=alpha)] == narrow


@given(SEEDS, SOURCES, ALPHAS, st.integers(2, 6), GRAINS)
def test_alone_as_in_a_batch(seed, sentences, alpha, width, grain):
    model = TableModel(seed, grain=grain)
    settings = SearchOptions(beam=width, n_best=width, length_penalty=alpha)
    together = search(model, sources(*sentences), settings)
    alone = [search(model, sources(sentence), settings)[0] for sentence in sentences]
    assert together == alone


@given(SEEDS, SOURCES, ALPHAS, st.integers(2, 6), GRAINS)
def test_stopping_early_changes_nothing(seed, sentences, alpha, width, grain):
    model = TableModel(seed, grain=grain, ending=1.0)
    many, single = (
        search(
            model,
            sources(*sentences),
            SearchOptions(beam=width, n_best=n_best, length_penalty=alpha, max_length=12),
        )
        for n_best in (width, 1)
    )
    assert [results[:1] for results in many] == single


@given(SEEDS, SOURCES, ALPHAS, st.integers(1, 6), GRAINS)
def test_n_best_are_sorted_different_and_plain(seed, sentences, alpha, width, grain):
    model = TableModel(seed, grain=grain)
    settings = SearchOptions(beam=max(width, 2), n_best=max(width, 2), length_penalty=alpha)
    for sentence, results in zip(
        sentences, search(model, sources(*sentences), settings), strict=True
    ):
        limit = 2 * (len(sentence) + 1) + 10
        assert len({(hyp.tokens, hyp.finished) for hyp in results}) == len(results) >= 1
        order = [-hyp.score for hyp in results]
        assert order == sorted(order)
        for hyp in results:
            assert set(hyp.tokens) <= set(WORDS)
            assert len(hyp.token_log_probabilities) == len(hyp.tokens) + hyp.finished
            assert len(hyp.tokens) < limit if hyp.finished else len(hyp.tokens) == limit
            logs = model.logs(sentence, [*hyp.tokens, *[EOS] * hyp.finished])
            assert hyp.token_log_probabilities == pytest.approx(logs, abs=1e-5)
            assert hyp.log_probability == pytest.approx(sum(logs), abs=1e-4)


@given(SEEDS, SOURCES)
def test_no_finished_sample_or_greedy_output_beats_a_wide_beam(seed, sentences):
    model = TableModel(seed, ending=1.0)
    source = sources(*sentences)
    (wide, narrow, sampled) = (
        search(model, source, SearchOptions(length_penalty=0.0, max_length=4, **more))
        for more in ({"beam": 130}, {"beam": 1}, {"sample": True, "n_best": 5})
    )
    for best, *rivals in zip(wide, narrow, sampled, strict=True):
        for rival in (rival for results in rivals for rival in results if rival.finished):
            assert best[0].log_probability >= rival.log_probability - 1e-5


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("width", [1, 4])
def test_every_kind_of_model_alone_as_in_a_batch(kind, width):
    model = MODELS[kind]()
    settings = SearchOptions(beam=width, n_best=width)
    prefix = [[], [30], [], [31, 32, 33], []]
    together = search(model, sources(*SENTENCES), settings, prefix=prefix)
    for sentence, begin, results in zip(SENTENCES, prefix, together, strict=True):
        alone = search(model, sources(sentence), settings, prefix=[begin])[0]
        assert [hyp.tokens for hyp in results] == [hyp.tokens for hyp in alone]
        assert [hyp.score for hyp in results] == pytest.approx([hyp.score for hyp in alone], 1e-4)
    assert len({results[0].tokens for results in together}) > 1


@pytest.mark.parametrize("width", [1, 4])
def test_a_batch_is_no_more_work_than_its_sentences_alone(width):
    model, settings = TableModel(3, ending=2.0), SearchOptions(beam=width, n_best=width)
    search(model, sources(*SENTENCES), settings)
    together, alone = model.rows, [0] * len(model.rows)
    for sentence in SENTENCES:
        model.rows = []
        search(model, sources(sentence), settings)
        for step, rows in enumerate(model.rows):
            alone[step] += rows
    assert together == alone
    assert together[0] == len(SENTENCES)  # one row each before there is anything to compare
    assert max(together) <= width * len(SENTENCES) and together[-1] < max(together)


def test_a_sentence_stops_when_nothing_can_win_any_more():
    model = TableModel(0)
    model.table[:] = 0.0
    model.table[..., 2, 5] = 9.0  # after BOS a 5, and after it the end: all else is hopeless
    model.table[..., 5, EOS] = 9.0
    settings = {"beam": 3, "length_penalty": 0.0, "max_length": 20}
    ((results,),) = search(model, sources([6]), SearchOptions(**settings))
    assert results.tokens == (5,) and len(model.rows) == 2
    search(model, sources([6]), SearchOptions(n_best=3, **settings))
    assert len(model.rows) > 2 + 2


def test_rows_that_stay_are_not_copied():
    certain = TableModel(0)
    certain.table = torch.full_like(certain.table, -30.0)
    certain.table[..., 5] = 0.0
    search(certain, sources([5]), SearchOptions(beam=1, max_length=8))
    request = prepare_request(certain, sources([5]), max_length=8)
    beam_search(certain, request, SearchOptions(beam=1))
    assert certain.selected == []


def test_what_cannot_go_on_is_given_back_unfinished():
    model = TableModel(0)
    model.table[:] = -torch.inf
    model.table[..., BOS, 5] = 0.0
    for width in (1, 3):
        (results,) = search(model, sources([5]), SearchOptions(beam=width))
        assert [(hyp.tokens, hyp.finished) for hyp in results] == [((5,), False)]


def test_equal_scores_go_to_the_lower_id():
    model = TableModel(0, max_length=3)
    model.table[:] = 0.0
    for width in (1, 2, 3, 7):
        settings = SearchOptions(beam=width, n_best=width, max_length=1)
        (results,) = search(model, sources([5]), settings)
        tokens = [hyp.tokens for hyp in results]
        assert tokens == [(), (5,), (6,), (7,)][:width]
