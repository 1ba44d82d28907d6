"""The exact parts of the study of weaknesses, and its tasks."""

from __future__ import annotations

import pytest
import torch

from regard.attention import Sigmoid, Softmax
from regard.studies.estimates import Estimate
from regard.studies.mechanics.fitting import NO_ANSWER, accuracy, fit, num_parameters
from regard.studies.mechanics.weaknesses.study import asymmetry, cured, repeated_context
from regard.studies.mechanics.weaknesses.tasks import (
    LENGTHS,
    MAX_COUNT,
    NUM_TOKENS,
    WEAKNESSES,
    linked_value,
    same_kind,
    several_values,
    which_first,
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_one_vector_in_all_roles_scores_both_directions_equally() -> None:
    assert asymmetry(torch.randn(8, 16, generator=generator(), dtype=torch.float64)) == 0.0


def test_softmax_does_not_count_copies_and_sigmoid_does() -> None:
    x = torch.randn(5, 8, generator=generator(), dtype=torch.float64)
    shares, independent = Softmax(), Sigmoid(bias=0.0)
    torch.testing.assert_close(
        repeated_context(x, 3, shares), repeated_context(x, 1, shares), rtol=1e-12, atol=1e-12
    )
    torch.testing.assert_close(
        repeated_context(x, 3, independent),
        3 * repeated_context(x, 1, independent),
        rtol=1e-12,
        atol=1e-12,
    )


def test_linked_values_follow_the_links() -> None:
    one, two = linked_value(20, generator()), linked_value(20, generator(), hops=2)
    assert torch.equal(one.fields, two.fields)
    for fields, near, far in zip(one.fields, one.labels, two.labels, strict=True):
        at = {int(name): row for row, name in enumerate(fields[:, 0])}
        for row in range(NUM_TOKENS):
            linked = at[int(fields[row, 1])]
            assert linked != row
            assert near[row] == fields[linked, 2]
            assert far[row] == fields[at[int(fields[linked, 1])], 2]


def test_several_values_are_in_the_order_of_their_names() -> None:
    examples = several_values(10, generator())
    for fields, answers in zip(examples.fields, examples.labels, strict=True):
        values = {int(name): int(value) for name, value in fields[:, [0, -1]]}
        for row, wanted in zip(answers, fields[:, 1:-1], strict=True):
            assert row.tolist() == [values[int(name)] for name in wanted]


def test_marks_say_which_comes_first() -> None:
    examples = which_first(50, generator())
    for ids, labels in zip(examples.fields[..., 0], examples.labels[..., 0], strict=True):
        first, second = (labels != NO_ANSWER).nonzero().flatten().tolist()
        assert set(ids[[first, second]].tolist()) == {8, 9}
        assert (labels[first], labels[second]) == (1, 0)


def test_tokens_count_their_kind() -> None:
    examples = same_kind(50, generator())
    assert examples.lengths is not None
    assert LENGTHS[0] <= int(examples.lengths.min()) and int(examples.lengths.max()) <= LENGTHS[1]
    for kinds, labels, length in zip(
        examples.fields[..., 0], examples.labels[..., 0], examples.lengths, strict=True
    ):
        seen = kinds[:length].tolist()
        counts = [min(seen.count(kind), MAX_COUNT) - 1 for kind in seen]
        assert labels.tolist() == counts + [NO_ANSWER] * (len(kinds) - len(seen))


@pytest.mark.parametrize("weakness", WEAKNESSES, ids=lambda weakness: weakness.key)
def test_every_variant_learns_and_the_plain_one_is_not_smaller(weakness) -> None:
    plain, *others = [each.build() for each in (weakness.plain, *weakness.cures)]
    examples = weakness.draw(16, generator(1))
    for model in (plain, *others):
        fit(model, weakness.draw, steps=2, seed=0, batch=8)
        assert 0 <= accuracy(model, examples) <= 1
    assert num_parameters(plain) >= max(map(num_parameters, others))


def test_without_positions_the_marks_cannot_know_their_order() -> None:
    torch.manual_seed(0)
    model = WEAKNESSES[0].plain.build().double()
    fields = which_first(4, generator()).fields
    order = torch.randperm(NUM_TOKENS, generator=generator(2))
    torch.testing.assert_close(model(fields)[:, order], model(fields[:, order]))


def test_a_cure_must_lie_above_the_interval() -> None:
    plain = Estimate(0.5, 0.4, 0.6)
    assert cured(plain, [Estimate(0.9, 0.8, 1.0)])
    assert not cured(plain, [Estimate(0.9, 0.8, 1.0), Estimate(0.7, 0.6, 0.8)])
