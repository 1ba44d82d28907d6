"""The exact parts of the study of order, and its tasks."""

from __future__ import annotations

import pytest
import torch

from regard.studies.mechanics.fitting import NO_ANSWER, accuracy
from regard.studies.mechanics.order.findings import EXACT
from regard.studies.mechanics.order.study import attention_differences, network_difference
from regard.studies.mechanics.order.tasks import (
    ENCODERS,
    HISTORY,
    NUM_DRUGS,
    READERS,
    SCHEMES,
    SIDE,
    HistoryNetwork,
    ImageNetwork,
    SequenceNetwork,
    image_examples,
    images,
    patient_history,
    previous_token,
)
from regard.text.tokenizer import SPECIALS


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_attention_without_positions_is_equivariant_for_every_score_and_normalizer() -> None:
    differences = attention_differences()
    assert len(differences) >= 20
    assert max(differences.values()) < EXACT


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_only_no_positions_and_no_mask_leave_order_out(scheme, causal) -> None:
    difference, _ = network_difference(scheme, causal=causal)
    if scheme == "none" and not causal:
        assert difference < EXACT
    else:
        assert difference > 1e-3


def test_alibi_without_a_mask_cannot_tell_left_from_right() -> None:
    torch.manual_seed(0)
    network = SequenceNetwork("alibi", causal=False).double().eval()
    tokens = previous_token(9)(2, generator()).fields
    torch.testing.assert_close(network(tokens.flip(1)), network(tokens).flip(1))


def test_previous_token() -> None:
    examples = previous_token(5)(3, generator())
    tokens, labels = examples.fields[..., 0], examples.labels[..., 0]
    assert tokens.shape == (3, 6)
    assert (labels[:, :2] == NO_ANSWER).all()
    assert torch.equal(labels[:, 2:], tokens[:, 1:-1])


@pytest.mark.parametrize("ordered", [False, True])
def test_histories_have_the_pair_their_label_says(ordered) -> None:
    examples = patient_history(ordered=ordered)(300, generator())
    assert 0.4 < examples.labels.float().mean() < 0.6
    for tokens, label, length in zip(
        examples.fields[..., 0], examples.labels.flatten(), examples.lengths, strict=True
    ):
        assert HISTORY[0] <= length <= HISTORY[1]
        events = (tokens[:length] - len(SPECIALS)).tolist()
        pairs = [n for n in range(NUM_DRUGS) if n in events and n + NUM_DRUGS in events]
        if ordered:
            assert len(pairs) == 1
            drug, effect = (events.index(pairs[0] + side) for side in (0, NUM_DRUGS))
            assert (drug < effect) == bool(label)
        else:
            assert len(pairs) == label


@pytest.mark.parametrize("encoder", ENCODERS)
def test_histories_are_classified(encoder) -> None:
    torch.manual_seed(0)
    model = HistoryNetwork(encoder).eval()
    assert 0 <= accuracy(model, patient_history(ordered=True)(20, generator())) <= 1
    fields, _, lengths = patient_history(ordered=True)(20, generator())
    whole = torch.full_like(lengths, HISTORY[1])
    fields = fields.clamp(min=len(SPECIALS))  # no padding, so that all events may be permuted
    order = torch.randperm(HISTORY[1], generator=generator())
    same = torch.allclose(model(fields, whole), model(fields[:, order], whole), atol=1e-5)
    assert same == (encoder == "attention")


@pytest.mark.parametrize("reader", READERS)
def test_images_are_read_and_shuffled_by_one_order(reader) -> None:
    data = images(8, 0)
    plain, shuffled = (image_examples(data, shuffled=each) for each in (False, True))
    torch.manual_seed(0)
    assert ImageNetwork(reader)(plain.fields).shape == (8, 1, 1, 4)
    assert plain.fields.shape == shuffled.fields.shape == (8, 3, SIDE, SIDE)
    assert not torch.equal(plain.fields, shuffled.fields)
    assert torch.equal(
        plain.fields.flatten(2).sort(-1).values, shuffled.fields.flatten(2).sort(-1).values
    )
