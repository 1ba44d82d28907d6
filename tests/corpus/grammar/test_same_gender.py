import pytest

from regard.corpus.grammar import sample
from regard.corpus.grammar.vocabulary import NOUNS


def test_share_of_coreferences_whose_nouns_have_the_same_gender():
    pairs = sample("train", 2000, same_gender=0.5)
    same = [
        NOUNS[pair.source_words[note.antecedent]].gender
        == NOUNS[pair.source_words[note.other]].gender
        for pair in pairs
        for note in pair.coreference
    ]
    assert abs(sum(same) / len(same) - 0.5) < 0.06
    with pytest.raises(ValueError, match="same_gender must be between 0 and 1, got 2"):
        sample("train", 1, same_gender=2)
