"""The study of sentence lengths: its sentences, its verdicts, and trainings that repeat."""

import pytest

from regard.config import RnnSettings
from regard.studies.translators.length import BUCKETS, NETWORKS, LengthResult, claims, draw_pairs
from regard.studies.translators.word_translator import (
    encode_words,
    new_translator,
    train_translator,
)
from regard.text.words import count_words


def results(bleu_fixed, bleu_attention):
    """Three seeds of every network, a little apart."""
    return {
        name: [
            LengthResult(
                [value + seed / 10 for value in (bleu_fixed if network.fixed else bleu_attention)],
                [0.5] * len(BUCKETS),
                1000,
                1.0,
            )
            for seed in range(3)
        ]
        for name, network in NETWORKS.items()
    }


def test_the_first_claim_holds_only_if_the_intervals_are_apart():
    falling, level = [60, 50, 40, 30, 20, 10], [90, 90, 90, 90, 90, 89]
    assert claims(results(falling, level))[0].holds
    assert not claims(results(level, level))[0].holds
    assert not claims(results(level, falling))[0].holds
    assert "17" in claims(results(falling, level))[0].measured.en  # 10 of 60


def test_buckets_have_their_lengths_and_about_the_same_number_of_words():
    drawn = draw_pairs("train", 60, 0, even_words=True)
    words = []
    for (low, high), pairs in zip(BUCKETS, drawn, strict=True):
        lengths = [count_words(pair.source, "en") for pair in pairs]
        assert low <= min(lengths)
        assert max(lengths) <= high
        words.append(sum(lengths))
    assert max(words) < 1.6 * min(words)


def test_a_training_depends_on_its_seed_alone():
    pairs = draw_pairs("train", 20, 0, even_words=True)[0]
    corpus = encode_words(pairs)
    settings = RnnSettings(embedding=8, dim=8, attention_dim=8, dropout=0.1)

    def trained(seed):
        options = {"steps": 3, "batch_tokens": 200, "rate": 1e-2, "seed": seed}
        return train_translator(new_translator(corpus, settings, **options))

    first, again, other = trained(0), trained(0), trained(1)
    assert len(first.losses) == 3
    assert first.losses == again.losses != other.losses
    assert first.translate(["The cat sleeps."]) == again.translate(["The cat sleeps."])
    assert first.num_parameters == pytest.approx(sum(p.numel() for p in first.network.parameters()))
