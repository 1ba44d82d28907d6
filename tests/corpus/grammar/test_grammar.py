"""The built-in corpus keeps its promises: shares, splits, links, annotations, spelling."""

import re
from collections import Counter

import pytest

from grammar_statistics import lexicon_size, statistics
from regard.corpus.grammar import (
    GrammarPair,
    sample,
    seed_sentences,
)
from regard.corpus.grammar.contexts import COREFERENCE_FRAMES, SENSES
from regard.corpus.grammar.tokenization import PUNCTUATION, detokenize, split_words
from regard.corpus.grammar.vocabulary import ADJECTIVES, EVENT_VERBS, NOUNS

SPLITS = ("train", "dev", "test")
LANGUAGES = ("fr", "zh")
PHENOMENA = "agreement because coordinated coreference embedded long negation order sense"
FUNCTION_WORDS = """
the a an one this that these those some several many two three was were wasn't weren't didn't
doesn't don't of to in and who on last
"""

SHOWCASE = """
The animal didn't cross the street because it was too tired.
L'animal n'a pas traversé la rue parce qu'il était trop fatigué.
动物没有穿过街道，因为它太累了。
The animal didn't cross the street because it was too wide.
L'animal n'a pas traversé la rue parce qu'elle était trop large.
动物没有穿过街道，因为它太宽了。
The mole dug a tunnel.
La taupe a creusé un tunnel.
鼹鼠挖了一条隧道。
The chemist measured one mole of carbon dioxide.
Le chimiste a mesuré une mole de dioxyde de carbone.
化学家测量了一摩尔二氧化碳。
The doctor examined the mole on the arm.
Le médecin a examiné le grain de beauté sur le bras.
医生检查了手臂上的痣。
A fluffy blue creature roamed the verdant forest.
Une créature bleue et duveteuse a parcouru la forêt verdoyante.
一只毛茸茸的蓝色的生物走遍了翠绿的森林。
The old bear doesn't see the small blue bird.
Le vieil ours ne voit pas le petit oiseau bleu.
老熊看不见蓝色的小鸟。
"""


@pytest.fixture(scope="module")
def corpora() -> dict[tuple[str, str], list[GrammarPair]]:
    return {
        (split, language): sample(split, 3000, language=language)
        for split in SPLITS
        for language in LANGUAGES
    }


@pytest.fixture(scope="module")
def train() -> list[GrammarPair]:
    return sample("train", 20_000)


@pytest.fixture(scope="module")
def every(corpora) -> list[tuple[str, GrammarPair]]:
    """Every pair of every corpus and the showcase, with its language."""
    shown = [(language, pair) for language in LANGUAGES for pair in seed_sentences(language)]
    return shown + [(language, pair) for (_, language), pairs in corpora.items() for pair in pairs]


def test_showcase_is_translated_exactly():
    french, chinese = seed_sentences("fr"), seed_sentences("zh")
    translations = {f.source: (f.target, c.target) for f, c in zip(french, chinese, strict=True)}
    lines = SHOWCASE.strip().splitlines()
    for source, target, chinese_target in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        assert translations[source] == (target, chinese_target)


def test_showcase_is_in_no_split(corpora):
    shown = {pair.source for pair in seed_sentences("fr")}
    assert len(shown) == len(seed_sentences("fr"))
    for pairs in corpora.values():
        assert shown.isdisjoint(pair.source for pair in pairs)
    pairs = {noun_pair(pair, note) for pair in seed_sentences("fr") for note in pair.coreference}
    trained = corpora["train", "fr"]
    assert pairs.isdisjoint(noun_pair(pair, note) for pair in trained for note in pair.coreference)


@pytest.mark.parametrize("split", SPLITS)
def test_shares(corpora, split):
    report = statistics(corpora[split, "fr"])
    for name in PHENOMENA.split():
        assert report[name] >= 0.2, name
    assert report["over_20_words"] >= 0.2
    spoken = [[w for w in p.source_words if w not in PUNCTUATION] for p in corpora[split, "fr"]]
    assert (
        sum(len(words_of_pair) > 20 for words_of_pair in spoken) / len(spoken)
        == report["over_20_words"]
    )


def test_shares_do_not_hang_on_the_seed():
    for seed in range(1, 4):
        report = statistics(sample("train", 2000, seed=seed))
        assert min(report[name] for name in PHENOMENA.split()) >= 0.2, seed


def test_same_arguments_same_pairs_and_another_seed_others():
    first = sample("dev", 300, seed=3)
    assert first == sample("dev", 300, seed=3)
    assert first[:50] == sample("dev", 50, seed=3)
    others = {pair.source for pair in sample("dev", 300, seed=4)}
    assert sum(pair.source in others for pair in first) < 30


@pytest.mark.parametrize("split", SPLITS)
def test_english_is_the_same_for_both_languages(corpora, split):
    for french, chinese in zip(corpora[split, "fr"], corpora[split, "zh"], strict=True):
        assert french.source_words == chinese.source_words
        assert french.phenomena == chinese.phenomena
        assert french.adjectives == chinese.adjectives
        assert [c[:4] for c in french.coreference] == [c[:4] for c in chinese.coreference]


def test_splits_share_no_source(train, corpora):
    sources = {"train": {pair.source for pair in train}}
    for split in ("dev", "test"):
        sources[split] = {p.source for p in corpora[split, "fr"] + sample(split, 4000, seed=9)}
    assert len(sources["train"]) == len(train)
    for first, second in (("train", "dev"), ("train", "test"), ("dev", "test")):
        assert sources[first].isdisjoint(sources[second])


def test_short_sentences_do_not_leak_either():
    """With few sentences to choose from, an overlap would show at once."""
    short = {split: {p.source for p in sample(split, 1500, max_words=7)} for split in SPLITS}
    assert short["train"].isdisjoint(short["dev"] | short["test"])
    assert short["dev"].isdisjoint(short["test"])


def noun_pair(pair, note):
    return frozenset((pair.source_words[note.antecedent], pair.source_words[note.distractor]))


def test_held_out_noun_pairs_but_familiar_nouns(train, corpora):
    seen = {noun_pair(pair, note) for pair in train for note in pair.coreference}
    count = Counter(word for pair in train for word in pair.source_words)
    for split in ("dev", "test"):
        pairs = corpora[split, "fr"]
        noun_pairs = [noun_pair(pair, note) for pair in pairs for note in pair.coreference]
        assert len(set(noun_pairs)) > 100
        assert seen.isdisjoint(noun_pairs)
        assert all(count[noun] >= 20 for nouns in noun_pairs for noun in nouns)


def test_every_word_of_dev_and_test_is_in_train(train, corpora):
    known = {word.lower() for pair in train for word in pair.source_words}
    known |= {word.lower() for pair in train for word in pair.target_words}
    for split in ("dev", "test"):
        for pair in corpora[split, "fr"]:
            assert known.issuperset(word.lower() for word in pair.source_words + pair.target_words)


@pytest.mark.parametrize("split", SPLITS)
def test_coreference_is_balanced(corpora, split):
    notes = [
        (note.antecedent < note.distractor, note.gender)
        for pair in corpora[split, "fr"]
        for note in pair.coreference
    ]
    count, total = Counter(notes), len(notes)
    assert total > 600
    for cell in ((True, "m"), (True, "f"), (False, "m"), (False, "f")):
        assert abs(count[cell] / total - 0.25) < 0.01


def test_coreference_says_what_it_means(every):
    for language, pair in every:
        for note in pair.coreference:
            assert pair.source_words[note.pronoun] == "it"
            antecedent = NOUNS[pair.source_words[note.antecedent]]
            other = NOUNS[pair.source_words[note.distractor]]
            cue = ADJECTIVES[pair.source_words[note.cue]]
            assert antecedent.gender != other.gender
            assert cue.fits(antecedent) and not cue.fits(other)
            pronoun = pair.target_words[note.target_pronoun]
            if language == "fr":
                assert note.gender == antecedent.gender
                assert pronoun == {"m": "il", "f": "elle"}[note.gender]
            else:
                assert (note.gender, pronoun) == ("", "它")
        assert len(pair.coreference) == pair.source_words.count("it")


def test_reasons_fit_exactly_one_noun():
    for frame in COREFERENCE_FRAMES:
        for pairs in frame.pairs.values():
            assert pairs
            for doer, done in pairs:
                for meant, other in ((doer, done), (done, doer)):
                    reasons = frame.reasons[meant.english]
                    assert len(reasons) >= 2
                    assert not any(reason.fits(other) for reason in reasons)


def test_adjective_alone_decides(train):
    """The same clause before `because`, both ways: nothing but the adjective tells them apart."""
    readings: dict[str, set[bool]] = {}
    for pair in train:
        for note in pair.coreference[:1]:
            main = detokenize(pair.source_words[: note.pronoun], "en")
            readings.setdefault(main, set()).add(note.antecedent < note.distractor)
    assert sum(len(both) == 2 for both in readings.values()) > 100


def test_senses(every):
    for language, pair in every:
        for note in pair.senses:
            assert pair.source_words[note.word].startswith(note.lemma)
            noun = next(m.noun for m in SENSES[note.lemma] if m.noun.sense == note.sense)
            target = pair.target_words[note.target]
            if language == "fr":
                assert target in (noun.french[0], noun.french_plural[0])
            else:
                assert target == noun.chinese
            assert note.cue != note.word


def test_ambiguous_words_differ_in_both_languages():
    assert len(SENSES) >= 10 and {"mole", "bank", "spring", "bat"} <= set(SENSES)
    assert len(SENSES["mole"]) == 3
    for lemma, meanings in SENSES.items():
        assert lemma not in NOUNS
        assert len({m.noun.french for m in meanings}) == len(meanings) >= 2
        assert len({m.noun.chinese for m in meanings}) == len(meanings)


def cues(context):
    """The words that can stand in a context's cue column."""
    things = context.adjectives or context.objects
    column = (context.subjects, context.verbs, things, context.places)[context.cue]
    return {getattr(entry, "english", None) or entry.past for entry in column}


def test_no_cue_shows_two_senses():
    for meanings in SENSES.values():
        shown = Counter()
        for meaning in meanings:
            shown.update(set().union(*(cues(context) for context in meaning.contexts)))
        assert max(shown.values()) == 1


def test_senses_are_equally_frequent_and_all_in_train(train):
    count = Counter((note.lemma, note.sense) for pair in train for note in pair.senses)
    for lemma, meanings in SENSES.items():
        numbers = [count[lemma, meaning.noun.sense] for meaning in meanings]
        assert min(numbers) > 60 and max(numbers) < 1.6 * min(numbers), (lemma, numbers)


def test_links_are_in_range_and_reach_every_target_word(every):
    for _, pair in every:
        assert len({(link.source, link.target) for link in pair.links}) == len(pair.links)
        assert all(0 <= link.source < len(pair.source_words) for link in pair.links)
        assert {link.target for link in pair.links} == set(range(len(pair.target_words)))


def test_content_words_and_punctuation_are_surely_linked(every):
    marks = {",": ",，", ".": ".。"}
    for _, pair in every:
        sure = {link.source: link.target for link in pair.links if link.sure}
        for position, word in enumerate(pair.source_words):
            assert position in sure or word.lower() in FUNCTION_WORDS.split(), (word, pair)
            if word in marks:
                assert pair.target_words[sure[position]] in marks[word]


def test_function_words_are_possibly_linked(every):
    particles = {
        "fr": {"le", "la", "les", "l'", "n'", "ne", "pas", "une", "ont"},
        "zh": {"只", "条", "们", "没有", "不", "很", "了"},
    }
    for language, pair in every:
        for link in pair.links:
            if pair.target_words[link.target].lower() in particles[language]:
                assert not link.sure


def test_adjectives_agree(every):
    for language, pair in every:
        assert bool(pair.adjectives) == ("agreement" in pair.phenomena)
        for noun, adjective in pair.adjectives:
            assert adjective < noun
            entry = ADJECTIVES[pair.source_words[adjective].lower()]
            target = next(t for s, t, sure in pair.links if s == adjective and sure)
            word = pair.target_words[target].lower()
            if language == "zh":
                assert word == entry.attributive
                continue
            described = NOUNS.get(pair.source_words[noun])
            if described and described.gender == "m":
                assert word in (entry.forms[0], entry.before_vowel)
            elif described:
                assert word == entry.forms[1]


def test_words_and_writing_are_inverse(every):
    for language, pair in every:
        assert split_words(pair.source, "en") == pair.source_words
        assert split_words(pair.target, language) == pair.target_words
        assert detokenize(pair.source_words, "en") == pair.source
        assert detokenize(pair.target_words, language) == pair.target


def test_words_of_unknown_text():
    assert split_words("我 爱 ABC 和银行！", "zh") == ("我", "爱", "ABC", "和", "银行", "！")
    assert split_words("Don't stop, please!", "en") == ("Don't", "stop", ",", "please", "!")
    assert split_words("", "fr") == ()
    assert detokenize((), "fr") == ""


UNFRENCH = re.compile(
    r"\b(?:de les?|à les?)\b|' |  |'[bcdfgjklmnpqrstvwxz]"
    r"|\b(?:le|la|de|ne|que|je|ce|beau|nouveau|(?:le|un|ce) vieux) [aeiouhéèêâîôœ]",
    re.IGNORECASE,
)


def test_french_spelling(train):
    for pair in train:
        assert not UNFRENCH.search(pair.target), pair.target
    for fragment in ("près du ", " au ", " d'", "J'ai ", " bel ", " nouvel ", " vieil ", " cet "):
        assert any(fragment in pair.target for pair in train), fragment


def test_written_as_people_write(every):
    for language, pair in every:
        assert re.fullmatch(r"[A-Z][A-Za-z',. ]*\.", pair.source)
        assert not re.search(r"\ba [aeio]|\ban [^aeiou]| ,| \.", pair.source)
        if language == "fr":
            assert re.fullmatch(r"[A-ZÀÉ][A-Za-zàâçéèêëîïôùûœ',. -]*\.", pair.target)
        else:
            assert re.fullmatch(r"[\u4e00-\u9fff，]+。", pair.target)


def test_sizes(train):
    assert lexicon_size() >= 450
    report = statistics(train)
    assert 600 <= report["source_vocabulary"] <= 900
    assert report["target_vocabulary"] <= 1000
    events = sum(len(verb.subjects) * len(verb.objects) for verb in EVENT_VERBS.values())
    assert events**2 > 10**7  # two clauses joined, before determiners and adjectives
