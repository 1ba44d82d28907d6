"""Placeholders through models that know none: kept or flagged, never lost in silence."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.tasks import load
from regard.tasks.translation.translation import Sentence
from regard.tasks.translation.wording.insertion import insert_name, remove_repeated, replace_words
from regard.tasks.translation.wording.protection import protect
from regard.tasks.translation.wording.warning import placeholder_warnings
from regard.text.placeholders import find_placeholders
from regard.text.segments import Segment, segment_protected
from regard.text.vocabulary import train_words
from trained import taught

FRENCH, CHINESE = taught("en-fr"), taught("en-zh")
SOURCES = [source for source, _ in FRENCH]
VALUES = ["%s", "%1$s", "{name}", "<0/>", "{n, plural, one {# a. B} other {c}}", "%%", "--all=x"]


def counted(text):
    """Every placeholder of `VALUES` in a text, without any help of the package."""
    return {value: text.count(value) for value in VALUES if value in text}


def silently_lost(translation):
    """Placeholders that are lost and not named in a warning."""
    named = {part for warning in translation.warnings for part in warning.parts}
    own, other = counted(translation.source), counted(translation.text)
    return [v for v in own.keys() | other.keys() if own.get(v) != other.get(v) and v not in named]


def with_placeholders(text, values):
    """A text with placeholders between its words."""
    words = text.split(" ")
    for number, value in enumerate(values):
        words.insert((3 * number + 1) % (len(words) + 1), value)
    return " ".join(words)


@pytest.mark.parametrize("name", ["en_fr", "rnn", "en_zh"])
def test_every_placeholder_is_kept(name, request):
    translator = request.getfixturevalue(name)
    sources = [source for source, _ in (CHINESE if name == "en_zh" else FRENCH)][:3]
    texts = [with_placeholders(text, VALUES[n : n + 2]) for n, text in enumerate(sources)]
    for done in translator.translate(texts, protect=True, beam=2):
        assert counted(done.text) == counted(done.source) and counted(done.source)
        assert not silently_lost(done)
        assert done.sentences[0].source == done.source
        assert all(s < len(done.source_words) for s, _ in done.alignment)
        assert all(t < len(done.words) for _, t in done.alignment)


def test_two_names_in_a_text_without_spaces_stay_two():
    sentence = Sentence("a X Z b", "文字。", 0.0, (), (), words=("文字", "。"))
    sentence = replace(sentence, source_words=("a", "X", "Z", "b"), alignment=((0, 0), (3, 1)))
    for name in ("X", "Z"):
        sentence = insert_name(sentence, name, "zh")
    assert sentence.text == "文字X Z。" and sentence.words == ("文字", "X", "Z", "。")


def test_text_without_placeholders_is_not_changed(en_fr):
    usual, same = (en_fr.translate(SOURCES[:4], protect=p) for p in (False, True))
    assert [one.text for one in same] == [one.text for one in usual]
    assert [one.score for one in same] == [one.score for one in usual]


def test_what_is_only_placeholders_is_copied(en_fr):
    for text in ("%s", "%s: {0}", "https://example.org/x", "<b>", "%d%%"):
        (sentence,) = en_fr.translate(text, protect=True).sentences
        assert (sentence.text, sentence.warnings, sentence.hypothesis) == (text, (), None)


def test_samples_and_alternatives_have_them_too(en_fr):
    text = with_placeholders(SOURCES[0], ["%s"])
    for options in ({"sample": True, "seed": 1}, {"n_best": 3, "beam": 3}):
        done = en_fr.translate(text, protect=True, **options)
        assert done.text.count("%s") == 1 and not silently_lost(done)
        assert all(other.text.count("%s") == 1 for other in done.alternatives)


def test_a_lost_number_is_a_warning(en_fr):
    done = en_fr.translate(SOURCES[0] + " 17", protect=True)
    assert "17" in done.text or any(w.kind == "number" for w in done.warnings)
    assert en_fr.translate(SOURCES[0] + " 17").warnings == ()


def test_maps_and_prefixes_are_of_the_text_itself(en_fr):
    assert "%s" in en_fr.translate("%s", protect=True, attention=True).sentences[0].source
    assert not en_fr.options(protect=True, prefix="Le").protect
    assert en_fr.options(protect=True).protect


TOKENIZER = train_words(["open the file X Z Q , . d'"], None, "en")
WORDS = st.sampled_from(["open", "the", "file", "X", "猫", ".", "été", "Z", "(", "3"])


def bad_output(segment, random_words, keep):
    """What a model that is not good at anything might make of a segment, with random links."""
    own = [stand_in.name for stand_in in segment.stand_ins for _ in range(next(keep))]
    words = tuple(random_words + own)
    source_words = tuple(segment.text.split())
    links = tuple((s, (7 * s) % len(words)) for s in range(0, len(source_words), 2) if words)
    return Sentence(
        segment.text,
        " ".join(words),
        0.0,
        (),
        (),
        source_words,
        words,
        links,
        (0.5,) * len(words),
        alternatives=((" ".join(random_words), -1.0),),
    )


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(st.one_of(WORDS, st.sampled_from(VALUES)), min_size=1, max_size=9),
    st.lists(WORDS, max_size=6),
    st.lists(st.integers(0, 3), min_size=20, max_size=20),
    st.booleans(),
)
def test_any_output_is_repaired_or_flagged(parts, written, keep, again):
    text = " ".join(parts)
    names = ("X", "Z", "Q", "K", "W", "V", "Y", "R", "T", "P")
    segments = segment_protected(text, "en", TOKENIZER, 60, names)
    rows = {n: s for n, s in enumerate(segments) if not s.copied}
    numbers, more = iter(keep * 9), iter(keep[::-1] * 9)

    def search_again(chosen, required):
        return {row: bad_output(rows[row], written[::-1], more) for row in chosen}

    outputs = {n: bad_output(s, written, numbers) for n, s in rows.items()}
    done = protect(segments, outputs, search_again if again else None, "fr")
    for row, sentence in done.items():
        lost = lambda kind: [p for w in sentence.warnings if w.kind == kind for p in w.parts]  # noqa: B023, E731
        own, other = counted(segments[row].source), counted(sentence.text)
        for value, number in own.items():
            assert other.get(value, 0) >= number or value in lost("missing")
        assert all(value in own or value in lost("extra") for value in other)
        flagged = {p for w in sentence.warnings for p in w.parts}
        unsure = [s for s in segments[row].stand_ins if s.value not in flagged]
        assert all(restored_once(s.value, sentence.text, own) for s in unsure)
        assert len(sentence.words) == len(sentence.confidence)


def restored_once(value, text, own):
    return all(
        text.count(f.text) == own.get(f.text, text.count(f.text))
        for f in find_placeholders(value)
        if f.text in own
    )


SENTENCE = Sentence(
    "open X now",
    "ouvrir maintenant .",
    0.0,
    (),
    (),
    ("open", "X", "now"),
    ("ouvrir", "maintenant", "."),
    ((0, 0), (2, 1)),
    (1.0, 1.0, 1.0),
)


def test_words_are_put_where_the_links_say():
    done = insert_name(SENTENCE, "X", "fr")
    assert done.text == "ouvrir X maintenant ."
    assert done.words == ("ouvrir", "X", "maintenant", ".")
    assert done.alignment == ((0, 0), (1, 1), (2, 2)) and done.confidence == (1.0, 0.0, 1.0, 1.0)
    linked = replace(SENTENCE, alignment=((0, 0), (1, 1)))
    assert insert_name(linked, "X", "fr").text == "ouvrir maintenant X ."
    assert insert_name(replace(SENTENCE, alignment=()), "X", "zh").text.count("X") == 1
    empty = Sentence("X", "", 0.0, (), (), ("X",))
    assert insert_name(empty, "X", "fr").text == "X"


def test_words_are_taken_out_and_replaced():
    twice = replace(
        SENTENCE,
        text="X ouvrir X .",
        words=("X", "ouvrir", "X", "."),
        alignment=((1, 2), (2, 3)),
        confidence=(1.0,) * 4,
    )
    once = remove_repeated(twice, "X")
    assert (once.text, once.words) == ("X ouvrir .", ("X", "ouvrir", "."))
    assert once.alignment == ((2, 2),) and len(once.confidence) == 3
    done = replace_words(SENTENCE, [0, 1], "aller voir")
    assert (done.text, done.words) == ("aller voir .", ("aller voir", "."))
    assert done.alignment == ((0, 0), (2, 0)) and len(done.confidence) == 2


def test_the_command_says_what_to_check(en_fr, tmp_path):
    # a model whose outputs are one word: nothing can be kept by it
    words = [sys.executable, "-m", "regard", "translate", "--model", str(en_fr.path), "--json"]
    text = with_placeholders(SOURCES[0], ["%s"])
    ran = subprocess.run([*words, text], capture_output=True, encoding="utf-8", check=True)
    answer = json.loads(ran.stdout)
    assert answer["text"].count("%s") == 1
    kinds = {warning["kind"] for warning in answer["warnings"]}
    assert ("line 1: %s: " in ran.stderr) == bool(kinds - {"number"})
    plain = subprocess.run(
        [*words, "--no-protect", text], capture_output=True, encoding="utf-8", check=True
    )
    assert json.loads(plain.stdout)["warnings"] == [] and plain.stderr.count("line 1") == 0
    assert load(en_fr.path).translate(text).text == json.loads(plain.stdout)["text"]


def test_segments_know_their_source():
    assert Segment("a b", "").source == "a b"


def test_tags_that_no_longer_pair_are_flagged():
    (warning,) = placeholder_warnings("<b>x</b>", "</b> x <b>")
    assert warning.kind == "order" and warning.parts == ("</b>", "<b>")
    assert list(placeholder_warnings("see <file>", "voir <file>")) == []
