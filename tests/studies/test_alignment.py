"""Error rates of the study on alignment, sentence by sentence."""

import pytest

from regard.corpus.grammar import sample
from regard.evaluation.aer import grammar_alignment_error_rate
from regard.studies.translators.alignment import (
    diagonal_links,
    error_interval,
    error_rate,
    sentence_error,
)


@pytest.fixture(scope="module")
def pairs():
    return sample("test", 30, max_words=12)


def test_sentences_add_up_to_the_error_rate(pairs):
    links = [diagonal_links(pair) for pair in pairs]
    errors = [sentence_error(own, pair) for own, pair in zip(links, pairs, strict=True)]
    expected = grammar_alignment_error_rate(links, pairs).error_rate
    assert error_rate(errors) == pytest.approx(expected)
    interval = error_interval(errors)
    assert interval.low < interval.mean < interval.high
    assert interval == error_interval(errors)


def test_gold_links_have_no_error_and_the_diagonal_is_monotone(pairs):
    for pair in pairs:
        gold = frozenset((link.source, link.target) for link in pair.links if link.sure)
        assert sentence_error(gold, pair).rate == pytest.approx(0)
        sources = [source for source, _ in sorted(diagonal_links(pair), key=lambda link: link[1])]
        assert sources == sorted(sources)
        assert sources[-1] == len(pair.source_words) - 1 or len(sources) < len(pair.source_words)
