"""What a translation must and must not say, several models at once, and what is flagged."""

import re
from dataclasses import replace

import numpy as np
import pytest

from regard.config import CleaningSettings
from regard.corpus.memory import TranslationMemory
from regard.errors import InputError
from regard.tasks import load
from regard.tasks.translation.checks import quality_flags
from regard.tasks.translation.glossary import read_glossary
from trained import taught

FRENCH, CHINESE = taught("en-fr"), taught("en-zh")
SOURCES = [source for source, _ in FRENCH]


def has(word, text):
    return re.search(rf"(?<!\w){word}(?!\w)", text, re.IGNORECASE)


@pytest.mark.parametrize("kind", [{"beam": 1}, {"beam": 4}, {"sample": True, "seed": 3}])
def test_forbidden_words_do_not_come(en_fr, kind):
    usual = [done.text for done in en_fr.translate(SOURCES[:4], **kind)]
    words = [text.split()[1].strip(".,") for text in usual]
    done = en_fr.translate(SOURCES[:4], forbid=words, **kind)
    assert not any(has(word, one.text) for word in words for one in done)
    assert [one.text for one in en_fr.translate(SOURCES[:4], forbid=[], **kind)] == usual
    assert not has(words[0], en_fr.translate(SOURCES[0], forbid=words[0].upper(), **kind).text)


def test_neutral_options_change_nothing_to_the_bit(en_fr):
    usual = en_fr.translate(SOURCES)
    neutral = en_fr.translate(
        SOURCES,
        forbid=[],
        glossary={},
        min_length=0,
        no_repeat_ngram=0,
        beam_groups=1,
        diversity_penalty=3.0,
        coverage_penalty=0.0,
    )
    assert [one.text for one in neutral] == [one.text for one in usual]
    assert [one.score for one in neutral] == [one.score for one in usual]


def test_lengths_and_repetitions(en_fr):
    long = en_fr.translate(SOURCES[0], min_length=20, beam=2)
    assert len(long.tokens) >= 20
    once = en_fr.translate(SOURCES[0], min_length=20, no_repeat_ngram=1, beam=2)
    assert len(set(once.tokens)) == len(once.tokens) >= 20


def test_groups_give_different_translations(en_fr):
    done = en_fr.translate(SOURCES[0], beam_groups=4, n_best=4, diversity_penalty=20.0)
    texts = [done.text, *(other.text for other in done.alternatives)]
    assert texts[0] == FRENCH[0][1] and len(set(texts)) == 4
    assert len({text.split()[0] for text in texts}) >= 3


def test_coverage_is_in_the_score(en_fr, rnn):
    for translator in (en_fr, rnn):
        usual, covered = (
            translator.translate(SOURCES[0], coverage_penalty=weight, beam=3)
            for weight in (0.0, 0.5)
        )
        assert covered.score < usual.score
    assert en_fr.translate(SOURCES[0], coverage_penalty=0.1).text == FRENCH[0][1]


@pytest.mark.parametrize("width", [1, 5])
def test_a_glossary_is_kept(en_fr, width):
    words = {}
    for source, _ in FRENCH[:6]:
        usual = en_fr.translate(source)
        noun = max(usual.source_words, key=len)
        other = next(word for _, text in FRENCH[6:] for word in text.split() if len(word) > 5)
        words[noun] = other.strip(".,").lower()
    done = en_fr.translate(SOURCES[:6], glossary=words, beam=width)
    for one in done:
        terms = [term for term in words.items() if has(term[0], one.source)]
        assert terms and one.missing_terms == ()
        assert all(has(target, one.text) for _, target in terms)
    # a translation that the model gives anyway changes nothing
    first = en_fr.translate(SOURCES[0])
    kept = {first.source_words[0]: first.words[1]}
    assert en_fr.translate(SOURCES[0], glossary=kept).text == first.text


def test_a_term_that_cannot_be_written_is_told(en_fr):
    word = SOURCES[0].split()[1]
    done = en_fr.translate([SOURCES[0], SOURCES[1]], glossary={word.upper(): "xylophone"})
    assert done[0].missing_terms == ((word.upper(), "xylophone"),)
    assert has("xylophone", done[0].text) and done[0].warnings[0].kind == "term"
    assert len(done[0].words) == len(done[0].confidence)
    assert done[0].sentences[0].as_dict()["missing_terms"] == [[word.upper(), "xylophone"]]
    with pytest.raises(InputError, match="a term and its translation, got"):
        en_fr.translate(SOURCES[0], glossary={word: " "})
    with pytest.raises(InputError, match="leave sample out"):
        en_fr.translate(SOURCES[0], glossary={word: "un"}, sample=True)


def test_a_chinese_glossary(en_zh):
    usual = en_zh.translate(CHINESE[0][0])
    other = next(text[-3:-1] for _, text in CHINESE[1:] if text[-3:-1] not in usual.text)
    done = en_zh.translate(CHINESE[0][0], glossary={CHINESE[0][0].split()[1]: other}, beam=3)
    assert other in done.text and " " not in done.text and done.missing_terms == ()


def test_glossaries_in_files(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("# terms\nbank\trive\n\nBank account\tcompte\tx\n", "utf-8")
    assert read_glossary(path) == {"bank": "rive", "Bank account": "compte"}
    for text, message in (
        ("a\tb\na\tc\n", "line 2: the term 'a' has another translation above"),
        ("a\n", "line 1: a term and its translation are expected; put a tab"),
    ):
        path.write_text(text, "utf-8")
        with pytest.raises(InputError, match=message):
            read_glossary(path)


def test_an_ensemble_is_the_mean_of_its_models(en_fr, rnn, en_zh):
    alone = load(en_fr.path, engine="torch", threads=1)
    twice = load([en_fr.path, en_fr.path], threads=1)
    for mine, plain in zip(twice.translate(SOURCES[:4]), alone.translate(SOURCES[:4]), strict=True):
        assert mine.text == plain.text
        assert mine.score == pytest.approx(plain.score, abs=1e-4)
        assert mine.confidence == pytest.approx(plain.confidence, abs=1e-4)
        assert mine.alignment == plain.alignment
    assert twice.translate(SOURCES[0], beam=1).text == FRENCH[0][1]
    assert load([en_fr.path]).translate(SOURCES[0]).text == FRENCH[0][1]
    with pytest.raises(InputError, match="same vocabulary"):
        load([en_fr.path, rnn.path])
    with pytest.raises(InputError, match=r"same languages, got en-fr .* and en-zh"):
        load([en_fr.path, en_zh.path])
    with pytest.raises(InputError, match="got none"):
        load([])


def test_different_models_average(en_fr, tmp_path):
    """Probabilities of an ensemble lie between those of its models, token by token."""
    other = load(en_fr.path, engine="torch", threads=1)
    with np.errstate(all="ignore"):
        for weight in other.network.parameters():
            weight.data.mul_(0.9)
    from regard.models.batch import batch_of
    from regard.models.ensemble import EnsembleModel

    batch = batch_of([other.tokenizers.source.encode(SOURCES[0])], [[9, 10, 11]])
    own = load(en_fr.path, engine="torch", threads=1).network
    shares = [network(batch).softmax(-1) for network in (own, other.network)]
    together = EnsembleModel([own, other.network])(batch).exp()
    assert together.detach().numpy() == pytest.approx(
        ((shares[0] + shares[1]) / 2).detach().numpy(), abs=1e-6
    )


WORDS = ["the", "teacher", "reads", "books"]
CLEANING = CleaningSettings()


def kinds(weights, source, target):
    flags = quality_flags(np.array(weights) if weights else None, source, target, CLEANING)
    return {flag.kind: flag.source_words or flag.words for flag in flags}


def test_flags():
    good = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert kinds(good, WORDS, ["enseignant", "lit", "livres"]) == {}  # `the` is too short to tell
    assert kinds(good[:2], WORDS, ["enseignant", "lit"]) == {"untranslated": (3,)}
    thrice = [*good, good[1], good[1]]
    assert kinds(thrice, WORDS, ["a", "lit", "b", "lut", "lisait"]) == {"retranslated": (2,)}
    twice = ["il", "lit", "il", "lit"]
    assert kinds(None, WORDS, twice) == {"repeated": (2, 3)}
    assert kinds(None, ["he", "he"], twice) == {}  # the source repeats itself
    assert kinds(None, WORDS * 5, ["a"]) == {"length": ()}


def test_flags_of_translations(en_fr):
    done = en_fr.translate(SOURCES)
    assert sum(bool(one.notes) for one in done) <= 4
    again = en_fr.translate(SOURCES[0], min_length=25, beam=2)
    assert any(
        note.startswith(("repeated: ", "perhaps translated twice: ")) for note in again.notes
    )
    assert again.sentences[0].as_dict()["flags"][0]["kind"] in {"repeated", "retranslated"}
    nothing = replace(CLEANING, max_ratio=0.0)
    assert quality_flags(None, WORDS * 9, ["a"], nothing) == ()


def test_a_memory_is_used(en_fr):
    both = f"{SOURCES[1]} {SOURCES[2]}"
    memory = TranslationMemory([(SOURCES[0], "Du souvenir."), (both, "Les deux.")])
    done = en_fr.translate(f"{SOURCES[0]} {SOURCES[3]}\n", memory=memory)
    assert done.text == f"Du souvenir. {FRENCH[3][1]}\n" and done.warnings == ()
    assert len(done.sentences[0].matches) == 1
    whole = en_fr.translate(f" {SOURCES[1]}  {SOURCES[2]}", memory=memory)
    assert whole.text == "Les deux." and len(whole.sentences) == 1
    assert whole.sentences[0].as_dict()["matches"][0]["score"] == 1
    assert whole.words == ("Les", "deux", ".")
    (bulk,) = en_fr.translate_lines([SOURCES[0]], memory=memory)
    assert bulk[0].text == "Du souvenir."


def test_fuzzy_matches_are_shown_and_used_when_told(en_fr):
    memory = TranslationMemory([("Open 3 files of %s now", "Ouvrir 3 %s"), (SOURCES[0], "Non.")])
    near = SOURCES[0].replace(".", " !")
    shown = en_fr.translate(near, memory=memory)
    assert shown.text != "Non." and shown.sentences[0].matches[0].translation == "Non."
    used = en_fr.translate(near, memory=memory, fuzzy_threshold=0.8)
    assert used.text == "Non." and [w.kind for w in used.warnings] == ["memory"]
    exchanged = en_fr.translate("Open 4 files of %s now", memory=memory, fuzzy_threshold=0.8)
    assert exchanged.text == "Ouvrir 4 %s" and exchanged.warnings[0].kind == "memory"
    other = en_fr.translate(
        "Open 4 file of %d now", memory=memory, fuzzy_threshold=0.75, protect=True
    )
    assert other.text != "Ouvrir 3 %s" and "%d" in other.text
    assert other.sentences[0].matches and not other.sentences[0].matches[0].usable
    with pytest.raises(InputError, match=r"fuzzy_threshold must be from 0\.75 to 1, got 0\.5"):
        en_fr.translate(near, memory=memory, fuzzy_threshold=0.5)
