"""The study of masks: what is exact about them, and the leak of zeros after the softmax."""

import pytest
import torch

from regard.attention import Mask, Softmax
from regard.studies.mechanics.mask import TOLERANCE, equality
from regard.studies.mechanics.masked_models import (
    WORDS,
    ZeroAfterSoftmax,
    dev_losses,
    draw_sentences,
    effect_of_the_future,
    labels_of,
    masked_model,
    train,
)
from regard.text import BOS, EOS


@pytest.fixture(scope="module")
def sentences():
    return draw_sentences(60, 20)


def test_zeros_after_the_softmax_are_the_masked_weights_once_divided_by_their_sum():
    torch.manual_seed(0)
    scores = torch.randn(2, 6, 6).double()
    keep = Mask.causal().tensor(6, 6)
    before, after = Softmax()(scores, keep), ZeroAfterSoftmax()(scores, keep)
    torch.testing.assert_close(before.sum(-1), torch.ones(2, 6).double())
    assert (after.sum(-1)[:, :-1] < 1).all()
    torch.testing.assert_close(after / after.sum(-1, keepdim=True), before)


def test_one_pass_has_the_logits_and_gradients_of_separate_passes():
    assert max(equality(length=7)) < TOLERANCE


@pytest.mark.parametrize("masking", ["before", "after", "none"])
def test_only_minus_infinity_keeps_the_future_out(masking, sentences):
    masked = masked_model(masking, len(sentences.words), 0)
    effect = effect_of_the_future(masked, sentences.dev, 0)
    losses = dev_losses(masked, sentences.dev, 0)
    assert (effect == 0.0) == (masking == "before")
    assert (losses.apparent == pytest.approx(losses.honest, abs=1e-5)) == (masking == "before")
    sums = masked.weights(sentences.dev).sum(-1)
    assert (sums[..., 0] < 0.99).any() == (masking == "after")


def test_models_differ_in_their_mask_only(sentences):
    states = [
        masked_model(masking, len(sentences.words), 3).model.state_dict()
        for masking in ("before", "after")
    ]
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_sentences_have_one_length_and_every_position_a_target(sentences):
    assert sentences.train.shape == (60, WORDS + 1)
    assert (sentences.train[:, 0] == BOS).all()
    labels = labels_of(sentences.train)
    assert (labels[:, -1] == EOS).all()
    assert torch.equal(labels[:, :-1], sentences.train[:, 1:])


def test_training_lowers_the_loss_and_is_repeatable(sentences):
    runs = []
    for _ in range(2):
        masked = masked_model("before", len(sentences.words), 0)
        start = dev_losses(masked, sentences.dev, 0).honest
        runs.append(train(masked, sentences, 6, 0, checkpoints=2, one_target=True))
    assert runs[0] == runs[1]
    assert [each.sentences for each in runs[0]] == [192, 384]
    assert runs[0][-1].honest < start
