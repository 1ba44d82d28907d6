"""The Transformer: one contract over positions, norms and tied embeddings."""

import pytest
import torch

from regard.attention import record
from regard.config import TransformerSettings
from regard.errors import InputError
from regard.models.batch import batch_of, source_of
from regard.models.transformer import TransformerModel
from regard.text import BOS, PAD

SOURCES = [[5, 6, 7, 8, 9], [9, 6], [7, 7, 8]]
TARGETS = [[5, 6, 7], [8, 9, 10, 11, 12, 5], [7]]
BATCH = batch_of(SOURCES, TARGETS)
POSITIONS = ("sinusoidal", "learned", "rotary", "alibi", "relative", "none")
SMALL = {
    "dim": 16,
    "num_heads": 2,
    "ff": 24,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "dropout": 0.1,
}


def model(**settings):
    network = TransformerModel(TransformerSettings(**{**SMALL, **settings}), 13, 13).double().eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.ndim == 1 or "bias" in name:  # zero at first, which would hide mistakes
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return network


every_position = pytest.mark.parametrize("positions", POSITIONS)
every_norm = pytest.mark.parametrize("norm", ["pre", "post"])
every_tie = pytest.mark.parametrize("tied", ["all", "output", "none"])


def steps(network, batch, attention=False):
    """Scores (B, T, V) and maps of one step after another."""
    state, scores, maps = network.start(batch.source), [], []
    for column in batch.inputs.T:
        result, state, observed = network.step(state, column, attention=attention)
        scores.append(result)
        maps += observed
    return torch.stack(scores, 1), maps


@every_position
@every_norm
@every_tie
@torch.no_grad()
def test_steps_are_the_whole(positions, norm, tied):
    network = model(positions=positions, norm=norm, tied=tied)
    expected = network(BATCH)
    assert expected.shape == (3, 7, 13)
    torch.testing.assert_close(steps(network, BATCH)[0], expected)
    torch.testing.assert_close(network.output(network.features(BATCH)), expected)


@every_position
@every_norm
@torch.no_grad()
def test_padding_changes_nothing(positions, norm):
    network = model(positions=positions, norm=norm)
    together = network(BATCH)
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = network(batch_of([source], [target]))[0]
        torch.testing.assert_close(together[row, : len(target) + 1], alone)
    tokens = BATCH.source.tokens.clone()
    tokens[tokens == PAD] = 11
    other = BATCH._replace(source=BATCH.source._replace(tokens=tokens))
    torch.testing.assert_close(network(other), together)


@every_position
@torch.no_grad()
def test_a_later_word_never_changes_an_earlier_score(positions):
    network = model(positions=positions)
    expected = network(BATCH)
    for position in range(1, 7):
        inputs = BATCH.inputs.clone()
        inputs[:, position:] = 12
        result = network(BATCH._replace(inputs=inputs))
        torch.testing.assert_close(result[:, :position], expected[:, :position])
    inputs = BATCH.inputs.clone()
    inputs[:, 1] = 12
    assert not torch.allclose(network(BATCH._replace(inputs=inputs))[:, 1:], expected[:, 1:])


@every_position
@torch.no_grad()
def test_order_matters_if_there_are_positions(positions):
    network = model(positions=positions)
    turned = batch_of([SOURCES[0][::-1]], [TARGETS[0]])
    same = torch.allclose(network(batch_of(SOURCES[:1], TARGETS[:1])), network(turned))
    assert same == (positions == "none")  # the EOS at the end has no place either


@every_position
@torch.no_grad()
def test_select_reorders_and_repeats(positions):
    network = model(positions=positions)
    _, state, _ = network.step(network.start(BATCH.source), torch.full((3,), BOS))
    rows, tokens = torch.tensor([2, 0, 0, 1]), torch.tensor([5, 6, 7])
    expected, after, _ = network.step(state, tokens)
    chosen, chosen_after, _ = network.step(network.select(state, rows), tokens[rows])
    torch.testing.assert_close(chosen, expected[rows])
    more, _, _ = network.step(after, tokens)
    chosen_more, _, _ = network.step(chosen_after, tokens[rows])
    torch.testing.assert_close(chosen_more, more[rows])


@torch.no_grad()
def test_a_step_leaves_its_state_alone():
    network = model()
    state = network.start(BATCH.source)
    first, state_a, _ = network.step(state, torch.full((3,), BOS))
    again, state_b, _ = network.step(state, torch.full((3,), BOS))
    assert torch.equal(first, again)
    torch.testing.assert_close(
        network.step(state_a, torch.tensor([5, 6, 7]))[0],
        network.step(state_b, torch.tensor([5, 6, 7]))[0],
    )


@every_position
@every_norm
def test_maps_sum_to_one_and_padding_gets_none(positions, norm):
    network = model(positions=positions, norm=norm)
    maps = network.maps(BATCH)
    assert [(layer_map.kind, layer_map.layer) for layer_map in maps] == [
        ("self", 0),
        ("self", 1),
        ("causal", 0),
        ("cross", 0),
        ("causal", 1),
        ("cross", 1),
    ]
    sizes = {"self": (6, 6), "causal": (7, 7), "cross": (7, 6)}
    for layer_map in maps:
        assert layer_map.weights.shape == (3, 2, *sizes[layer_map.kind])
        sums = layer_map.weights.sum(-1)
        torch.testing.assert_close(sums, torch.ones_like(sums))
        if layer_map.kind == "causal":
            assert not layer_map.weights.triu(1).any()
        else:
            for row, length in enumerate(BATCH.source.lengths):
                assert not layer_map.weights[row, ..., length:].any()


@torch.no_grad()
def test_maps_of_steps_are_those_of_the_whole():
    network = model()
    whole = {(m.kind, m.layer): m.weights for m in network.maps(BATCH) if m.kind != "self"}
    _, observed = steps(network, BATCH, attention=True)
    assert len(observed) == 7 * 4
    for layer_map in observed:
        (row,) = layer_map.rows
        width = layer_map.weights.shape[-1]
        torch.testing.assert_close(
            layer_map.weights[:, :, 0], whole[layer_map.kind, layer_map.layer][:, :, row, :width]
        )


@torch.no_grad()
def test_looking_changes_nothing():
    network = model()
    expected = network(BATCH)
    with record(network):
        assert torch.equal(network(BATCH), expected)


@every_tie
def test_tied_vectors_are_one(tied):
    network = TransformerModel(TransformerSettings(**SMALL, tied=tied), 13, 13)
    source, target = network.source.vectors.weight, network.target.vectors.weight
    assert (source is target) == (tied == "all")
    assert (network.output.weight is target) == (tied != "none")


def test_a_vocabulary_for_each_side():
    network = TransformerModel(TransformerSettings(**SMALL, tied="output"), 17, 13)
    assert network(BATCH).shape == (3, 7, 13)
    with pytest.raises(InputError, match="17 source and 13 target"):
        TransformerModel(TransformerSettings(**SMALL), 17, 13)


@pytest.mark.parametrize("name", ["relu", "gelu", "silu", "tanh", "mish"])
def test_any_activation(name):
    assert model(activation=name)(BATCH).isfinite().all()


@pytest.mark.parametrize("name", ["nonsense", "linear", "glu", "__name__", "cross_entropy"])
def test_what_is_no_activation_is_said(name):
    with pytest.raises(InputError, match=r"model\.activation must be a function"):
        model(activation=name)


def test_first_weights_come_from_the_seed():
    def drawn_weights(seed):
        torch.manual_seed(seed)
        return TransformerModel(TransformerSettings(**SMALL), 13, 13).state_dict()

    first, same, other = drawn_weights(1), drawn_weights(1), drawn_weights(2)
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_it_learns_to_copy(positions):
    settings = TransformerSettings(
        dim=32,
        num_heads=2,
        ff=64,
        num_encoder_layers=1,
        num_decoder_layers=1,
        dropout=0,
        positions=positions,
    )
    network = TransformerModel(settings, 10, 10)
    optimizer = torch.optim.Adam(network.parameters(), 5e-3)
    generator = torch.Generator().manual_seed(0)
    for step in range(250):
        optimizer.param_groups[0]["lr"] = 5e-3 * (1 - step / 250)
        rows = torch.randint(5, 10, (32, 5), generator=generator).tolist()
        batch = batch_of(rows, rows)
        loss = torch.nn.functional.cross_entropy(
            network(batch).flatten(0, 1), batch.labels.flatten()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    rows = torch.randint(5, 10, (50, 5), generator=generator).tolist()
    batch = batch_of(rows, rows)
    with torch.no_grad():
        right = network.eval()(batch).argmax(-1) == batch.labels
    assert right.float().mean() > 0.97


def test_an_empty_source_is_only_its_end():
    network = model()
    assert network(batch_of([[]], [[5]])).isfinite().all()
    assert source_of([[]]).lengths.tolist() == [1]
