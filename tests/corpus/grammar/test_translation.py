"""Pronouns, senses and other words, judged where they stand, also in translations that differ."""

import pytest

from regard.corpus.grammar import sample, seed_sentences
from regard.corpus.grammar.contexts import SENSES
from regard.corpus.grammar.measures.translation import align_by_edits, grammar_scores, judge
from regard.corpus.grammar.tokenization import detokenize
from regard.errors import InputError

PAIRS = {language: sample("test", 250, language=language) for language in ("fr", "zh")}
LANGUAGES = pytest.mark.parametrize("language", ["fr", "zh"])


def with_words(pair, language, changes):
    words = [changes.get(position, word) for position, word in enumerate(pair.target_words)]
    return detokenize([part for word in words for part in word.split() if part], language)


@LANGUAGES
def test_references_are_right_in_everything(language):
    pairs = [*PAIRS[language], *seed_sentences(language)]
    scores = grammar_scores(pairs, [pair.target for pair in pairs], language)
    assert (scores.exact_match, scores.pronoun_accuracy) == (1, 1)
    assert (scores.sense_accuracy, scores.other_words_right) == (1, 1)
    assert scores.pronouns == sum(len(pair.coreference) for pair in pairs) > 40
    assert scores.senses == sum(len(pair.senses) for pair in pairs) > 40
    assert scores.sentences == len(pairs)


def other_gender(pair):
    """The translation with every annotated pronoun and its adjective in the other gender."""
    changes = {}
    for note in pair.coreference:
        changes[note.target_pronoun] = {"il": "elle", "elle": "il"}[
            pair.target_words[note.target_pronoun]
        ]
        for link in pair.links:
            if link.sure and link.source == note.cue:
                word = pair.target_words[link.target]
                changes[link.target] = word[:-1] if word.endswith("e") else word + "e"
    return with_words(pair, "fr", changes)


def test_the_other_gender_is_wrong_and_all_else_right():
    pairs = [pair for pair in PAIRS["fr"] if pair.coreference]
    scores = grammar_scores(pairs, [other_gender(pair) for pair in pairs])
    assert scores.pronoun_accuracy == 0
    assert scores.exact_match == 0
    assert scores.other_words_right == 1


def test_a_chinese_pronoun_is_there_or_not():
    pairs = [pair for pair in PAIRS["zh"] if pair.coreference]
    without = [
        with_words(pair, "zh", {note.target_pronoun: "" for note in pair.coreference})
        for pair in pairs
    ]
    scores = grammar_scores(pairs, without, "zh")
    assert scores.pronoun_accuracy == 0
    assert scores.other_words_right == 1


@LANGUAGES
def test_another_sense_is_wrong(language):
    pairs = [pair for pair in PAIRS[language] if pair.senses]
    wrong = []
    for pair in pairs:
        changes = {}
        for sense in pair.senses:
            noun = next(m.noun for m in SENSES[sense.lemma] if m.noun.sense != sense.sense)
            changes[sense.target] = " ".join(noun.french) if language == "fr" else noun.chinese
        wrong.append(with_words(pair, language, changes))
    scores = grammar_scores(pairs, wrong, language)
    assert scores.sense_accuracy == 0
    assert scores.pronoun_accuracy in (1, None)
    assert 0.8 < scores.other_words_right < 1


@LANGUAGES
def test_what_differs_elsewhere_does_not_count(language):
    """Words put in front, taken away at the end, and changed in the middle."""
    pairs = PAIRS[language]
    if language == "fr":
        hypotheses = ["Eh bien oui , " + pair.target.removesuffix(".") for pair in pairs]
    else:
        hypotheses = ["好的，" + pair.target.removesuffix("。") for pair in pairs]
    scores = grammar_scores(pairs, hypotheses, language)
    assert scores.exact_match == 0
    assert scores.pronoun_accuracy == 1
    assert scores.sense_accuracy == 1
    words = sum(len(pair.target_words) for pair in pairs)
    assert scores.other_words_right == pytest.approx(1 - len(pairs) / words, abs=0.01)


def test_seed_sentence_by_hand():
    pair = seed_sentences("fr")[0]
    judgment = judge(pair, "Le chien n'a pas traversé la rue, parce qu'elle était fatiguée.")
    assert judgment.pronouns == (False,)
    assert judgment.other_words.count(False) == 3  # L', animal, trop
    assert judge(pair, "L'animal était fatigué.").pronouns == (False,)
    assert judge(pair, "").other_words == (False,) * 13
    assert judge(pair, "Qu'il soit fatigué.").pronouns == (True,)


def test_a_plural_still_shows_the_sense():
    pair = next(p for p in seed_sentences("fr") if p.senses and p.senses[0].sense == "unit")
    assert "mole" in pair.target_words
    assert judge(pair, pair.target.replace("mole", "moles")).senses == (True,)


def test_counts_must_fit():
    with pytest.raises(InputError, match="got 2 pairs and 1"):
        grammar_scores(seed_sentences()[:2], ["a"])
    with pytest.raises(InputError, match="got none"):
        grammar_scores([], [])
    none = next(pair for pair in PAIRS["fr"] if not pair.coreference and not pair.senses)
    scores = grammar_scores([none], [none.target])
    assert (scores.pronoun_accuracy, scores.sense_accuracy) == (None, None)


def test_align_by_edits():
    def cost(word, other):
        return 2 * (word != other)

    assert align_by_edits([], ["a"], cost) == []
    assert align_by_edits(["a"], [], cost) == [None]
    assert align_by_edits("abcd", "xabd", cost) == [1, 2, None, 3]
    assert align_by_edits("ab", "ba", cost) == [0, 1]
