"""Links of two directions made into one set: inclusions, growth and fixed examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.alignment.symmetrization import (
    NEIGHBORS,
    SYMMETRIZATIONS,
    grow_diag,
    grow_diag_final_and,
    intersection,
    symmetrize,
    union,
)
from regard.errors import InputError

WORDS = st.integers(0, 7)
FORWARD = st.dictionaries(WORDS, WORDS).map(lambda to: frozenset((s, t) for t, s in to.items()))
BACKWARD = st.dictionaries(WORDS, WORDS).map(lambda to: frozenset(to.items()))


@given(FORWARD, BACKWARD)
def test_each_method_contains_the_one_before(forward, backward):
    both = intersection(forward, backward)
    grown, final = grow_diag(forward, backward), grow_diag_final_and(forward, backward)
    assert both <= grown <= final <= union(forward, backward)


@given(FORWARD, BACKWARD)
def test_grown_links_touch_the_intersection(forward, backward):
    links, reached = grow_diag(forward, backward), intersection(forward, backward)
    while near := {
        (s + i, t + j)
        for s, t in reached
        for i, j in NEIGHBORS
        if (s + i, t + j) in links - reached
    }:
        reached |= near
    assert reached == links


@given(FORWARD, BACKWARD)
def test_final_links_are_between_words_without_links(forward, backward):
    grown = grow_diag(forward, backward)
    added = grow_diag_final_and(forward, backward) - grown
    assert not {s for s, _ in added} & {s for s, _ in grown}
    assert not {t for _, t in added} & {t for _, t in grown}
    assert len({s for s, _ in added}) == len({t for _, t in added}) == len(added)


@given(FORWARD, BACKWARD)
def test_no_word_with_a_candidate_beside_a_link_is_left_out(forward, backward):
    """Growing ends only when no neighbor is left that would link a word for the first time."""
    links = grow_diag(forward, backward)
    sources, targets = {s for s, _ in links}, {t for _, t in links}
    near = {(s + i, t + j) for s, t in links for i, j in NEIGHBORS}
    for s, t in near & (union(forward, backward) - links):
        assert s in sources
        assert t in targets


@given(FORWARD, BACKWARD, st.sampled_from(["intersection", "union", "grow-diag"]))
def test_directions_may_be_exchanged(forward, backward, method):
    def reverse(links):
        return frozenset((t, s) for s, t in links)

    function = SYMMETRIZATIONS[method]
    if method == "grow-diag":  # the order of growth differs, what it starts from does not
        assert function(forward, backward) == function(backward, forward)
    else:
        assert function(reverse(backward), reverse(forward)) == reverse(function(forward, backward))


def test_an_example():
    forward = {(0, 0), (1, 1), (1, 2), (4, 4), (6, 5)}
    backward = {(0, 0), (1, 1), (2, 2), (3, 4), (4, 4), (7, 7)}
    found = {name: symmetrize([forward], [backward], name)[0] for name in SYMMETRIZATIONS}
    assert found["intersection"] == {(0, 0), (1, 1), (4, 4)}
    assert found["grow-diag"] == {(0, 0), (1, 1), (1, 2), (2, 2), (3, 4), (4, 4)}
    assert found["grow-diag-final-and"] == found["grow-diag"] | {(6, 5), (7, 7)}
    assert found["union"] == forward | backward


def test_unknown_method():
    with pytest.raises(InputError, match="must be one of intersection, union"):
        symmetrize([], [], "grow")
