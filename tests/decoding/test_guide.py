"""Groups, coverage and required phrases; without them, plain beam search."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.step_models import (
    MODELS,
    SENTENCES,
    TableModel,
    enumerated,
    sources,
    transformer,
)
from regard.attention import AttentionMap
from regard.config import AlignmentSettings, SearchOptions
from regard.decoding import RequiredPhrase, TokenTexts, beam_search, prepare_request, search
from regard.decoding.constraints import option_bans
from regard.decoding.guide import Guide
from regard.errors import InputError
from regard.text import BOS, EOS
from regard.text.vocabulary import train_words

SEEDS = st.integers(0, 10_000)
ALPHAS = st.sampled_from([0.0, 0.6, 1.0, 2.0])
SOURCES = st.lists(st.lists(st.integers(5, 20), min_size=1, max_size=4), min_size=1, max_size=3)
GRAINS = st.sampled_from([None, 2.0])
TOKENIZER = train_words(["a b c"], None, "en")  # the ids 5, 6 and 7, as the table's words
TEXTS = TokenTexts(TOKENIZER)


def phrase(text):
    return RequiredPhrase(text, TOKENIZER, TEXTS)


@given(SEEDS, SOURCES, ALPHAS, st.integers(1, 6), GRAINS, st.integers(0, 2))
def test_nothing_to_guide_is_plain_beam_search(seed, sentences, alpha, width, grain, size):
    model = TableModel(seed, grain=grain, ending=1.0)
    options = SearchOptions(
        beam=width, n_best=width, length_penalty=alpha, max_length=8, no_repeat_ngram=size
    )
    begin = [[5, 6][: index % 3] for index in range(len(sentences))]
    expected = search(model, sources(*sentences), options, prefix=begin)
    bans = option_bans(options)
    request = prepare_request(model, sources(*sentences), max_length=8, prefix=begin, bans=bans)
    assert beam_search(model, request, options, Guide(options)) == expected
    nothing = [[] for _ in sentences]
    assert search(model, sources(*sentences), options, prefix=begin, phrases=nothing) == expected


@pytest.mark.parametrize("kind", MODELS)
def test_nothing_to_guide_in_every_kind_of_model(kind):
    model, options = MODELS[kind](), SearchOptions(beam=4, n_best=4)
    request = prepare_request(model, sources(*SENTENCES))
    guided = beam_search(model, request, options, Guide(options))
    for mine, plain in zip(guided, search(model, sources(*SENTENCES), options), strict=True):
        assert [hyp.tokens for hyp in mine] == [hyp.tokens for hyp in plain]


@given(SEEDS, SOURCES, st.integers(2, 4), st.floats(0, 5))
def test_groups_are_different_sorted_and_as_in_a_batch(seed, sentences, groups, penalty):
    model = TableModel(seed, ending=1.0)
    options = SearchOptions(
        beam=2 * groups, n_best=groups, beam_groups=groups, diversity_penalty=penalty, max_length=8
    )
    together = search(model, sources(*sentences), options)
    for sentence, results in zip(sentences, together, strict=True):
        assert search(model, sources(sentence), options)[0] == results
        assert 1 <= len({(hyp.tokens, hyp.finished) for hyp in results}) == len(results) <= groups
        for hyp in results:
            logs = model.logs(sentence, [*hyp.tokens, *[EOS] * hyp.finished])
            assert hyp.token_log_probabilities == pytest.approx(logs, abs=1e-5)


def test_groups_differ_more_than_a_plain_beam():
    def first_tokens(**more):
        found = 0
        for seed in range(20):
            options = SearchOptions(beam=4, n_best=3, max_length=6, **more)
            (results,) = search(TableModel(seed), sources([5]), options)
            found += len({hyp.tokens[:1] for hyp in results})
        return found

    plain, diverse = first_tokens(), first_tokens(beam_groups=4, diversity_penalty=5.0)
    assert diverse > plain
    # the first group is not disturbed by the others: it finds what a beam of its width does
    for seed in range(10):
        options = SearchOptions(beam=4, n_best=4, beam_groups=2, diversity_penalty=9.0)
        (results,) = search(TableModel(seed), sources([5]), options)
        ((alone,),) = search(TableModel(seed), sources([5]), SearchOptions(beam=2))
        assert alone in results


class AttendingModel(TableModel):
    """A table whose step attends to the source token with the number of the token before."""

    def step(self, state, tokens, attention=False):
        logits, state, _ = super().step(state, tokens)
        weights = torch.zeros(len(tokens), 2, 1, 6)
        weights[torch.arange(len(tokens)), 1, 0, (tokens % 3)] = 1.0
        return logits, state, [AttentionMap(weights, "cross", 0, (0, 1), (0,), "")]


HEAD = AlignmentSettings(layer=0, head=1)


def penalty(tokens, length, head=1):
    """The coverage penalty of `AttendingModel` with a weight of 1."""
    read = [BOS, *tokens]
    summed = [sum(token % 3 == place for token in read) for place in range(length)]
    scale = 1.0 if head == 1 else 0.5
    return sum(math.log(min(max(scale * part, 1e-6), 1.0)) for part in summed)


@settings(max_examples=12)
@given(SEEDS, SOURCES, st.sampled_from([0.05, 0.2, 1.0]), ALPHAS)
def test_coverage_is_part_of_the_score_and_changes_the_order(seed, sentences, weight, alpha):
    model = AttendingModel(seed)
    options = SearchOptions(
        beam=130, n_best=130, max_length=4, length_penalty=alpha, coverage_penalty=weight
    )
    together = search(model, sources(*sentences), options, alignment=HEAD)
    for sentence, results in zip(sentences, together, strict=True):
        wanted = {
            (tokens, finished): score
            + weight * penalty(tokens if finished else tokens[:-1], len(sentence) + 1)
            for tokens, score, finished in enumerated(model, sentence, 4, alpha)
        }
        found = {(hyp.tokens, hyp.finished): hyp.score for hyp in results}
        assert found == pytest.approx(wanted, abs=1e-4)
        assert [hyp.score for hyp in results] == sorted(found.values(), reverse=True)


def test_coverage_without_a_head_is_the_mean_of_the_last_layer():
    options = SearchOptions(beam=2, coverage_penalty=1.0, max_length=3)
    ((mean,),) = search(AttendingModel(2), sources([9]), options)
    read = mean.tokens if mean.finished else mean.tokens[:-1]
    plain = mean.log_probability / (len(mean.tokens) + mean.finished)
    assert mean.score == pytest.approx(plain + penalty(read, 2, head=None), abs=1e-4)


def test_coverage_of_a_real_model_and_none_of_one_without_attention():
    options = SearchOptions(beam=3, coverage_penalty=0.3, max_length=3)
    results = search(transformer(), sources(*SENTENCES), options, alignment=AlignmentSettings(1, 0))
    lower = [
        hyp.log_probability / (len(hyp.tokens) + hyp.finished) - hyp.score for (hyp,) in results
    ]
    assert min(lower) > -1e-9 and max(lower) > 0.01
    with pytest.raises(InputError, match="cross-attention"):
        search(MODELS["gru"](), sources([9]), options)
    with pytest.raises(InputError, match="models with a source"):
        search(TableModel(), None, options)


PHRASES = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "a b", "b a", "c c"]), max_size=2),
    min_size=1,
    max_size=3,
)


@settings(max_examples=50)
@given(SEEDS, PHRASES, st.integers(1, 4), st.integers(6, 9))
def test_required_phrases_are_in_every_best_output(seed, required, width, limit):
    model = TableModel(seed, ending=2.0)
    sentences = [[5 + index] for index in range(len(required))]
    phrases = [[phrase(text) for text in texts] for texts in required]
    options = SearchOptions(beam=width, max_length=limit)
    together = search(model, sources(*sentences), options, phrases=phrases)
    for sentence, own, texts, (hyp,) in zip(sentences, phrases, required, together, strict=True):
        written = f" {TOKENIZER.decode(hyp.tokens)} "
        assert all(f" {text} " in written for text in texts)
        logs = model.logs(sentence, [*hyp.tokens, *[EOS] * hyp.finished])
        assert hyp.token_log_probabilities == pytest.approx(logs, abs=1e-5)
        assert search(model, sources(sentence), options, phrases=[own])[0] == [hyp]


@settings(max_examples=12)
@given(SEEDS, st.sampled_from(["a", "b c", "c c"]), ALPHAS)
def test_a_wide_beam_finds_the_best_output_with_a_phrase(seed, text, alpha):
    model = TableModel(seed)
    options = SearchOptions(beam=300, length_penalty=alpha, max_length=5)
    ((hyp,),) = search(model, sources([6]), options, phrases=[[phrase(text)]])
    wanted = next(
        tokens
        for tokens, _, finished in enumerated(model, [6], 5, alpha)
        if f" {text} " in f" {TOKENIZER.decode(tokens)} "
    )
    assert hyp.tokens == wanted


@settings(max_examples=40)
@given(SEEDS)
def test_what_the_best_output_has_is_no_restriction(seed):
    model, options = TableModel(seed), SearchOptions(beam=4, max_length=6)
    ((free,),) = search(model, sources([6]), options)
    texts = TOKENIZER.decode(free.tokens).split()[:1] if free.finished else []
    ((hyp,),) = search(model, sources([6]), options, phrases=[[phrase(text) for text in texts]])
    assert hyp.score >= free.score - 1e-6 or not texts


def test_a_phrase_that_cannot_be_written_does_not_stop_the_search():
    ((free,),) = search(TableModel(4), sources([5]), SearchOptions(beam=3))
    unknown = phrase("unknown")
    assert len(unknown) == 0 and not unknown.occurs(TEXTS.join(free.tokens))
    assert search(TableModel(4), sources([5]), SearchOptions(beam=3), phrases=[[unknown]]) == [
        [free]
    ]
    too_long = [[phrase("a b c a b c")]]
    ((cut,),) = search(TableModel(4), sources([5]), SearchOptions(max_length=4), phrases=too_long)
    assert len(cut.tokens) <= 4
    with pytest.raises(InputError, match="leave sample out"):
        search(TableModel(), sources([5]), SearchOptions(sample=True), phrases=[[phrase("a")]])


def test_a_phrase_is_placed_where_the_model_attends_to_what_it_translates():
    model = AttendingModel(0)
    model.table[:] = 0.0  # all outputs of a length are equally probable
    options = SearchOptions(beam=200, n_best=20, max_length=4)
    for position, before in ((0, 6), (1, 7)):  # read after these tokens
        required = [[phrase("a").translating([position])]]
        results, *_ = search(model, sources([9, 9]), options, phrases=required, alignment=HEAD)
        best = [hyp for hyp in results if hyp.score == results[0].score]
        for hyp in best:
            assert hyp.tokens[hyp.tokens.index(5) - 1] == before
        assert results[0].score > results[-1].score - 1e-9 and len(best) > 1


def test_more_groups_than_hypotheses_are_refused():
    with pytest.raises(InputError, match="beam_groups=3, beam=2"):
        search(TableModel(), sources([5]), SearchOptions(beam=2, beam_groups=3))
    for name, least in (("beam_groups", 1), ("diversity_penalty", 0), ("coverage_penalty", 0)):
        with pytest.raises(InputError, match=f"decoding.{name} must be at least {least}"):
            SearchOptions(**{name: -1})
