"""What makes training sentences easier to learn from than the others."""

import pytest

from regard.corpus.grammar import sample
from regard.corpus.grammar.vocabulary import NOUNS


def test_share_of_coreferences_whose_nouns_have_the_same_gender():
    pairs = sample("train", 2000, same_gender=0.5)
    same = [
        NOUNS[pair.source_words[note.antecedent]].gender
        == NOUNS[pair.source_words[note.distractor]].gender
        for pair in pairs
        for note in pair.coreference
    ]
    assert abs(sum(same) / len(same) - 0.5) < 0.06
    with pytest.raises(ValueError, match="same_gender must be between 0 and 1, got 2"):
        sample("train", 1, same_gender=2)


def test_rare_constructions_are_more_frequent():
    usual, more = sample("train", 1500), sample("train", 1500, rare=3.0)

    def share(pairs, *words):
        return sum(any(word in pair.target_words for word in words) for pair in pairs) / len(pairs)

    for words in (("au", "aux"), ("les", "des"), ("et",)):
        assert share(more, *words) > 1.3 * share(usual, *words)
    with pytest.raises(ValueError, match="rare must be at least 1, got 0"):
        sample("train", 1, rare=0)
