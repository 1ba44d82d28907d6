"""The fast networks compute what the reference does: losses and gradients, hypotheses and maps."""

import random
from itertools import product

import pytest
import torch

from regard.attention import record
from regard.config import (
    ClassifierSettings,
    LanguageModelSettings,
    MaskedLanguageModelSettings,
    RnnSettings,
    Run,
    SearchOptions,
    TransformerSettings,
)
from regard.config.mechanisms import BlockwiseSettings, LinearSettings, LocalSettings
from regard.decoding import search
from regard.dropout import dropout_stream
from regard.models.batch import Source, batch_of, source_of
from regard.models.classifier.batch import LabeledBatch
from regard.models.fast import for_inference, for_training, supports
from regard.models.fast.lookups import collected_lookups, gradients_of
from regard.models.rnn.model import RnnModel
from regard.models.transformer import Layer, TransformerModel
from regard.tasks import build
from regard.tasks.text.loss import token_loss

SOURCES = [[5, 6, 7, 8], [9, 10], [11, 12, 13]]
TARGETS = [[6, 7], [8, 9, 10, 11, 5], [12]]
TINY = {"dim": 16, "num_heads": 4, "ff": 24, "positions": "sinusoidal", "activation": "relu"}
DROPOUTS = {"dropout": 0.3, "attention_dropout": 0.2, "activation_dropout": 0.4}
IN_BLOCKS = [
    {"norm": norm, "positions": positions, "activation": activation}
    for norm, positions, activation in product(
        ("pre", "post"), ("sinusoidal", "learned", "rotary", "none"), ("relu", "gelu")
    )
]
BY_MODULES = [
    {"activation": "silu"},
    {"positions": "alibi"},
    {"positions": "relative"},
    {"normalizer": "sparsemax"},
    {"attention": LocalSettings(window=2)},
    {"attention": LinearSettings()},
    {"attention": BlockwiseSettings()},
]


def trained(kind, **given):
    """A network in double precision, in training mode."""
    torch.manual_seed(0)
    stack = TINY | {"dropout": 0.0} | given
    match kind:
        case "transformer":
            settings = TransformerSettings(**stack, num_encoder_layers=2, num_decoder_layers=2)
        case "lm":
            settings = LanguageModelSettings(**stack, num_layers=2)
        case "mlm":
            settings = MaskedLanguageModelSettings(**stack, num_layers=2)
        case "classifier":
            settings = ClassifierSettings(**stack, num_layers=2, labels=("a", "b", "c"))
        case "rnn":
            settings = RnnSettings(dim=16, embedding=12, attention_dim=8, dropout=0.3)
    return build(settings, 20, 20).double().train()


def loss_of(kind, network):
    """A loss of the network; its dropout depends on nothing else."""
    with dropout_stream(1, 2, 3):
        if kind == "classifier":
            lengths = torch.tensor([4, 2])
            values = torch.tensor([[5, 6, 7, 8], [9, 10, 0, 0]])
            return network(LabeledBatch(values, lengths, torch.tensor([0, 2]))).square().sum()
        batch = batch_of(SOURCES if kind in ("transformer", "rnn") else None, TARGETS)
        return token_loss(Run(), network, batch, 0.1)


def assert_same_gradients(kind, network, rtol=1e-12):
    """The fast network has the reference's loss and gradients; returns its loss."""
    reference = loss_of(kind, network)
    expected = torch.autograd.grad(reference, list(network.parameters()), allow_unused=True)
    fast = for_training(network)
    with collected_lookups() as lookups:
        loss = loss_of(kind, fast)
    gradients = gradients_of(loss, list(fast.parameters()), lookups)
    torch.testing.assert_close(loss, reference, rtol=rtol, atol=0)
    largest = max(float(part.abs().max()) for part in expected if part is not None)
    for (name, _), part, other in zip(network.named_parameters(), gradients, expected, strict=True):
        if other is None:
            assert part is None, name
        else:
            assert float((part - other).abs().max()) <= rtol * largest, name
    return loss


def num_blocks(loss):
    """How many blocks of attention are behind a loss."""
    names, waiting, seen = [], [loss.grad_fn], set()
    while waiting:
        function = waiting.pop()
        if function is not None and function not in seen:
            seen.add(function)
            names.append(function.name())
            waiting += [earlier for earlier, _ in function.next_functions]
    return sum("AttentionBlock" in name for name in names)


@pytest.mark.parametrize("given", IN_BLOCKS, ids=lambda given: "-".join(given.values()))
@pytest.mark.parametrize("dropouts", [{}, DROPOUTS], ids=["plain", "dropout"])
@pytest.mark.parametrize("kind", ["transformer", "lm", "mlm", "classifier"])
def test_training_in_blocks_has_the_losses_and_gradients_of_the_reference(kind, dropouts, given):
    network = trained(kind, **dropouts, **given)
    layers = [module for module in network.modules() if isinstance(module, Layer)]
    assert layers and all(supports(layer, "training") for layer in layers)
    loss = assert_same_gradients(kind, network)
    assert num_blocks(loss) == sum(1 if layer.cross is None else 2 for layer in layers)


@pytest.mark.parametrize("given", BY_MODULES, ids=str)
@pytest.mark.parametrize("kind", ["transformer", "lm"])
def test_training_without_blocks_has_them_too(kind, given):
    """With another activation, position, normalizer or mechanism."""
    network = trained(
        kind, **DROPOUTS | ({"attention_dropout": 0.0} if "attention" in given else {}), **given
    )
    first = next(module for module in network.modules() if isinstance(module, Layer))
    assert not supports(first, "training")
    assert num_blocks(assert_same_gradients(kind, network)) == 0


def test_a_recurrent_network_collects_its_lookups():
    assert_same_gradients("rnn", trained("rnn"))


@pytest.mark.parametrize("factor", [30.0, 1e3, 1e6])
def test_large_scores_do_not_overflow_in_blocks(factor):
    network = trained("transformer")
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "query_proj" in name:
                parameter.mul_(factor)
    assert_same_gradients("transformer", network, rtol=1e-8)


def test_the_network_that_trains_has_the_weights_of_the_reference():
    network = trained("transformer", tied="all").eval()
    kinds = [type(module) for module in network.modules()]
    fast = for_training(network)
    assert [type(module) for module in network.modules()] == kinds
    assert list(fast.state_dict()) == list(network.state_dict())
    for ours, theirs in zip(fast.parameters(), network.parameters(), strict=True):
        assert ours is theirs
    assert fast.source.vectors is fast.target.vectors
    assert all(module.training for module in fast.modules())
    assert not any(module.training for module in network.modules())
    network.load_state_dict(trained("transformer", tied="all", norm="pre").state_dict())
    assert torch.equal(fast.output.weight, network.source.vectors.weight)


def test_blocks_leave_what_is_recorded_to_the_modules():
    network = for_training(trained("lm"))
    plain = loss_of("lm", network)
    with record(network) as recording:
        recorded = loss_of("lm", network)
    assert len(recording) == 2
    assert (num_blocks(plain), num_blocks(recorded)) == (2, 0)
    torch.testing.assert_close(recorded, plain, rtol=1e-12, atol=0)


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
    assert supports(network, "inference")
    fast = for_inference(network)
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
    for found, expected in zip(
        for_inference(network).maps(batch), network.maps(batch), strict=True
    ):
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
        {"attention": BlockwiseSettings(), "positions": "rotary"},
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
    fast, source = for_inference(network), sources(4)
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


@pytest.mark.parametrize(
    "network",
    [
        transformer(attention=LocalSettings(window=4), positions="sinusoidal"),
        transformer(attention=LinearSettings(), positions="sinusoidal"),
        transformer(normalizer="sparsemax"),
        transformer().double(),
        recurrent(attention="coverage"),
        recurrent(num_decoder_layers=2),
        build(LanguageModelSettings(**TINY, num_layers=1), VOCAB, VOCAB),
    ],
    ids=["local", "linear", "sparsemax", "double", "coverage", "two layers", "lm"],
)
def test_what_cannot_be_prepared_is_returned(network):
    assert not supports(network, "inference")
    assert for_inference(network) is network


def test_empty_batch():
    empty = Source(torch.zeros(0, 0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64))
    assert search(for_inference(transformer()), empty, SEARCHES["beam"]) == []
