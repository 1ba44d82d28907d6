"""Networks prepared for inference give the tokens and log-probabilities of the networks."""

import random

import pytest
import torch

from regard.config import RnnSettings, SearchOptions, TransformerSettings
from regard.config.mechanisms import LinearSettings, LocalSettings
from regard.decoding import search
from regard.models.batch import Source, batch_of, source_of
from regard.models.inference import prepared
from regard.models.rnn.model import RnnModel
from regard.models.transformer import TransformerModel

VOCAB = 40
SMALL = {"dim": 32, "num_heads": 4, "num_encoder_layers": 2, "num_decoder_layers": 2, "ff": 48}
POSITIONS = ["sinusoidal", "learned", "rotary", "alibi", "relative", "none"]
SEARCHES = {
    "greedy": SearchOptions(beam=1),
    "beam": SearchOptions(beam=4, n_best=3, length_penalty=0.6),
    "samples": SearchOptions(sample=True, n_best=3, seed=5),
}


def transformer(**settings):
    torch.manual_seed(0)
    network = TransformerModel(
        TransformerSettings(**{**SMALL, "max_length": 90, **settings}), VOCAB, VOCAB
    )
    return livelier(network)


def recurrent(**settings):
    torch.manual_seed(0)
    sizes = {"embedding": 24, "dim": 32, "attention_dim": 16, "max_length": 90}
    return livelier(RnnModel(RnnSettings(**{**sizes, **settings}), VOCAB, VOCAB))


def livelier(network):
    """Outputs that vary with the source and end at different steps."""
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if weight.ndim > 1 and "norm" not in name:
                weight.mul_(1.5)
        network.output.bias[3] = 0.5
    return network.eval()


def sources(count=7, longest=24, seed=1):
    draw = random.Random(seed)
    return source_of(
        [
            [draw.randrange(6, VOCAB) for _ in range(draw.randrange(1, longest))]
            for _ in range(count)
        ]
    )


def assert_same(network, source, options, **more):
    fast = prepared(network)
    assert fast is not network
    expected = search(network, source, options, **more)
    found = search(fast, source, options, **more)
    assert [[h.tokens for h in row] for row in found] == [
        [h.tokens for h in row] for row in expected
    ]
    for row, same in zip(found, expected, strict=True):
        for one, other in zip(row, same, strict=True):
            assert one.finished == other.finished
            assert one.token_log_probabilities == pytest.approx(
                other.token_log_probabilities, abs=2e-5
            )
    return expected


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_transformer_gives_the_same_maps(positions, norm):
    """But for the rows of padding, of which there is nothing to see."""
    network = transformer(positions=positions, norm=norm)
    draw = random.Random(2)
    pairs = [
        [[draw.randrange(6, VOCAB) for _ in range(n)] for n in lengths]
        for lengths in ((3, 9), (12, 5), (1, 1))
    ]
    batch = batch_of([source for source, _ in pairs], [target for _, target in pairs])
    lengths = {"self": batch.source.lengths, "causal": torch.tensor([10, 6, 2])}
    lengths["cross"] = lengths["causal"]
    for found, expected in zip(prepared(network).maps(batch), network.maps(batch), strict=True):
        assert (found.kind, found.layer, found.module) == (
            expected.kind,
            expected.layer,
            expected.module,
        )
        assert (found.heads, found.rows, found.over) == (
            expected.heads,
            expected.rows,
            expected.over,
        )
        for row, length in enumerate(lengths[found.kind].tolist()):
            torch.testing.assert_close(
                found.weights[row, :, :length],
                expected.weights[row, :, :length],
                atol=1e-5,
                rtol=1e-4,
            )


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("kind", SEARCHES)
def test_transformer_gives_the_same_hypotheses(positions, kind):
    network = transformer(positions=positions, norm="post" if kind == "samples" else "pre")
    found = assert_same(network, sources(), SEARCHES[kind])
    assert len({len(row[0].tokens) for row in found}) > 1  # rows leave at different steps


@pytest.mark.parametrize(
    "settings",
    [
        {"norm": "post"},
        {"activation": "gelu"},
        {"tied": "none"},
        {"num_decoder_layers": 1},
        {"num_encoder_layers": 3, "num_heads": 2},
    ],
)
def test_all_settings_of_a_transformer(settings):
    assert_same(transformer(**settings), sources(), SEARCHES["beam"])


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("kind", SEARCHES)
def test_recurrent_network_gives_the_same_hypotheses(cell, kind):
    network = recurrent(cell=cell, bidirectional=cell != "rnn", tied="none")
    assert_same(network, sources(), SEARCHES[kind])


@pytest.mark.parametrize("build", [transformer, recurrent])
@pytest.mark.parametrize("kind", SEARCHES)
def test_prefixes(kind, build):
    network, source = build(), sources(3)
    assert_same(network, source, SEARCHES[kind], prefix=[[7, 8, 9], [], [10]])
    assert_same(network, sources(1), SEARCHES[kind], prefix=[[7], [8, 9], [], [11, 12, 13]])


@pytest.mark.parametrize("build", [transformer, recurrent])
def test_rows_in_any_order(build):
    network = build()
    fast, source = prepared(network), sources(4)
    with torch.inference_mode():
        states = [network.start(source), fast.start(source)]
        for rows in ([0, 1, 2, 3], [3, 0, 0, 2, 3], [4, 1, 1, 0], [2], [0, 0, 0]):
            chosen = torch.tensor(rows)
            states = [network.select(states[0], chosen), fast.select(states[1], chosen)]
            tokens = torch.arange(len(rows)) + 7
            expected, first, _ = network.step(states[0], tokens)
            logits, second, _ = fast.step(states[1], tokens)
            torch.testing.assert_close(logits, expected, atol=2e-5, rtol=1e-4)
            states = [first, second]


def test_what_cannot_be_prepared_is_returned():
    for attention in (LocalSettings(window=4), LinearSettings()):
        network = transformer(attention=attention, positions="sinusoidal")
        assert prepared(network) is network
    assert prepared(network := transformer(normalizer="sparsemax")) is network
    assert prepared(network := transformer().double()) is network
    assert prepared(network := recurrent(attention="coverage")) is network
    assert prepared(network := recurrent(num_decoder_layers=2)) is network


def test_empty_batch():
    empty = Source(torch.zeros(0, 0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64))
    assert search(prepared(transformer()), empty, SEARCHES["beam"]) == []
