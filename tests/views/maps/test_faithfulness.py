"""Weights against the effect of switching keys off."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from regard.attention import MultiHead, intervene
from regard.config import RnnSettings, TransformerSettings
from regard.models.batch import batch_of
from regard.tasks import build
from regard.views.maps.effects import label_score, token_scores
from regard.views.maps.faithfulness import (
    KeysOff,
    key_effects,
    rank_correlation,
    row_correlations,
)


def test_a_key_switched_off_is_as_if_it_were_not_there():
    torch.manual_seed(0)
    layer = MultiHead(8, num_heads=2).double().eval()
    query = torch.randn(1, 3, 8, dtype=torch.float64)
    memory = torch.randn(1, 4, 8, dtype=torch.float64)
    with intervene(layer, KeysOff()):
        off = layer(query.expand(4, -1, -1), memory.expand(4, -1, -1)).context
    for key in range(4):
        others = [other for other in range(4) if other != key]
        expected = layer(query, memory[:, others]).context
        torch.testing.assert_close(off[key : key + 1], expected, rtol=1e-12, atol=1e-12)


def test_without_its_only_key_a_row_has_no_context():
    layer = MultiHead(4, num_heads=1, bias=False).eval()
    with intervene(layer, KeysOff()):
        context = layer(torch.randn(1, 2, 4), torch.randn(1, 1, 4)).context
    assert not context.any()


@pytest.mark.parametrize(
    "settings",
    [
        TransformerSettings(
            dim=8,
            num_heads=2,
            num_encoder_layers=1,
            num_decoder_layers=2,
            ff=8,
            tied="none",
            max_length=16,
        ),
        *[
            RnnSettings(embedding=8, dim=8, attention_dim=8, attention=name, max_length=16)
            for name in ("bahdanau", "luong", "location", "coverage")
        ],
    ],
    ids=lambda settings: getattr(settings.attention, "name", settings.attention),
)
def test_effects_of_every_key_on_every_token(settings):
    torch.manual_seed(1)
    network = build(settings, 20, 20).eval()
    batch = batch_of([[5, 6, 7]], [[8, 9]])
    effects = key_effects(network, batch, token_scores(batch), "cross", 4)
    assert effects.shape == (4, 3)
    assert (np.abs(effects).max(1) > 0).all()
    whole = key_effects(network, batch, label_score(batch), "cross", 4)
    np.testing.assert_allclose(whole, effects.sum(1), atol=1e-5)


def test_rank_correlation_is_spearmans():
    generator = np.random.default_rng(0)
    for _ in range(20):
        first, second = generator.integers(0, 5, (2, 9)).astype(float)
        assert rank_correlation(first, second) == pytest.approx(
            spearmanr(first, second).statistic, nan_ok=True
        )
    assert np.isnan(rank_correlation(np.ones(4), np.arange(4.0)))


def test_rows_are_compared_over_what_they_see():
    first, second = np.array([[1.0, 2, 3, 9]] * 3), np.array([[5.0, 6, 7, -1]] * 3)
    visible = np.array([[True] * 4, [True] * 3 + [False], [True, True, False, False]])
    found = row_correlations(first, second, visible)
    assert found[0] < 1
    assert found[1] == pytest.approx(1)
    assert np.isnan(found[2])
