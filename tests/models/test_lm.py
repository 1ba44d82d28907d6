"""Models of one stack: the next token, and hidden tokens."""

import pytest
import torch

from regard.config import LanguageModelSettings, MaskedLanguageModelSettings
from regard.models.batch import batch_of
from regard.models.lm import LanguageModel, MaskedLanguageModel
from regard.tasks import build
from regard.text import BOS, PAD

ROWS = [[5, 6, 7, 8, 9], [9, 6], [7, 7, 8, 12, 11, 10, 5]]
BATCH = batch_of(None, ROWS)
POSITIONS = ("sinusoidal", "learned", "rotary", "alibi", "relative", "none")
SMALL = {"dim": 16, "num_heads": 2, "ff": 24, "num_layers": 2, "max_length": 32}

every_position = pytest.mark.parametrize("positions", POSITIONS)
every_norm = pytest.mark.parametrize("norm", ["pre", "post"])


def lm(**settings):
    return LanguageModel(LanguageModelSettings(**{**SMALL, **settings}), 13).double().eval()


def mlm(**settings):
    return (
        MaskedLanguageModel(MaskedLanguageModelSettings(**{**SMALL, **settings}), 13)
        .double()
        .eval()
    )


@every_position
@every_norm
@pytest.mark.parametrize("tied", ["all", "none"])
@torch.no_grad()
def test_steps_are_the_whole(positions, norm, tied):
    network = lm(positions=positions, norm=norm, tied=tied)
    expected, state, result = network(BATCH), network.start(batch=3), []
    for column in BATCH.inputs.T:
        scores, state, _ = network.step(state, column)
        result.append(scores)
    torch.testing.assert_close(torch.stack(result, 1), expected)


@every_position
@torch.no_grad()
def test_padding_and_later_tokens_change_nothing(positions):
    network = lm(positions=positions)
    together = network(BATCH)
    for row, tokens in enumerate(ROWS):
        alone = network(batch_of(None, [tokens]))[0]
        torch.testing.assert_close(together[row, : len(tokens) + 1], alone)
    for position in range(1, 8):
        inputs = BATCH.inputs.clone()
        inputs[:, position:] = 12
        torch.testing.assert_close(
            network(BATCH._replace(inputs=inputs))[:, :position], together[:, :position]
        )


@torch.no_grad()
def test_select_reorders_and_repeats():
    network = lm()
    _, state, _ = network.step(network.start(batch=3), torch.full((3,), BOS))
    rows, tokens = torch.tensor([2, 0, 0, 1]), torch.tensor([5, 6, 7])
    _, state, _ = network.step(state, tokens)
    expected, _, _ = network.step(state, tokens)
    chosen, _, _ = network.step(network.select(state, rows), tokens[rows])
    torch.testing.assert_close(chosen, expected[rows])


@every_position
def test_maps_sum_to_one(positions):
    for network in (lm(positions=positions), mlm(positions=positions)):
        maps = network.maps(BATCH)
        assert [layer_map.layer for layer_map in maps] == [0, 1]
        for layer_map in maps:
            assert layer_map.weights.shape == (3, 2, 8, 8)
            sums = layer_map.weights.sum(-1)
            torch.testing.assert_close(sums, torch.ones_like(sums))


@torch.no_grad()
def test_steps_look_at_what_is_before():
    network = lm()
    whole = {layer_map.layer: layer_map.weights for layer_map in network.maps(BATCH)}
    state = network.start(batch=3)
    for position, column in enumerate(BATCH.inputs.T):
        _, state, maps = network.step(state, column, attention=True)
        for layer_map in maps:
            assert layer_map.rows == (position,)
            torch.testing.assert_close(
                layer_map.weights[:, :, 0], whole[layer_map.layer][:, :, position, : position + 1]
            )


@every_position
@torch.no_grad()
def test_a_masked_model_sees_both_sides_but_no_padding(positions):
    network = mlm(positions=positions)
    together = network(BATCH)
    for row, tokens in enumerate(ROWS):
        alone = network(batch_of(None, [tokens]))[0]
        torch.testing.assert_close(together[row, : len(tokens) + 1], alone)
    inputs = BATCH.inputs.clone()
    inputs[0, 5] = 12
    other = network(BATCH._replace(inputs=inputs))
    assert not torch.allclose(other[0, 1], together[0, 1])  # what is later matters
    torch.testing.assert_close(other[1:], together[1:])


@torch.no_grad()
def test_fill_gives_probabilities():
    network = mlm()
    shares = network.fill(BATCH.inputs)
    torch.testing.assert_close(shares.sum(-1), torch.ones(3, 8))
    expected = torch.softmax(network(BATCH).float(), -1)
    torch.testing.assert_close(shares, expected)


def test_build_makes_the_kind_that_is_asked_for():
    assert isinstance(build(LanguageModelSettings(**SMALL), 9, 13), LanguageModel)
    assert isinstance(build(MaskedLanguageModelSettings(**SMALL), 9, 13), MaskedLanguageModel)


def test_it_learns_to_count():
    """The next token is the one after, in a ring of six: a thing causal attention can learn."""
    network = LanguageModel(
        LanguageModelSettings(dim=24, num_heads=2, ff=48, num_layers=1, max_length=16, dropout=0),
        11,
    )
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    rows = [[5 + (start + n) % 6 for n in range(7)] for start in range(6)]
    batch = batch_of(None, rows)
    for _ in range(60):
        scores = network(batch)
        loss = torch.nn.functional.cross_entropy(
            scores.flatten(0, 1), batch.labels.flatten(), ignore_index=PAD
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    guesses = network.eval()(batch).argmax(-1)
    assert torch.equal(guesses[:, 1:], batch.labels[:, 1:])
