"""What an output must begin with, how long it may be, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.step_models import MODELS, TableModel, enumerated, sources
from regard.config import SearchOptions
from regard.decoding import search
from regard.errors import InputError
from regard.text import EOS, UNK

WORD = st.integers(5, 7)
CASES = st.lists(
    st.tuples(st.lists(WORD, min_size=1, max_size=4), st.lists(WORD, max_size=3)),
    min_size=1,
    max_size=4,
)
KINDS = st.sampled_from([{"beam": 1}, {"beam": 3, "n_best": 3}, {"sample": True, "n_best": 2}])


@given(st.integers(0, 1000), CASES, KINDS)
def test_prefixes_of_any_lengths_are_kept_and_counted(seed, cases, kind):
    model = TableModel(seed)
    sentences, prefix = [sentence for sentence, _ in cases], [begin for _, begin in cases]
    together = search(model, sources(*sentences), SearchOptions(**kind), prefix=prefix)
    for (sentence, begin), results in zip(cases, together, strict=True):
        assert results
        for hyp in results:
            assert list(hyp.tokens[: len(begin)]) == begin
            logs = model.logs(sentence, [*hyp.tokens, *[EOS] * hyp.finished])
            assert hyp.token_log_probabilities == pytest.approx(logs, abs=1e-5)
    if "sample" not in kind:
        for (sentence, begin), results in zip(cases, together, strict=True):
            assert (
                search(model, sources(sentence), SearchOptions(**kind), prefix=[begin])[0]
                == results
            )


@given(st.integers(0, 1000), CASES)
def test_a_wide_beam_after_a_prefix_finds_all_that_is_possible(seed, cases):
    model = TableModel(seed)
    settings = SearchOptions(beam=130, n_best=130, length_penalty=0.5, max_length=4)
    sentences, prefix = [sentence for sentence, _ in cases], [begin for _, begin in cases]
    together = search(model, sources(*sentences), settings, prefix=prefix)
    for (sentence, begin), results in zip(cases, together, strict=True):
        wanted = enumerated(model, sentence, 4, 0.5, begin)
        assert [hyp.tokens for hyp in results] == [tokens for tokens, _, _ in wanted]


@pytest.mark.parametrize("kind", MODELS)
def test_forcing_the_beginning_of_the_best_changes_nothing(kind):
    model = MODELS[kind]()
    source = sources([9, 8, 7], [12, 30])
    for width in (1, 4):
        free = search(model, source, SearchOptions(beam=width, max_length=12))
        begin = [results[0].tokens[:2] for results in free]
        forced = search(model, source, SearchOptions(beam=1, max_length=12), prefix=begin)
        if width == 1:
            assert [hyp.tokens for (hyp,) in forced] == [hyp.tokens for (hyp,) in free]


def test_one_source_many_prefixes():
    model = TableModel(5)
    begins = [[5], [6, 7], []]
    many = search(model, sources([9, 9]), SearchOptions(beam=3), prefix=begins)
    assert many == [
        search(model, sources([9, 9]), SearchOptions(beam=3), prefix=[begin])[0] for begin in begins
    ]


@pytest.mark.parametrize("kind", [{"beam": 1}, {"beam": 4}, {"sample": True}])
def test_limits(kind):
    model = TableModel(1, ending=-50.0)
    (first,), (second,) = search(model, sources([5], [5, 6, 7]), SearchOptions(**kind))
    assert (len(first.tokens), len(second.tokens)) == (2 * 2 + 10, 2 * 4 + 10)
    assert not first.finished and not second.finished
    ((short,),) = search(model, sources([5]), SearchOptions(max_length=3, **kind))
    assert len(short.tokens) == 3
    model.max_length = 4
    ((within,),) = search(model, sources([5]), SearchOptions(max_length=30, **kind))
    assert len(within.tokens) == 4 and sum(model.rows) > 0
    ((whole,),) = search(model, sources([5]), SearchOptions(max_length=2, **kind), prefix=[[6, 7]])
    assert whole.tokens == (6, 7) and not whole.finished


def test_unknown_is_written_only_on_request():
    model = TableModel(1)
    model.table[..., UNK] += 20
    for kind in ({"beam": 1}, {"beam": 3}, {"sample": True}):
        settings = SearchOptions(max_length=5, **kind)
        ((usual,),) = search(model, sources([5]), settings)
        assert UNK not in usual.tokens
        ((unknown,),) = search(model, sources([5]), settings, suppress_tokens=())
        assert set(unknown.tokens) == {UNK}
        ((forced,),) = search(model, sources([5]), settings, prefix=[[UNK]])
        assert forced.tokens[0] == UNK and UNK not in forced.tokens[1:]
        ((endless,),) = search(model, sources([5]), settings, suppress_tokens=(UNK, EOS))
        assert len(endless.tokens) == 5


def test_without_a_source():
    model = TableModel(2)
    for kind in ({"beam": 1}, {"beam": 3}, {"sample": True}):
        settings = SearchOptions(max_length=8, **kind)
        assert len(search(model, None, settings, batch=3)) == 3
        results = search(model, None, settings, prefix=[[5, 6], [7]])
        assert [hyp.tokens[0] for (hyp,) in results] == [5, 7]
        assert search(model, None, settings, prefix=[]) == []


@pytest.mark.parametrize(
    ("prefix", "settings", "message"),
    [
        ([[5], [6]], {}, "one list of ids for each of 3 sentences.*got 2"),
        ([[5] * 6, [], []], {"max_length": 5}, "sentence 0 must have at most 5 tokens, got 6"),
        ([[], [5, EOS], []], {}, "sentence 1 .*got the id 3"),
        ([[], [], [-2]], {}, "sentence 2 .*got the id -2"),
        ([[], [99], []], {}, "below 8.*got 99"),
        (None, {"n_best": 9}, "n_best=9"),
        (None, {"sample": True, "temperature": 0.0}, "temperature"),
        (None, {"sample": True, "top_p": 0.0}, "top_p"),
    ],
)
def test_what_is_wrong_is_said(prefix, settings, message):
    with pytest.raises(InputError, match=message):
        search(TableModel(), sources([5], [6], [7]), SearchOptions(**settings), prefix=prefix)


def test_a_prefix_longer_than_the_source_suggests_has_room():
    ((results,),) = search(
        TableModel(1, ending=-50.0), sources([5]), SearchOptions(), prefix=[[5] * 30]
    )
    assert len(results.tokens) == 40
