"""Sampling: the right frequencies, the same for the same seed, whatever the batch."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from decoding.step_models import MODELS, TableModel, sources
from regard.config import SearchOptions
from regard.decoding import search, stream
from regard.decoding.sampling import draw

SOURCES = st.lists(st.lists(st.integers(5, 20), min_size=1, max_size=4), min_size=1, max_size=4)


def frequencies(scores, temperature=1.0, top_k=0, top_p=1.0, count=20_000):
    """How often each token is drawn by evenly spread chance."""
    uniform = (torch.arange(count) + 0.5) / count
    tokens = draw(scores.expand(count, -1), uniform, temperature, top_k, top_p)
    return tokens.bincount(minlength=len(scores)) / count


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (3, 1.0), (0, 0.7), (6, 0.6), (99, 0.01)])
def test_frequencies_are_those_of_an_outside_filter(temperature, top_k, top_p):
    import transformers

    scores = torch.randn(12) * 2
    scores[[2, 7]] = -torch.inf
    wanted = scores[None] / temperature
    if top_k:
        wanted = transformers.TopKLogitsWarper(top_k)(None, wanted)
    if top_p < 1:
        wanted = transformers.TopPLogitsWarper(top_p)(None, wanted)
    got = frequencies(scores, temperature, top_k, top_p)
    assert torch.allclose(got, wanted[0].softmax(0), atol=2e-4)
    assert torch.equal(got > 0, wanted[0].softmax(0) > 1e-4)


def test_a_nucleus_of_few_tokens_beside_one_of_many():
    flat, peaked = torch.zeros(1000), torch.randn(1000) * 3
    uniform = torch.rand(2)
    both = draw(torch.stack([flat, peaked]), uniform, 1.0, 0, 0.9)
    alone = [
        draw(row[None], u[None], 1.0, 0, 0.9)
        for row, u in zip((flat, peaked), uniform, strict=True)
    ]
    assert both.tolist() == [int(u) for u in alone]
    assert (frequencies(flat, top_p=0.5) > 0).nonzero()[:, 0].tolist() == list(range(500))
    order = peaked.argsort(descending=True)
    enough = int((peaked.softmax(0)[order].cumsum(0) < 0.9).sum()) + 1
    drawable = (frequencies(peaked, top_p=0.9) > 0).nonzero()[:, 0].tolist()
    assert enough < 256 and drawable == sorted(order[:enough].tolist())


def test_the_ends_of_chance():
    scores = torch.tensor([[-torch.inf, 0.0, 1.0, -torch.inf]]).expand(2, -1)
    ends = torch.tensor([0.0, 1 - 2**-24])
    for top_k, top_p in [(0, 1.0), (3, 1.0), (0, 0.999), (2, 0.999)]:
        assert set(draw(scores, ends, 1.0, top_k, top_p).tolist()) == {1, 2}


@given(st.integers(0, 1000), SOURCES, st.sampled_from([(0, 1.0), (2, 1.0), (0, 0.8)]))
def test_a_sentence_draws_the_same_in_any_batch(seed, sentences, only):
    model = TableModel(3)
    settings = SearchOptions(sample=True, n_best=3, seed=seed, top_k=only[0], top_p=only[1])
    together = search(model, sources(*sentences), settings)
    assert together == search(model, sources(*sentences), settings)
    for sample_id, (sentence, results) in enumerate(zip(sentences, together, strict=True)):
        assert search(model, sources(sentence), settings, sample_ids=[sample_id]) == [results]
        fewer = SearchOptions(sample=True, n_best=1, seed=seed, top_k=only[0], top_p=only[1])
        (alone,) = search(model, sources(sentence), fewer, sample_ids=[sample_id])
        assert alone[0] in results


@pytest.mark.parametrize("kind", MODELS)
def test_seeds_and_samples_differ(kind):
    model, source = MODELS[kind](), sources([9, 8, 7], [9, 8, 7])
    first, again, other = (
        search(model, source, SearchOptions(sample=True, n_best=4, seed=seed)) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len({results.tokens for hyps in first for results in hyps}) >= 4
    for hyps in first:
        order = [-results.score for results in hyps]
        assert order == sorted(order)


def test_first_tokens_come_as_often_as_they_are_probable():
    model = TableModel(4)
    (results,) = search(model, sources([5]), SearchOptions(sample=True, n_best=4000, max_length=1))
    shares = [model.logs([5], [token])[0] for token in (5, 6, 7, 3)]
    wanted = torch.tensor(shares).softmax(0)  # of those that may be written
    first = torch.tensor([(*hyp.tokens, 3)[0] for hyp in results])
    got = torch.stack([(first == token).float().mean() for token in (5, 6, 7, 3)])
    assert torch.allclose(got, wanted, atol=0.03)


def test_one_likely_token_is_greedy():
    model, source = TableModel(8), sources([5, 6], [7])
    greedy = search(model, source, SearchOptions(beam=1))
    for only in ({"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}):
        assert search(model, source, SearchOptions(sample=True, **only)) == greedy


def test_a_stream_writes_what_a_search_finds():
    model = TableModel(6)
    for settings in (SearchOptions(beam=1), SearchOptions(sample=True, seed=3)):
        ((results,),) = search(model, sources([5, 7]), settings, prefix=[[6]], sample_ids=[2])
        steps = list(
            stream(model, sources([5, 7]), settings, prefix=[6], sample_id=2, attention=True)
        )
        tokens = [step.token for step in steps if not step.finished]
        assert tuple(tokens) == results.tokens
        logs = tuple(step.log_probability for step in steps)
        assert logs == results.token_log_probabilities
        assert [step.forced for step in steps] == [True] + [False] * (len(steps) - 1)
        assert steps[-1].finished == results.finished
        assert all(len(step.maps) == 1 for step in steps)
        assert len({step.maps[0] for step in steps}) == len(steps)


def test_a_stream_computes_only_what_is_asked_for():
    model = TableModel(6, ending=-50.0)
    steps = stream(model, None, SearchOptions(sample=True))
    assert model.rows == []
    next(steps), next(steps)
    assert model.rows == [1, 1]
    assert not torch.is_inference_mode_enabled()
    assert next(steps).maps == []
