"""The learning rate over a run, by updates and by share."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.config import TrainingSettings
from regard.training.optimizers.schedule import ScheduleProgress, learning_rate

SCHEDULES = ("inverse_sqrt", "cosine", "linear", "constant")


def rates(steps=100, **settings):
    run = TrainingSettings(steps=steps, learning_rate=2.0, **settings)
    return [learning_rate(run, ScheduleProgress(n, n / steps)) for n in range(steps)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_warm_up_in_updates_is_a_straight_line_to_the_highest(schedule):
    found = rates(schedule=schedule, warmup=10)
    assert found[:10] == pytest.approx([0.2 * n for n in range(1, 11)])
    assert max(found) == pytest.approx(2.0)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_warm_up_by_share_is_a_straight_line_to_the_highest(schedule):
    found = rates(schedule=schedule, warmup=0.2)
    assert found[1:20] == pytest.approx([0.1 * n for n in range(1, 20)])
    assert 0 < found[0] <= 0.1  # the first update must do something
    assert found[20] == pytest.approx(2.0)


@pytest.mark.parametrize("warmup", [10, 0.1])
def test_the_ends(warmup):
    last = ScheduleProgress(100, 1.0)
    end = {
        schedule: learning_rate(
            TrainingSettings(steps=100, learning_rate=2.0, schedule=schedule, warmup=warmup), last
        )
        for schedule in SCHEDULES
    }
    assert end["linear"] == pytest.approx(0, abs=1e-9)
    assert end["cosine"] == pytest.approx(0, abs=1e-9)
    assert end["constant"] == 2.0
    assert end["inverse_sqrt"] == pytest.approx(2 / math.sqrt(10), rel=0.01)


def test_in_the_middle():
    assert rates(schedule="linear", warmup=0)[50] == pytest.approx(1.0)
    assert rates(schedule="cosine", warmup=0)[50] == pytest.approx(1.0)
    assert rates(schedule="cosine", warmup=0)[25] == pytest.approx(1 + math.cos(math.pi / 4))
    sqrt = rates(schedule="inverse_sqrt", warmup=4)
    assert sqrt[15] == pytest.approx(2 * math.sqrt(4 / 16))


@given(
    schedule=st.sampled_from(SCHEDULES),
    warmup=st.one_of(st.integers(1, 60), st.floats(0, 0.9)),
)
def test_it_rises_then_never_again(schedule, warmup):
    found = rates(schedule=schedule, warmup=warmup)
    top = found.index(max(found))
    assert all(b >= a - 1e-9 for a, b in pairwise(found[: top + 1]))
    assert all(b <= a + 1e-9 for a, b in pairwise(found[top:]))
    assert all(0 <= rate <= 2.0 + 1e-9 for rate in found)


def test_by_a_time_budget_only_the_share_counts():
    run = TrainingSettings(minutes=30, learning_rate=1.0, schedule="linear", warmup=0.1)
    assert learning_rate(run, ScheduleProgress(7, 0.55)) == learning_rate(
        run, ScheduleProgress(7000, 0.55)
    )
    assert learning_rate(run, ScheduleProgress(7, 0.55)) == pytest.approx(0.5)
