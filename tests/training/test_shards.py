"""A batch shared by cores: nothing is lost, and the summed gradient is the batch's own."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import dropout_stream
from regard.config import RnnSettings, TransformerSettings
from regard.cores import cores
from regard.models.batch import batch_of
from regard.tasks import build
from regard.tasks.masked_language_model.task import masked
from regard.tasks.text.loss import label_loss
from regard.text import PAD
from regard.training.update import shard_gradients, shards, summed_gradients
from regard.worker_pool import WorkerPool

SOURCES = [[5, 6, 7, 8, 9], [9, 6], [7, 7, 8], [5] * 9, [6, 8]]
TARGETS = [[5, 6, 7], [8, 9, 10, 11, 12, 5], [7], [9] * 7, [10, 11]]
BATCH = batch_of(SOURCES, TARGETS)


def rows(batch):
    """Each row's source, inputs and labels without padding, in a fixed order."""
    found = []
    for number, (inputs, labels) in enumerate(zip(batch.inputs, batch.labels, strict=True)):
        length = int((inputs != PAD).sum())
        source = ()
        if batch.source is not None:
            size = int(batch.source.lengths[number])
            source = tuple(batch.source.tokens[number, :size].tolist())
        found.append((source, tuple(inputs[:length].tolist()), tuple(labels[:length].tolist())))
    return sorted(found)


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8])
def test_shards_cover_all_rows_without_needless_padding(number):
    pieces = shards(BATCH, number)
    assert len(pieces) <= number
    assert sorted(row for piece in pieces for row in rows(piece)) == rows(BATCH)
    for piece in pieces:
        assert (piece.inputs[:, -1] != PAD).any()
        assert piece.source.tokens.shape[1] == int(piece.source.lengths.max())
        assert piece.inputs.shape == piece.labels.shape


@given(st.lists(st.integers(1, 30), min_size=2, max_size=40))
def test_two_shards_differ_by_one_row_at_the_most(lengths):
    """A cut that left the row in the middle to the second shard could differ by two."""
    batch = batch_of([[5] * n for n in lengths], [[6] * n for n in lengths])
    costs = [int(piece.costs.sum()) for piece in shards(batch, 2)]
    assert len(costs) == 2
    assert abs(costs[0] - costs[1]) <= int(batch.costs.max())


def test_shards_of_hidden_words_keep_every_word():
    """Only some labels are asked for here; what is read must not be cut to them."""
    batch = masked(batch_of(None, TARGETS), 0.2, 13, 1, 2)
    pieces = shards(batch, 2)
    assert len(pieces) == 2
    assert sorted(row for piece in pieces for row in rows(piece)) == rows(batch)


@pytest.mark.parametrize(
    "settings",
    [
        TransformerSettings(
            dim=8, num_heads=2, ff=16, num_encoder_layers=1, num_decoder_layers=1, dropout=0
        ),
        TransformerSettings(
            dim=8,
            num_heads=2,
            ff=16,
            num_encoder_layers=1,
            num_decoder_layers=1,
            dropout=0,
            tied="none",
            positions="relative",
            norm="post",
        ),
        RnnSettings(dim=8, embedding=8, attention_dim=8, dropout=0),
    ],
)
def test_the_summed_gradient_is_that_of_the_whole_batch(settings):
    network = build(settings, 14, 14).double()
    parameters = list(network.parameters())

    def gradients(number):
        results = [
            shard_gradients(
                label_loss(network.features(piece), network.output, piece.labels, 0.1), parameters
            )
            for piece in shards(BATCH, number)
        ]
        with WorkerPool(2) as pool:
            return summed_gradients(pool, results, parameters)

    whole, expected = gradients(1)
    for number in (2, 3):
        loss, found = gradients(number)
        assert loss == pytest.approx(whole)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other)


def test_a_pool_restores_torchs_threads():
    before = torch.get_num_threads()
    with WorkerPool(3) as pool:
        assert pool.map(lambda n: n * n, range(5)) == [0, 1, 4, 9, 16]
    assert torch.get_num_threads() == before


def test_cores_are_as_asked_or_all():
    assert cores(3) == 3
    assert cores() >= 1


def test_dropout_in_threads_depends_on_its_stream_alone():
    rates = {"dropout": 0.3, "attention_dropout": 0.2, "activation_dropout": 0.1}
    network = build(
        TransformerSettings(
            dim=8, num_heads=2, ff=16, num_encoder_layers=1, num_decoder_layers=1, **rates
        ),
        14,
        14,
    )
    parameters = list(network.parameters())

    def gradients(step):
        def work(numbered):
            number, piece = numbered
            with dropout_stream(0, step, 0, number):
                loss = label_loss(network.features(piece), network.output, piece.labels)
            return shard_gradients(loss, parameters)

        with WorkerPool(2) as pool:
            results = pool.map(work, enumerate(shards(BATCH, 2)))
            return summed_gradients(pool, results, parameters)[1]

    first, again, other = gradients(1), gradients(1), gradients(2)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, other, strict=True))
