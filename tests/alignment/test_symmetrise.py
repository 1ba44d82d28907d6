"""Two directions into one: hand-worked cases, and what holds for all links."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.alignment import grow_diag, grow_diag_final_and, intersection, union

LINKS = st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20)


def test_by_hand():
    #   targets 0 1 2 3      x both, f forward only, b backward only
    # 0         x . . .
    # 1         . f . .      touches (0, 0) by a corner, and both its words are free
    # 2         . . . b      touches nothing that is in
    # 3         f . . b
    forward, backward = {(0, 0), (1, 1), (3, 0)}, {(0, 0), (2, 3), (3, 3)}
    assert intersection(forward, backward) == {(0, 0)}
    assert grow_diag(forward, backward) == {(0, 0), (1, 1)}
    # 3-0 has a target that is taken; 2-3 is free; then 3-3 has not.
    assert grow_diag_final_and(forward, backward) == {(0, 0), (1, 1), (2, 3)}
    assert union(forward, backward) == forward | backward


def test_growth_goes_on_from_what_has_grown():
    forward, backward = {(0, 0), (1, 1), (2, 2), (3, 3)}, {(0, 0)}
    assert grow_diag(forward, backward) == forward


@given(LINKS, LINKS)
def test_each_holds_the_one_before(forward, backward):
    steps = [rule(forward, backward) for rule in
             (intersection, grow_diag, grow_diag_final_and, union)]  # fmt: skip
    assert steps[0] <= steps[1] <= steps[2] <= steps[3]


@given(LINKS, LINKS)
def test_what_growth_may_add(forward, backward):
    core, grown = intersection(forward, backward), grow_diag(forward, backward)
    if not core:
        assert not grown
    near = {(s + d, t + r) for s, t in grown for d in (-1, 0, 1) for r in (-1, 0, 1) if d or r}
    assert grown - core <= near


@pytest.mark.parametrize("rule", [intersection, union, grow_diag, grow_diag_final_and])
@given(LINKS)
def test_two_that_are_equal_stay(rule, links):
    assert rule(links, links) == links
