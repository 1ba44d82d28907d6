"""What an output must begin with, how long it may be, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.writers import EOS, UNK, WRITERS, TableWriter, enumerated, reading
from regard.config import SearchOptions
from regard.decoding import search
from regard.errors import InputError

WORD = st.integers(5, 7)
ASKED = st.lists(
    st.tuples(st.lists(WORD, min_size=1, max_size=4), st.lists(WORD, max_size=3)),
    min_size=1, max_size=4,
)  # fmt: skip
KINDS = st.sampled_from([{"beam": 1}, {"beam": 3, "n_best": 3}, {"sample": True, "n_best": 2}])


@given(st.integers(0, 1000), ASKED, KINDS)
def test_prefixes_of_any_lengths_are_kept_and_counted(seed, asked, kind):
    writer = TableWriter(seed)
    sentences, prefix = [one for one, _ in asked], [begin for _, begin in asked]
    together = search(writer, reading(*sentences), SearchOptions(**kind), prefix=prefix)
    for (sentence, begin), found in zip(asked, together, strict=True):
        assert found
        for one in found:
            assert list(one.tokens[: len(begin)]) == begin
            logs = writer.logs(sentence, [*one.tokens, *[EOS] * one.finished])
            assert one.token_log_probabilities == pytest.approx(logs, abs=1e-5)
    if "sample" not in kind:
        for (sentence, begin), found in zip(asked, together, strict=True):
            assert (
                search(writer, reading(sentence), SearchOptions(**kind), prefix=[begin])[0] == found
            )


@given(st.integers(0, 1000), ASKED)
def test_a_wide_beam_after_a_prefix_finds_all_that_is_possible(seed, asked):
    writer = TableWriter(seed)
    settings = SearchOptions(beam=130, n_best=130, length_penalty=0.5, max_length=4)
    sentences, prefix = [one for one, _ in asked], [begin for _, begin in asked]
    together = search(writer, reading(*sentences), settings, prefix=prefix)
    for (sentence, begin), found in zip(asked, together, strict=True):
        wanted = enumerated(writer, sentence, 4, 0.5, begin)
        assert [one.tokens for one in found] == [tokens for tokens, _, _ in wanted]


@pytest.mark.parametrize("kind", WRITERS)
def test_forcing_the_beginning_of_the_best_changes_nothing(kind):
    writer = WRITERS[kind]()
    source = reading([9, 8, 7], [12, 30])
    for width in (1, 4):
        free = search(writer, source, SearchOptions(beam=width, max_length=12))
        begin = [found[0].tokens[:2] for found in free]
        forced = search(writer, source, SearchOptions(beam=1, max_length=12), prefix=begin)
        if width == 1:
            assert [one.tokens for (one,) in forced] == [one.tokens for (one,) in free]


def test_one_source_many_prefixes():
    writer = TableWriter(5)
    begins = [[5], [6, 7], []]
    many = search(writer, reading([9, 9]), SearchOptions(beam=3), prefix=begins)
    assert many == [
        search(writer, reading([9, 9]), SearchOptions(beam=3), prefix=[begin])[0]
        for begin in begins
    ]


@pytest.mark.parametrize("kind", [{"beam": 1}, {"beam": 4}, {"sample": True}])
def test_limits(kind):
    writer = TableWriter(1, ending=-50.0)
    (one,), (two,) = search(writer, reading([5], [5, 6, 7]), SearchOptions(**kind))
    assert (len(one.tokens), len(two.tokens)) == (2 * 2 + 10, 2 * 4 + 10)
    assert not one.finished and not two.finished
    ((short,),) = search(writer, reading([5]), SearchOptions(max_length=3, **kind))
    assert len(short.tokens) == 3
    writer.max_length = 4
    ((within,),) = search(writer, reading([5]), SearchOptions(max_length=30, **kind))
    assert len(within.tokens) == 4 and sum(writer.rows) > 0
    ((whole,),) = search(writer, reading([5]), SearchOptions(max_length=2, **kind), prefix=[[6, 7]])
    assert whole.tokens == (6, 7) and not whole.finished


def test_unknown_is_written_only_on_request():
    writer = TableWriter(1)
    writer.table[..., UNK] += 20
    for kind in ({"beam": 1}, {"beam": 3}, {"sample": True}):
        settings = SearchOptions(max_length=5, **kind)
        ((usual,),) = search(writer, reading([5]), settings)
        assert UNK not in usual.tokens
        ((asked,),) = search(writer, reading([5]), settings, never=())
        assert set(asked.tokens) == {UNK}
        ((forced,),) = search(writer, reading([5]), settings, prefix=[[UNK]])
        assert forced.tokens[0] == UNK and UNK not in forced.tokens[1:]
        ((endless,),) = search(writer, reading([5]), settings, never=(UNK, EOS))
        assert len(endless.tokens) == 5


def test_without_a_source():
    writer = TableWriter(2)
    for kind in ({"beam": 1}, {"beam": 3}, {"sample": True}):
        settings = SearchOptions(max_length=8, **kind)
        assert len(search(writer, None, settings, batch=3)) == 3
        found = search(writer, None, settings, prefix=[[5, 6], [7]])
        assert [one.tokens[0] for (one,) in found] == [5, 7]
        assert search(writer, None, settings, prefix=[]) == []


@pytest.mark.parametrize(
    ("prefix", "settings", "message"),
    [
        ([[5], [6]], {}, "2 prefixes for 3"),
        ([[5] * 6, [], []], {"max_length": 5}, "sentence 0 has 6 tokens.* may have 5"),
        ([[], [5, EOS], []], {}, "sentence 1 has the id 3"),
        ([[], [], [-2]], {}, "sentence 2 has the id -2"),
        ([[], [99], []], {}, "id 99.*8 tokens"),
        (None, {"n_best": 9}, "n_best is 9"),
        (None, {"sample": True, "temperature": 0.0}, "temperature"),
        (None, {"sample": True, "top_p": 0.0}, "top_p"),
    ],
)
def test_what_is_wrong_is_said(prefix, settings, message):
    with pytest.raises(InputError, match=message):
        search(TableWriter(), reading([5], [6], [7]), SearchOptions(**settings), prefix=prefix)


def test_a_prefix_longer_than_the_source_suggests_has_room():
    ((found,),) = search(
        TableWriter(1, ending=-50.0), reading([5]), SearchOptions(), prefix=[[5] * 30]
    )
    assert len(found.tokens) == 40
