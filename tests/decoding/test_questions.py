"""Scoring, alternatives, confidence and ensembles, on every kind of writer."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from decoding.writers import EOS, UNK, WRITERS, TableWriter, gru, reading, transformer
from regard.config import SearchOptions
from regard.decoding import (
    Ensemble,
    alternatives,
    score,
    search,
    stream,
    token_confidence,
    word_confidence,
)
from regard.errors import InputError
from regard.models.batch import batch_of

SOURCE = ([9, 8, 7], [12, 30], [20])


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("width", [1, 4])
def test_what_search_finds_scores_as_search_said(kind, width):
    writer = WRITERS[kind]()
    found = [kept[0] for kept in search(writer, reading(*SOURCE), SearchOptions(beam=width))]
    scored = score(writer, reading(*SOURCE), [one.tokens for one in found])
    for one, other in zip(found, scored, strict=True):
        count = len(one.token_log_probabilities)
        assert other.tokens == one.tokens and other.finished
        assert other.token_log_probabilities[:count] == pytest.approx(
            one.token_log_probabilities, abs=1e-4
        )
        if one.finished:
            assert other.score == pytest.approx(one.score, abs=1e-4)


def test_scores_are_those_of_the_model_itself():
    model, targets = transformer(), [[5, 6, 7], [], [8]]
    batch = batch_of([*SOURCE], targets)
    logs = model(batch).log_softmax(-1).gather(2, batch.labels[..., None])[..., 0]
    for row, found in zip(logs.tolist(), score(model, batch.source, targets), strict=True):
        length = len(found.token_log_probabilities)
        assert found.token_log_probabilities == pytest.approx(row[:length], abs=1e-5)


@given(st.integers(0, 100), st.lists(st.integers(5, 7), max_size=5), st.integers(0, 5))
def test_alternatives_are_the_best_other_tokens(seed, tokens, position):
    position = min(position, len(tokens))
    writer = TableWriter(seed)
    found = alternatives(writer, reading([5, 6]), tokens, position, 9)
    before, given_ = tokens[:position], [*tokens, EOS][position]
    others = [token for token in (EOS, 5, 6, 7) if token != given_]
    probability = {token: math.exp(writer.logs([5, 6], [*before, token])[-1]) for token in others}
    assert [one.token for one in found] == sorted(others, key=lambda token: -probability[token])
    assert [one.probability for one in found] == pytest.approx(
        [probability[one.token] for one in found], rel=1e-4
    )
    assert alternatives(writer, reading([5, 6]), tokens, position, 1) == found[:1]
    completed = alternatives(
        writer, reading([5, 6]), tokens, position, 9, settings=SearchOptions(beam=2)
    )
    assert [one[:2] for one in completed] == [one[:2] for one in found]
    for one in completed:
        whole = [*one.continuation.tokens, *[EOS] * one.continuation.finished]
        assert whole[: position + 1] == [*before, one.token]
        assert one.continuation.token_log_probabilities == pytest.approx(
            writer.logs([5, 6], whole), abs=1e-4
        )


@pytest.mark.parametrize("kind", WRITERS)
def test_alternatives_of_every_kind_of_writer(kind):
    writer, source = WRITERS[kind](), reading([9, 8, 7])
    ((best,),) = search(writer, source, SearchOptions(beam=1))
    found = alternatives(writer, source, best.tokens, 1, 3, settings=SearchOptions(beam=1))
    assert len(found) == 3 and best.tokens[1] not in [one.token for one in found]
    for one in found:
        begin = [best.tokens[0], one.token]
        if one.token != EOS:
            ((alone,),) = search(writer, source, SearchOptions(beam=1), prefix=[begin])
            assert alone.tokens == one.continuation.tokens
        assert one.probability < math.exp(best.token_log_probabilities[1])
        assert one.token != UNK


def test_confidence_is_the_chain_rule():
    writer = TableWriter(2)
    ((found,),) = search(writer, reading([5]), SearchOptions(beam=1), prefix=[[5, 6, 7]])
    tokens = token_confidence(found)
    assert tokens == pytest.approx([math.exp(log) for log in found.token_log_probabilities])
    words = word_confidence(found, [[0], [1, 2], [2], []])
    assert words == pytest.approx([tokens[0], tokens[1] * tokens[2], tokens[2], 1.0])
    mean = word_confidence(found, [[1, 2]], mean=True)
    assert mean == pytest.approx([math.sqrt(tokens[1] * tokens[2])])
    with pytest.raises(InputError, match="tokens at"):
        word_confidence(found, [[len(found.tokens)]])


def test_an_ensemble_is_the_mean_of_probabilities():
    members = [TableWriter(1, vocab=40), gru(), transformer()]
    together, source = Ensemble(members), reading(*SOURCE)
    assert together.max_length == 40
    start = torch.full((3,), 2)
    mean = torch.stack(
        [member.step(member.start(source), start)[0].softmax(-1) for member in members]
    ).mean(0)
    got, _, maps = together.step(together.start(source), start, look=True)
    assert torch.allclose(got.exp(), mean, atol=1e-6)
    own = [len(member.step(member.start(source), start, look=True)[2]) for member in members]
    assert len(maps) == sum(own) and own[2] > 0
    found = search(together, source, SearchOptions(beam=3))
    targets = [kept[0].tokens for kept in found]
    for one, scored in zip(found, score(together, source, targets), strict=True):
        assert scored.token_log_probabilities[: len(one[0].tokens)] == pytest.approx(
            one[0].token_log_probabilities[: len(one[0].tokens)], abs=1e-4
        )


@pytest.mark.parametrize("kind", ["table", "gru", "transformer"])
def test_an_ensemble_of_one_twice_is_that_one(kind):
    writer, source = WRITERS[kind](), reading(*SOURCE)
    for settings in (
        SearchOptions(beam=1),
        SearchOptions(beam=4, n_best=2),
        SearchOptions(sample=True),
    ):
        alone = search(writer, source, settings)
        twice = search(Ensemble([writer, writer]), source, settings)
        assert [[one.tokens for one in found] for found in alone] == [
            [one.tokens for one in found] for found in twice
        ]


def test_a_stream_of_the_transformer_shows_its_maps():
    model = transformer()
    steps = list(stream(model, reading([9, 8, 7]), SearchOptions(max_length=5), look=True))
    assert all(step.maps for step in steps)
    assert all(one.weights.shape[-2] == 1 for step in steps for one in step.maps)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda writer: score(writer, reading([5]), [[5], [6]]), "2 targets for 1"),
        (lambda writer: score(writer, reading([5]), [[5] * 50]), "51 tokens.* 50"),
        (lambda writer: score(writer, reading([5]), [[99]]), "id 99"),
        (lambda writer: alternatives(writer, reading([5]), [5], 2, 3), "position 2"),
        (lambda writer: alternatives(writer, reading([5]), [5], 0, 0), "count is 0"),
        (lambda writer: alternatives(writer, reading([5], [6]), [5], 0, 1), "2 came"),
        (lambda writer: alternatives(writer, None, [5] * 60, 50, 1), "beyond the 50"),
        (lambda writer: stream(writer, reading([5], [6]), SearchOptions()), "one sentence"),
        (lambda writer: Ensemble([]), "no members"),
        (
            lambda writer: search(
                Ensemble([writer, TableWriter(vocab=9)]), reading([5]), SearchOptions()
            ),
            "vocabularies of",
        ),
    ],
)
def test_what_is_wrong_is_said(ask, message):
    with pytest.raises(InputError, match=message):
        ask(TableWriter())
