"""Minimum length, n-grams that must not repeat, bans: in every kind of search."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.step_models import MODELS, SENTENCES, TableModel, enumerated, sources
from regard.config import SearchOptions
from regard.decoding import search, stream
from regard.errors import InputError
from regard.text import EOS

SEEDS = st.integers(0, 10_000)
SOURCES = st.lists(st.lists(st.integers(5, 20), min_size=1, max_size=4), min_size=1, max_size=3)
KINDS = st.sampled_from([{"beam": 1}, {"beam": 3, "n_best": 3}, {"sample": True, "n_best": 2}])


def ngrams(tokens, size):
    return [tokens[first : first + size] for first in range(len(tokens) - size + 1)]


def allowed(tokens, finished, size, shortest):
    repeats = size > 0 and len(set(ngrams(tokens, size))) < len(ngrams(tokens, size))
    return not repeats and not (finished and len(tokens) < shortest)


@given(SEEDS, SOURCES, KINDS, st.integers(0, 3), st.integers(0, 6))
def test_promises_hold_in_every_search(seed, sentences, kind, size, shortest):
    model = TableModel(seed, ending=1.0)
    settings = SearchOptions(no_repeat_ngram=size, min_length=shortest, **kind)
    together = search(model, sources(*sentences), settings)
    for sentence, results in zip(sentences, together, strict=True):
        assert results
        for hyp in results:
            assert allowed(hyp.tokens, hyp.finished, size, shortest)
            logs = model.logs(sentence, [*hyp.tokens, *[EOS] * hyp.finished])
            assert hyp.token_log_probabilities == pytest.approx(logs, abs=1e-5)


@settings(max_examples=30)
@given(SEEDS, SOURCES, st.integers(0, 3), st.integers(0, 4))
def test_a_wide_beam_finds_all_that_is_allowed(seed, sentences, size, shortest):
    model = TableModel(seed)
    options = SearchOptions(
        beam=130, n_best=130, max_length=4, no_repeat_ngram=size, min_length=shortest
    )
    for sentence, results in zip(
        sentences, search(model, sources(*sentences), options), strict=True
    ):
        found = {(hyp.tokens, hyp.finished) for hyp in results}
        possible = enumerated(model, sentence, 4, 1.0)
        assert {(t, end) for t, _, end in possible if allowed(t, end, size, shortest)} <= found
        for tokens, finished in found:  # nothing else but what no token can continue
            assert allowed(tokens, finished, size, shortest)


@given(SEEDS, SOURCES, KINDS)
def test_options_that_forbid_nothing_change_nothing(seed, sentences, kind):
    model = TableModel(seed)
    plain = search(model, sources(*sentences), SearchOptions(**kind))
    for more in ({"no_repeat_ngram": 0, "min_length": 0}, {"no_repeat_ngram": 60}):
        assert search(model, sources(*sentences), SearchOptions(**kind, **more)) == plain
    assert search(model, sources(*sentences), SearchOptions(**kind), bans=[lambda _: ()]) == plain


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("width", [1, 4])
def test_every_kind_of_model(kind, width):
    model = MODELS[kind]()
    settings = SearchOptions(beam=width, no_repeat_ngram=1, min_length=9, max_length=12)
    for (hyp,) in search(model, sources(*SENTENCES), settings):
        assert len(set(hyp.tokens)) == len(hyp.tokens) >= 9


@given(SEEDS, st.lists(st.integers(5, 7), max_size=5))
def test_a_prefix_may_repeat_and_counts(seed, begin):
    model = TableModel(seed)
    for kind in ({"beam": 1}, {"beam": 3}, {"sample": True}):
        settings = SearchOptions(no_repeat_ngram=2, max_length=12, **kind)
        (results,) = search(model, sources([5]), settings, prefix=[begin])
        for hyp in results:
            assert list(hyp.tokens[: len(begin)]) == begin
            written = ngrams(hyp.tokens, 2)
            for place in range(max(len(begin) - 1, 0), len(written)):
                assert written[place] not in written[:place]


def test_a_stream_is_greedy_search():
    model, settings = TableModel(3), SearchOptions(beam=1, no_repeat_ngram=2, min_length=4)
    bans = [lambda tokens: (5,) if len(tokens) == 1 else ()]
    ((hyp,),) = search(model, sources([9]), settings, bans=bans)
    streamed = [step.token for step in stream(model, sources([9]), settings, bans=bans)]
    assert streamed == [*hyp.tokens, *[EOS] * hyp.finished]
    assert hyp.tokens[1] != 5


def test_a_minimum_above_the_maximum_is_cut_off():
    for kind in ({"beam": 1}, {"beam": 3}, {"sample": True}):
        settings = SearchOptions(min_length=9, max_length=4, **kind)
        ((hyp,),) = search(TableModel(1, ending=5.0), sources([5]), settings)
        assert len(hyp.tokens) == 4 and not hyp.finished


@pytest.mark.parametrize("name", ["min_length", "no_repeat_ngram"])
def test_negative_numbers_are_refused(name):
    with pytest.raises(InputError, match=f"decoding.{name} must be at least 0, got -1"):
        SearchOptions(**{name: -1})
