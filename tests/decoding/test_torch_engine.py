"""The engine of torch: any number of sentences, in batches of similar length on several cores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.step_models import MODELS, TableModel, sources
from regard.config import SearchOptions
from regard.decoding import Constraints, RequiredPhrase, TokenTexts, TorchEngine, score, search
from regard.text import EOS
from regard.text.vocabulary import train_words

TOKENIZER = train_words(["a b c"], None, "en")  # the ids 5, 6 and 7, as the table's words
SENTENCES = [[5 + (number * step) % 9 for step in range(1 + number % 4)] for number in range(11)]
ALONE = {"batch_tokens": 1}  # every sentence is a batch


def engine(model, threads=1):
    return TorchEngine(model, model, lambda ids: sources(*ids), threads)


@given(st.integers(0, 1000), st.sampled_from([1, 12, 40, 4096]), st.integers(1, 3))
def test_sentences_are_found_in_any_batches_as_alone(seed, batch_tokens, width):
    model = TableModel(seed)
    options = SearchOptions(beam=width, n_best=width, batch_tokens=batch_tokens)
    found = dict(engine(model).results(SENTENCES, options))
    assert list(found) == list(range(len(SENTENCES)))
    for row, sentence in enumerate(SENTENCES):
        assert [found[row]] == search(model, sources(sentence), options)
    samples = SearchOptions(sample=True, n_best=2, batch_tokens=batch_tokens)
    together = search(model, sources(*SENTENCES), samples)
    assert [hyps for _, hyps in engine(model).results(SENTENCES, samples)] == together


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fork", [False, True])
def test_what_is_made_of_batches_is_in_the_order_of_the_sentences(threads, fork):
    model, options = MODELS["table"](), SearchOptions(beam=2, **ALONE)
    many = SENTENCES * 40

    def finish(rows, hypotheses):
        return [(row, best.tokens) for row, (best, *_) in zip(rows, hypotheses, strict=True)]

    done = engine(model, threads).finished_results(many, options, finish, fork=fork)
    expected = search(model, sources(*SENTENCES), options)
    assert done == [(row, expected[row % 11][0].tokens) for row in range(len(many))]


def test_constraints_are_those_of_each_sentence():
    model, texts = TableModel(2, ending=1.0), TokenTexts(TOKENIZER)
    phrases = [[RequiredPhrase(text, TOKENIZER, texts)] for text in ("a", "b b", "c")]
    constraints = Constraints([6], [lambda tokens: (7,) if len(tokens) == 1 else ()], phrases)
    options = SearchOptions(beam=3, max_length=9, **ALONE)
    for row, (best,) in engine(model).results(SENTENCES[:3], options, constraints):
        assert best.tokens[0] == 6 and best.tokens[1:2] != (7,)
        assert phrases[row][0].occurs(texts.join(best.tokens))


def test_nothing_is_added_after_the_end():
    model, constraints = TableModel(3), Constraints([5, 6, EOS])
    found = engine(model).results(SENTENCES, SearchOptions(beam=2), constraints)
    given_output = score(model, sources(*SENTENCES), [[5, 6]] * len(SENTENCES))
    assert [hypotheses for _, hypotheses in found] == [[best] for best in given_output]


def test_a_stream_is_the_greedy_output():
    model, options = TableModel(4), SearchOptions(beam=1)
    ((best,),) = search(model, sources([5, 6]), options, prefix=[[7]])
    streamed = [step.token for step in engine(model).stream([5, 6], options, [7])]
    assert streamed == [*best.tokens, *[EOS] * best.finished]
