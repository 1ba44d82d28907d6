"""Scoring, alternatives and confidence, on every kind of model."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.step_models import MODELS, TableModel, sources, transformer
from regard.config import SearchOptions
from regard.decoding import (
    alternatives,
    score,
    search,
    stream,
    word_confidence,
)
from regard.errors import InputError
from regard.models.batch import batch_of
from regard.text import EOS, UNK

SOURCE = ([9, 8, 7], [12, 30], [20])


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("width", [1, 4])
def test_what_search_finds_scores_as_search_said(kind, width):
    model = MODELS[kind]()
    results = [hyps[0] for hyps in search(model, sources(*SOURCE), SearchOptions(beam=width))]
    scored = score(model, sources(*SOURCE), [hyp.tokens for hyp in results])
    for hyp, other in zip(results, scored, strict=True):
        count = len(hyp.token_log_probabilities)
        assert other.tokens == hyp.tokens and other.finished
        assert other.token_log_probabilities[:count] == pytest.approx(
            hyp.token_log_probabilities, abs=1e-4
        )
        if hyp.finished:
            assert other.score == pytest.approx(hyp.score, abs=1e-4)


def test_scores_are_those_of_the_model_itself():
    model, targets = transformer(), [[5, 6, 7], [], [8]]
    batch = batch_of([*SOURCE], targets)
    logs = model(batch).log_softmax(-1).gather(2, batch.labels[..., None])[..., 0]
    for row, results in zip(logs.tolist(), score(model, batch.source, targets), strict=True):
        length = len(results.token_log_probabilities)
        assert results.token_log_probabilities == pytest.approx(row[:length], abs=1e-5)


@given(st.integers(0, 100), st.lists(st.integers(5, 7), max_size=5), st.integers(0, 5))
def test_alternatives_are_the_best_other_tokens(seed, tokens, position):
    position = min(position, len(tokens))
    model = TableModel(seed)
    results = alternatives(model, sources([5, 6]), tokens, position, 9)
    before, given_ = tokens[:position], [*tokens, EOS][position]
    others = [token for token in (EOS, 5, 6, 7) if token != given_]
    probability = {token: math.exp(model.logs([5, 6], [*before, token])[-1]) for token in others}
    assert [alternative.token for alternative in results] == sorted(
        others, key=lambda token: -probability[token]
    )
    assert [alternative.probability for alternative in results] == pytest.approx(
        [probability[alternative.token] for alternative in results], rel=1e-4
    )
    assert alternatives(model, sources([5, 6]), tokens, position, 1) == results[:1]
    completed = alternatives(
        model, sources([5, 6]), tokens, position, 9, options=SearchOptions(beam=2)
    )
    assert [alternative[:2] for alternative in completed] == [
        alternative[:2] for alternative in results
    ]
    for alternative in completed:
        whole = [*alternative.continuation.tokens, *[EOS] * alternative.continuation.finished]
        assert whole[: position + 1] == [*before, alternative.token]
        assert alternative.continuation.token_log_probabilities == pytest.approx(
            model.logs([5, 6], whole), abs=1e-4
        )


@pytest.mark.parametrize("kind", MODELS)
def test_alternatives_of_every_kind_of_model(kind):
    model, source = MODELS[kind](), sources([9, 8, 7])
    ((best,),) = search(model, source, SearchOptions(beam=1))
    results = alternatives(model, source, best.tokens, 1, 3, options=SearchOptions(beam=1))
    assert len(results) == 3 and best.tokens[1] not in [
        alternative.token for alternative in results
    ]
    for alternative in results:
        begin = [best.tokens[0], alternative.token]
        if alternative.token != EOS:
            ((alone,),) = search(model, source, SearchOptions(beam=1), prefix=[begin])
            assert alone.tokens == alternative.continuation.tokens
        assert alternative.probability < math.exp(best.token_log_probabilities[1])
        assert alternative.token != UNK


def test_confidence_is_the_chain_rule():
    model = TableModel(2)
    ((results,),) = search(model, sources([5]), SearchOptions(beam=1), prefix=[[5, 6, 7]])
    tokens = [math.exp(log) for log in results.token_log_probabilities]
    words = word_confidence(results, [[0], [1, 2], [2], []])
    assert words == pytest.approx([tokens[0], tokens[1] * tokens[2], tokens[2], 1.0])
    with pytest.raises(InputError, match="token indices"):
        word_confidence(results, [[len(results.tokens)]])


def test_a_stream_of_the_transformer_shows_its_maps():
    model = transformer()
    steps = list(stream(model, sources([9, 8, 7]), SearchOptions(max_length=5), attention=True))
    assert all(step.maps for step in steps)
    assert all(layer_map.weights.shape[-2] == 1 for step in steps for layer_map in step.maps)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda model: score(model, sources([5]), [[5], [6]]), "each of 1 sentences, got 2"),
        (lambda model: score(model, sources([5]), [[5] * 50]), "at most 50 tokens.*got 51"),
        (lambda model: score(model, sources([5]), [[99]]), "got 99"),
        (lambda model: alternatives(model, sources([5]), [5], 2, 3), "from 0 to 1.*got 2"),
        (lambda model: alternatives(model, sources([5]), [5], 0, 0), "count.*got 0"),
        (
            lambda model: alternatives(model, sources([5], [6]), [5], 0, 1),
            "one sentence, got 2",
        ),
        (lambda model: alternatives(model, None, [5] * 60, 50, 1), "below 50.*got 50"),
        (lambda model: stream(model, sources([5], [6]), SearchOptions()), "one sentence"),
    ],
)
def test_what_is_wrong_is_said(ask, message):
    with pytest.raises(InputError, match=message):
        ask(TableModel())
