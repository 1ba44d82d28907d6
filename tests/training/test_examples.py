"""The order of the data, hidden words, and dropout: all by the seed and the place alone."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import dropout, dropout_stream
from regard.config import ClassifierSettings, Run, TrainingSettings
from regard.corpus.pairs import Pair
from regard.folder import Tokenizers
from regard.models.batch import batch_of
from regard.tasks.classification.batches import LabeledBatches
from regard.tasks.handwriting.batches import StrokeBatches
from regard.tasks.language_model.task import encode_text
from regard.tasks.masked_language_model.task import MaskedCorpus, masked
from regard.tasks.text.encoded_corpus import EncodedCorpus
from regard.tasks.translation.task import encode_pairs
from regard.text import BOS, MASK, PAD
from regard.text.vocabulary import train_words
from regard.training.checkpoint import DataCursor
from regard.training.task import EpochBatches

ROWS = [[5 + n % 7] * (1 + n % 9) for n in range(60)]


def seen(examples, epoch):
    """The corpus places of an epoch, batch by batch, taken one after another."""
    place, found = DataCursor(epoch, 0), []
    while place.epoch == epoch:
        batch, place = examples.take(place)
        found.append(batch.inputs)
    return found


def test_every_sentence_comes_once_in_an_epoch_within_the_batch_size():
    examples = EncodedCorpus(ROWS, ROWS, max_tokens=64, seed=1)
    for epoch in range(3):
        places = [n for rows in examples.epoch(epoch) for n in rows]
        assert sorted(places) == list(range(60))
    for batch in seen(examples, 0):
        assert batch.numel() * 2 <= 64 + 2 * batch.shape[1]


def test_the_order_is_by_seed_and_epoch():
    def order(seed, epoch):
        return EncodedCorpus(ROWS, ROWS, 64, seed).epoch(epoch)

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(2, 0)
    assert order(1, 0) != order(1, 1)
    going_back = EncodedCorpus(ROWS, ROWS, 64, 1)
    going_back.epoch(5)
    assert going_back.epoch(0) == order(1, 0)


def test_places_count_epochs():
    examples = EncodedCorpus(None, ROWS, 64, 0)
    number = len(examples.epoch(0))
    assert examples.epochs_done(DataCursor(2, 0)) == 2
    assert examples.epochs_done(DataCursor(0, 1)) == pytest.approx(1 / number)
    _, after = examples.take(DataCursor(0, number - 1))
    assert after == DataCursor(1, 0)
    assert sum(len(batch.labels) for batch in examples.every()) == 60


def test_every_corpus_has_the_same_order_and_places():
    """Sentences, labeled texts and handwritten lines: an epoch is all of them once, by the seed."""
    points = [np.ones((len(row), 3), np.float32) for row in ROWS]
    run = Run(
        model=ClassifierSettings(), training=TrainingSettings(steps=1, batch_tokens=64, seed=1)
    )
    for examples in (
        EncodedCorpus(ROWS, ROWS, 64, 1),
        LabeledBatches(ROWS, [0] * 60, run),
        StrokeBatches(ROWS, points, run),
    ):
        assert isinstance(examples, EpochBatches) and len(examples) == 60
        batch, after = examples.take(DataCursor(1, 0))
        assert after == DataCursor(1, 1) and len(examples.epoch(1)) > 1
        assert len(batch.costs if isinstance(examples, StrokeBatches) else batch.labels) == len(
            examples.epoch(1)[0]
        )
        assert examples.take(DataCursor(1, len(examples.epoch(1)) - 1))[1] == DataCursor(2, 0)
        assert examples.epoch(1) == examples.cut(1, 1) != examples.epoch(2)
        assert len(list(examples.every())) == len(examples.cut(0, 0))


def test_sentences_become_ids_and_long_ones_are_left_out_or_cut():
    one = train_words(["a b c d e f"], None, "en")
    tokenizers = Tokenizers(one, one)
    pairs = [Pair("a b", "c"), Pair("a b c d e f", "a"), Pair("a", "a b c d e f")]
    sources, targets, too_long = encode_pairs(pairs, tokenizers, 5)
    assert (len(sources), len(targets), too_long) == (1, 1, [1, 2])
    cut = encode_pairs(pairs, tokenizers, 5, truncate=True)
    assert [len(ids) for ids in cut.sources] == [2, 4, 1] and cut.too_long == [1, 2]
    assert [len(ids) for ids in cut.targets] == [1, 1, 4]
    assert encode_pairs(pairs, tokenizers, 0) == encode_pairs(pairs, tokenizers, 7)  # 0: no limit
    pieces = encode_text(["a b c d e f", "a"], tokenizers, 5)
    assert [len(piece) for piece in pieces] == [4, 2, 1]
    assert one.decode(pieces[0] + pieces[1]) == "a b c d e f"


@given(seed=st.integers(0, 1000), rate=st.floats(0.05, 0.9))
def test_hidden_words(seed, rate):
    batch = batch_of(None, ROWS[:20])
    hidden = masked(batch, rate, 12, seed)
    asked = hidden.labels != PAD
    assert asked.any()
    assert torch.equal(hidden.labels[asked], batch.inputs[asked])
    assert torch.equal(hidden.inputs[~asked], batch.inputs[~asked])
    assert not (asked & ((batch.inputs == PAD) | (batch.inputs == BOS))).any()
    again = masked(batch, rate, 12, seed)
    assert torch.equal(again.inputs, hidden.inputs) and torch.equal(again.labels, hidden.labels)


def test_shares_of_hidden_words():
    batch = batch_of(None, [[7] * 100] * 200)
    hidden = masked(batch, 0.15, 1000, 4)
    asked = hidden.labels != PAD
    assert asked.sum() / 20000 == pytest.approx(0.15, abs=0.01)
    shown = hidden.inputs[asked]
    assert (shown == MASK).float().mean() == pytest.approx(0.8, abs=0.03)
    assert (shown == 7).float().mean() == pytest.approx(0.1, abs=0.02)
    assert not torch.equal(hidden.inputs, masked(batch, 0.15, 1000, 5).inputs)


def test_masks_are_by_seed_and_cursor():
    corpus = MaskedCorpus(ROWS, 64, seed=1, mask_rate=0.3, vocab=12)
    batch, after = corpus.take(DataCursor(1, 2))
    again, _ = MaskedCorpus(ROWS, 64, 1, 0.3, 12).take(DataCursor(1, 2))
    assert after == DataCursor(1, 3)
    assert torch.equal(batch.inputs, again.inputs) and torch.equal(batch.labels, again.labels)
    whole = [row for rows in corpus.every() for row in rows.labels.tolist()]
    assert whole == [row for rows in corpus.every() for row in rows.labels.tolist()]


def test_at_least_one_word_is_hidden():
    hidden = masked(batch_of(None, [[7]]), 0.0, 12, 0)
    assert hidden.labels.tolist() == [[PAD, 7]]


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(rate):
    x = torch.ones(400, 500)
    with dropout_stream(1, 2):
        dropped = dropout(x, rate)
    assert (dropped == 0).float().mean() == pytest.approx(rate, abs=0.01)
    assert dropped.mean() == pytest.approx(1, abs=0.01)
    assert torch.unique(dropped).tolist() == pytest.approx([0, 1 / (1 - rate)], rel=1e-3)


def test_dropout_is_by_its_stream():
    x = torch.ones(30, 7)

    def drawn(*seed):
        with dropout_stream(*seed):
            return torch.stack([dropout(x, 0.4), dropout(x, 0.4)])

    assert torch.equal(drawn(1, 2, 3), drawn(1, 2, 3))
    different = [drawn(1, 2, 3), drawn(1, 2, 4), drawn(1, 3, 3), drawn(2, 2, 3)]
    assert all(not torch.equal(a, b) for a in different for b in different if a is not b)
    first, second = drawn(1, 2, 3)
    assert not torch.equal(first, second)
    np.testing.assert_allclose(float(x.sum()), 210)
