"""The recurrent encoder–decoder: one contract for every cell, attention, score and depth."""

import copy
import warnings
from functools import cache

import pytest
import torch

from regard.attention import (
    ForceAlignment,
    Monotonic,
    Overwrite,
    SwitchOff,
    intervene,
    record,
)
from regard.config import RnnSettings, SearchOptions
from regard.decoding import score, search
from regard.errors import InputError
from regard.models.batch import batch_of, source_of
from regard.models.rnn.model import RnnModel
from regard.text import BOS, EOS, PAD

SOURCES = [[5, 6, 7, 8, 9], [9, 6], [7, 7, 8]]
TARGETS = [[5, 6, 7], [8, 9, 10, 11, 12, 5], [7]]
BATCH = batch_of(SOURCES, TARGETS)
KINDS = {
    "none, initial": {"attention": "none", "context": "initial"},
    "none, every": {"attention": "none", "context": "every"},
    "bahdanau": {"attention": "bahdanau"},
    "luong, dot": {"attention": "luong", "score": "dot"},
    "luong, general": {"attention": "luong", "score": "general"},
    "luong, concat": {"attention": "luong", "score": "concat"},
    "location": {"attention": "location"},
    "coverage": {"attention": "coverage"},
    "graves": {"attention": "graves", "components": 3},
    "monotonic": {"attention": "monotonic"},
}
ATTENDING = [kind for kind in KINDS if not kind.startswith("none")]
SOFTMAX = [kind for kind in ATTENDING if kind not in ("graves", "monotonic")]


def model(kind="bahdanau", **settings):
    chosen = {"embedding": 6, "dim": 8, "attention_dim": 5, **KINDS[kind], **settings}
    return ready(RnnModel(RnnSettings(**chosen), 13, 14).double().eval())


def ready(network):
    """Monotonic attention stops at some states only if it is inclined to."""
    if isinstance(getattr(network.decoder, "attention", None), Monotonic):
        with torch.no_grad():
            network.decoder.attention.offset.fill_(0.0)
            network.decoder.attention.scale.fill_(4.0)
    return network


def softly(network):
    """Monotonic attention as it is while training, but without noise: it has gradients."""
    if isinstance(getattr(network.decoder, "attention", None), Monotonic):
        network.decoder.attention.train()
        network.decoder.attention.noise = 0.0
    return network


every_kind = pytest.mark.parametrize("kind", KINDS)
every_attending = pytest.mark.parametrize("kind", ATTENDING)
every_cell = pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
every_depth = pytest.mark.parametrize("depth", [(1, 1), (2, 2), (2, 1), (1, 3)])


def steps(network, batch, attention=False):
    """Scores (B, T, V) and maps of one step after another."""
    state, scores, maps = network.start(batch.source), [], []
    for column in batch.inputs.T:
        result, state, observed = network.step(state, column, attention=attention)
        scores.append(result)
        maps += observed
    return torch.stack(scores, 1), maps


@every_kind
@every_cell
@every_depth
def test_steps_are_the_whole(kind, cell, depth):
    network = model(kind, cell=cell, num_encoder_layers=depth[0], num_decoder_layers=depth[1])
    expected = network(BATCH)
    assert expected.shape == (3, 7, 14)
    torch.testing.assert_close(steps(network, BATCH)[0], expected)
    torch.testing.assert_close(network.output(network.features(BATCH)), expected)


@every_kind
@every_cell
@pytest.mark.parametrize("bidirectional", [True, False])
def test_padding_changes_nothing(kind, cell, bidirectional):
    network = model(
        kind, cell=cell, bidirectional=bidirectional, num_encoder_layers=2, num_decoder_layers=2
    )
    together = network(BATCH)
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = network(batch_of([source], [target]))[0]
        torch.testing.assert_close(together[row, : len(target) + 1], alone)


@every_kind
@every_cell
def test_what_stands_in_padding_does_not_matter(kind, cell):
    network = model(kind, cell=cell)
    tokens = BATCH.source.tokens.clone()
    tokens[tokens == PAD] = 11
    other = BATCH._replace(source=BATCH.source._replace(tokens=tokens))
    assert torch.equal(network(other), network(BATCH))


@every_kind
def test_a_source_without_words_harms_nobody(kind):
    network = softly(model(kind))
    lengths = BATCH.source.lengths.clone()
    lengths[1] = 0
    scores = network(BATCH._replace(source=BATCH.source._replace(lengths=lengths)))
    torch.testing.assert_close(scores[[0, 2]], network(BATCH)[[0, 2]])
    assert scores.isfinite().all()
    scores.sum().backward()
    assert all(p.grad.isfinite().all() for p in network.parameters())


@every_kind
@every_cell
def test_select_reorders_and_repeats(kind, cell):
    network = model(kind, cell=cell, num_decoder_layers=2)
    state = network.start(BATCH.source)
    _, state, _ = network.step(state, torch.full((3,), BOS))
    rows = torch.tensor([2, 0, 0, 1])
    tokens = torch.tensor([5, 6, 7])
    expected, after, _ = network.step(state, tokens)
    chosen, chosen_after, _ = network.step(network.select(state, rows), tokens[rows])
    torch.testing.assert_close(chosen, expected[rows])
    more, _, _ = network.step(after, tokens)
    chosen_more, _, _ = network.step(chosen_after, tokens[rows])
    torch.testing.assert_close(chosen_more, more[rows])


@every_kind
@torch.no_grad()
def test_a_step_leaves_its_state_alone(kind):
    network = model(kind)
    state = network.start(BATCH.source)
    before = copy.deepcopy(state)
    first, _, _ = network.step(state, torch.full((3,), BOS))
    again, _, _ = network.step(before, torch.full((3,), BOS))
    assert torch.equal(first, again)
    assert all(torch.equal(a, b) for a, b in zip(state.layers, before.layers, strict=True))


@every_attending
@every_cell
@pytest.mark.parametrize("layers", [1, 2])
def test_maps_are_the_steps_and_hide_padding(kind, cell, layers):
    network = model(kind, cell=cell, num_decoder_layers=layers)
    (result,) = network.maps(BATCH)
    assert result.weights.shape == (3, 1, 7, 6)
    assert (result.kind, result.layer, result.heads) == ("cross", 0, (0,))
    assert result.rows == tuple(range(7))
    assert (result.weights >= 0).all()
    if kind in SOFTMAX:
        torch.testing.assert_close(result.weights.sum(-1), torch.ones(3, 1, 7).double())
    for row, source in enumerate(SOURCES):
        assert (result.weights[row, ..., len(source) + 1 :] == 0).all()
        assert (result.weights[row, ..., : len(source) + 1] > 0).all() or kind not in SOFTMAX
    _, maps = steps(network, BATCH, attention=True)
    assert [m.rows for m in maps] == [(t,) for t in range(7)]
    assert {m.module for m in maps} == {result.module}
    torch.testing.assert_close(torch.cat([m.weights for m in maps], 2), result.weights)


@pytest.mark.parametrize("kind", ["none, initial", "none, every"])
def test_without_attention_there_are_no_maps_and_no_warning(kind):
    network = model(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert network.maps(BATCH) == []
        assert steps(network, BATCH, attention=True)[1] == []


@every_kind
@every_cell
@pytest.mark.parametrize("tied", ["all", "output", "none"])
def test_gradients_reach_every_parameter(kind, cell, tied):
    chosen = {"embedding": 6, "dim": 8, "attention_dim": 5, "tied": tied, **KINDS[kind]}
    network = RnnModel(
        RnnSettings(cell=cell, num_encoder_layers=2, num_decoder_layers=2, **chosen), 14, 14
    )
    torch.nn.functional.cross_entropy(
        network(BATCH).flatten(0, 1), BATCH.labels.flatten(), ignore_index=PAD
    ).backward()
    missing = [n for n, p in network.named_parameters() if p.grad is None or not p.grad.any()]
    assert missing == []


@every_attending
@every_cell
def test_looking_changes_nothing(kind, cell):
    """To the bit; Bahdanau's loop over all steps is then left for one step after another."""
    network = softly(model(kind, cell=cell)).float()
    parameters = list(network.parameters())
    plain = network(BATCH)
    with record(network):
        observed = network(BATCH)
    assert torch.equal(plain, observed)
    with torch.no_grad():
        assert torch.equal(network(BATCH), plain)
    for a, b in zip(
        torch.autograd.grad(plain.square().sum(), parameters),
        torch.autograd.grad(observed.square().sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@every_attending
def test_switching_off_takes_the_context_away(kind):
    network = softly(model(kind))
    plain = network(BATCH)
    with intervene(network, SwitchOff(kind="cross", heads=0, batch=1)):
        off = network(BATCH)
        stepped, _ = steps(network, BATCH)
    assert torch.equal(off[[0, 2]], plain[[0, 2]])
    assert (off[1] - plain[1]).abs().max() > 1e-4
    torch.testing.assert_close(stepped, off)


@every_attending
@pytest.mark.parametrize("layers", [1, 2])
def test_edits_address_rows_by_absolute_position(kind, layers):
    network = model(kind, num_decoder_layers=layers)
    plain = network(BATCH)
    uniform = Overwrite(kind="cross", rows=[4], weights=[1.0] * 3 + [0.0] * 3, renormalize=True)
    edits = [ForceAlignment(kind="cross", links={3: 1}), uniform]
    with intervene(network, edits):
        (changed,) = network.maps(BATCH)
        scores = network(BATCH)
        stepped, maps = steps(network, BATCH, attention=True)
    torch.testing.assert_close(stepped, scores)
    assert torch.equal(scores[:, :3], plain[:, :3])
    assert not torch.allclose(scores[:, 3], plain[:, 3])
    assert changed.weights[:, 0, 3].tolist() == [[0, 1, 0, 0, 0, 0]] * 3
    torch.testing.assert_close(changed.weights[0, 0, 4, :3], torch.full((3,), 1 / 3).double())
    torch.testing.assert_close(torch.cat([m.weights for m in maps], 2), changed.weights)


@every_attending
def test_gradients_flow_through_an_intervention(kind):
    network = softly(model(kind))
    with intervene(network, ForceAlignment(kind="cross", links={0: 0})):
        network(BATCH).square().sum().backward()
    assert all(p.grad is not None for p in network.decoder.parameters())


def test_tied_embeddings_are_one_matrix():
    settings = {"embedding": 6, "dim": 8}
    every = RnnModel(RnnSettings(tied="all", **settings), 14, 14)
    assert every.source.weight is every.target.weight is every.output.weight
    output = RnnModel(RnnSettings(tied="output", **settings), 13, 14)
    assert output.target.weight is output.output.weight
    none = RnnModel(RnnSettings(tied="none", **settings), 13, 14)
    assert none.target.weight is not none.output.weight
    with pytest.raises(InputError, match="13 source and 14 target"):
        RnnModel(RnnSettings(tied="all", **settings), 13, 14)


def test_no_parameter_is_stored_twice():
    network = model("luong, concat")
    assert set(network.state_dict()) == {n for n, _ in network.named_parameters()} | {
        "output.weight"
    }


def test_it_needs_a_source():
    with pytest.raises(ValueError, match="source"):
        model().start(None)


@every_kind
def test_autocast_leaves_recurrence_its_precision(kind):
    network = model(kind).float()
    expected = network.features(BATCH)
    with torch.autocast("cpu", torch.bfloat16):
        result = network.features(BATCH)
        result.square().sum().backward()
    torch.testing.assert_close(result, expected)


@every_kind
def test_dropout_is_for_training_alone(kind):
    network = model(kind, dropout=0.5, num_encoder_layers=2, num_decoder_layers=2)
    assert torch.equal(network(BATCH), network(BATCH))
    network.train()
    assert not torch.equal(network(BATCH), network(BATCH))


@every_kind
@pytest.mark.parametrize("width", [1, 3])
def test_search_finds_the_same_alone_and_together(kind, width):
    network = model(kind, num_decoder_layers=2)
    settings = SearchOptions(beam=width, n_best=width, max_length=6)
    together = search(network, source_of(SOURCES), settings)
    for source, expected in zip(SOURCES, together, strict=True):
        (alone,) = search(network, source_of([source]), settings)
        assert [hypothesis.tokens for hypothesis in alone] == [
            hypothesis.tokens for hypothesis in expected
        ]
        assert [hypothesis.score for hypothesis in alone] == pytest.approx(
            [hypothesis.score for hypothesis in expected]
        )
    best = [result[0] for result in together]
    given = score(network, source_of(SOURCES), [hypothesis.tokens for hypothesis in best])
    for hypothesis, other in zip(
        best, given, strict=True
    ):  # the given output has an end in any case
        result = other.token_log_probabilities[: len(hypothesis.token_log_probabilities)]
        assert result == pytest.approx(hypothesis.token_log_probabilities)


def test_monotonic_attention_never_looks_back():
    (result,) = model("monotonic").maps(BATCH)
    assert set(result.weights.unique().tolist()) == {0.0, 1.0}
    before = result.weights.cumsum(-1)
    assert (before[:, :, 1:] <= before[:, :, :-1]).all()


def reversals(count, generator):
    rows = torch.randint(5, 15, (count, 10), generator=generator).tolist()
    return batch_of(rows, [row[::-1] for row in rows])


def doublings(count, generator):
    """Each of five symbols twice: what can be written going forward only."""
    rows = torch.randint(5, 15, (count, 5), generator=generator).tolist()
    return batch_of(rows, [[x for x in row for _ in range(2)] for row in rows])


@cache
def trained(kind, task=reversals, batches=150):
    """A model that saw batches of ten symbols to be reversed, and its last loss a symbol."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    settings = RnnSettings(embedding=24, dim=32, attention_dim=24, dropout=0.0, **KINDS[kind])
    network = RnnModel(settings, 15, 15)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(batches):
        batch = task(48, generator)
        scores = network(batch).flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(scores, batch.labels.flatten())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
    return network.eval(), loss.item()


@pytest.fixture(scope="module")
def loss_without_attention():
    return trained("none, initial")[1]


@pytest.mark.parametrize("kind", SOFTMAX)
def test_attention_learns_to_reverse_what_one_vector_cannot_hold(kind, loss_without_attention):
    network, loss = trained(kind)
    assert loss < 0.2 * loss_without_attention
    symbols = [5, 9, 7, 12, 6, 8, 14, 5, 10, 11]
    state, token, written = network.start(source_of([symbols])), torch.tensor([BOS]), []
    for _ in range(11):
        scores, state, _ = network.step(state, token)
        token = scores.argmax(-1)
        written.append(int(token))
    assert written == [*symbols[::-1], EOS]


def test_bahdanau_looks_where_it_copies_from():
    """Symbol t of the reversal comes from place 9 − t: the map's largest weight is there or next.

    A recurrent encoder's state knows its neighbours, so that a place beside is as good.
    """
    network, _ = trained("bahdanau")
    (result,) = network.maps(reversals(20, torch.Generator().manual_seed(2)))
    position = result.weights[:, 0, :10].argmax(-1)
    assert ((position - (9 - torch.arange(10))).abs() <= 1).float().mean() > 0.9


@pytest.mark.parametrize("kind", ["graves", "monotonic"])
def test_what_moves_forward_learns_to_double(kind):
    network, _ = trained(kind, doublings, 200)
    batch = doublings(20, torch.Generator().manual_seed(2))
    assert (network(batch).argmax(-1) == batch.labels).double().mean() > 0.95
