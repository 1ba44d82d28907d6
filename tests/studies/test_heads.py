"""The exact parts of the study of heads, and what it measures of a translator."""

from __future__ import annotations

import pytest
import torch

from regard.models.batch import batch_of
from regard.models.transformer import TransformerModel
from regard.studies.mechanics.fitting import num_parameters
from regard.studies.mechanics.heads.forms import HEADS, form_differences, form_seconds
from regard.studies.mechanics.heads.study import EXACT
from regard.studies.mechanics.heads.translators import (
    KINDS,
    LAYERS,
    QUICK,
    measure_self_weights,
    sentences_right,
    translator_run,
    words_right,
)

SOURCES, TARGETS = [[6, 7, 8, 9], [7, 8]], [[6, 7], [8, 9, 10]]


def network(num_heads: int) -> TransformerModel:
    torch.manual_seed(0)
    return TransformerModel(translator_run(num_heads, 0, QUICK).model, 12, 12).eval()


@pytest.mark.parametrize("num_heads", HEADS)
def test_all_forms_of_heads_are_one_layer(num_heads) -> None:
    assert max(form_differences(num_heads).values()) < EXACT


def test_forms_are_timed() -> None:
    seconds = form_seconds(2, dim=16, tokens=4, batch=1, repeats=1)
    assert set(seconds) == {"separate", "joint", "sliced"}
    assert min(seconds.values()) > 0


def test_translators_have_the_same_parameters_with_any_number_of_heads() -> None:
    assert len({num_parameters(network(num_heads)) for num_heads in HEADS}) == 1


def test_self_weights_leave_padding_out() -> None:
    model, batch = network(2), batch_of(SOURCES, TARGETS)
    alone = [measure_self_weights(model, batch_of([source], TARGETS[:1])) for source in SOURCES]
    tokens = [len(source) + 1 for source in SOURCES]  # and EOS
    together = measure_self_weights(model, batch)
    assert together.uniform == pytest.approx(2 / sum(tokens))
    for layer in range(LAYERS):
        mean = sum(
            n * figures.weights[layer] for n, figures in zip(tokens, alone, strict=True)
        ) / sum(tokens)
        assert together.weights[layer] == pytest.approx(mean, abs=1e-6)


def test_words_and_sentences_right_with_heads_off() -> None:
    model, batch = network(2), batch_of(SOURCES, TARGETS)
    answers = model(batch).argmax(-1)
    perfect = batch._replace(labels=answers.where(batch.labels != 0, batch.labels))
    assert words_right(model, perfect) == sentences_right(model, perfect) == 1.0
    every = [(kind, layer, head) for kind in KINDS for layer in range(LAYERS) for head in range(2)]
    assert words_right(model, perfect, every) < 1.0
    assert words_right(model, perfect) == 1.0
