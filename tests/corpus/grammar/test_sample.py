"""Sampling of the built-in corpus: one translation per source, lengths, and bad arguments."""

import pytest

from grammar_statistics import statistics
from regard.corpus.grammar import sample
from regard.corpus.grammar.tokenization import split_words

LANGUAGES = ("fr", "zh")


def test_one_translation_per_source():
    for language in LANGUAGES:
        translations: dict[str, str] = {}
        for seed in range(6):
            for pair in sample("train", 1500, seed=seed, max_words=8, language=language):
                assert translations.setdefault(pair.source, pair.target) == pair.target
        assert len(translations) < 6 * 1500  # the samples overlap, or nothing was tested


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_one_translation_per_source_in_fifty_thousand(language):
    pairs = sample("train", 50_000, language=language)
    assert statistics(pairs)["source_vocabulary"] <= 900
    translations = {pair.source: pair.target for pair in pairs}
    assert len(translations) == len(pairs)
    for pair in sample("train", 50_000, seed=1, language=language):
        assert translations.get(pair.source, pair.target) == pair.target


@pytest.mark.parametrize(("low", "high"), [(0, 10), (0, 30), (25, 30), (12, 18), (50, 60)])
def test_lengths(low, high):
    pairs = sample("test", 100, min_words=low, max_words=high)
    lengths = [len(pair.source_words) for pair in pairs]
    assert low <= min(lengths) and max(lengths) <= high
    if high == 60:
        assert max(lengths) >= 59
        assert all("long" in pair.phenomena for pair in pairs)


@pytest.mark.parametrize(
    "arguments",
    [{"split": "all"}, {"language": "de"}, {"min_words": 9, "max_words": 8}, {"max_words": 2}],
)
def test_bad_arguments(arguments):
    with pytest.raises(ValueError, match=r"\.$"):
        sample(**{"split": "train", "count": 1, **arguments})
    with pytest.raises(ValueError, match="got 'de'"):
        split_words("Guten Tag", "de")
