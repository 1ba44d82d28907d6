"""Words, links and confidence that are found when they are first read."""

import pickle
from dataclasses import fields, replace

import pytest

from regard.tasks.translation.lazy_sentence import FIELDS, LazySentence, compute_together
from regard.tasks.translation.translation import Sentence
from trained import taught

SOURCES = [source for source, _ in taught("en-fr")][:5]


@pytest.mark.parametrize("beam", [1, 3])
def test_what_is_read_later_is_what_our_own_engine_returns_at_once(en_fr, beam):
    for done in en_fr.translate(SOURCES, beam=beam):
        (sentence,) = done.sentences
        assert isinstance(sentence, LazySentence) and not set(FIELDS) & set(vars(sentence))
        (expected,) = en_fr.align([(sentence.source, sentence.text)])
        assert sentence.words == expected.words and set(FIELDS) <= set(vars(sentence))
        assert sentence.source_words == expected.source_words
        assert len(sentence.confidence) == len(sentence.words)
        assert sentence.hypothesis.token_log_probabilities


def test_copies_and_changed_sentences_have_all_fields(en_fr):
    sentence = en_fr.translate(SOURCES[0]).sentences[0]
    copy = pickle.loads(pickle.dumps(sentence))
    changed = replace(en_fr.translate(SOURCES[0]).sentences[0], text="x")
    for other in (copy, changed):
        assert type(other) is Sentence
        for field in fields(Sentence):
            if field.name != "text":
                assert getattr(other, field.name) == getattr(sentence, field.name)


def test_sentences_are_compute_together_or_by_themselves(en_fr):
    translations = en_fr.translate(SOURCES)
    together = [translation.sentences[0] for translation in translations]
    compute_together(together[:2])
    for one, other in zip(together, en_fr.translate(SOURCES), strict=True):
        assert one.alignment == other.alignment
        assert one.confidence == pytest.approx(other.confidence, abs=1e-4)


def test_protection_and_notes_compute_no_words(en_fr):
    """Nor do warnings of one sentence compute those of its batch."""
    for done in en_fr.translate([*SOURCES, "The king sleeps, 17."], protect=True):
        (sentence,) = done.sentences
        noted = sentence.annotated(matches=("match",))
        assert noted.matches == ("match",) and sentence.matches == ()
        for each in (sentence, noted):
            assert not set(FIELDS) & set(vars(each))
        assert noted.words == sentence.words != ()


def test_without_alignment_nothing_is_read(en_fr):
    (sentence,) = en_fr.translate(SOURCES[0], alignment=False).sentences
    assert type(sentence) is Sentence and sentence.words == () and sentence.alignment == ()
