"""Any number of lines in windows, and text that no sentence has."""

import unicodedata
from itertools import chain

import pytest

from regard.config import SearchOptions
from regard.tasks.translation.batching import FIRST_CHARACTERS, MAX_CHARACTERS, windows
from regard.text import normalize, sentence_spans
from regard.text.segments import MAX_UNBROKEN, MAX_WORD, segment_text
from trained import taught

FRENCH = taught("en-fr")
SOURCES = [source for source, _ in FRENCH]
MANY = 300_000


def test_windows_change_nothing(en_fr):
    lines = [*SOURCES[:4], "", f"{SOURCES[0]} {SOURCES[1]}", SOURCES[2]]
    bold = SearchOptions(sample=True, temperature=4.0, seed=5)
    for settings in (None, bold):
        whole = [one.text for one in en_fr.translate(lines, settings=settings, alignment=False)]
        cut = en_fr.translate_lines(lines[2:], settings=settings, first=2, max_lines=3)
        found = [[one.text for one in window] for window in cut]
        assert [len(window) for window in found] == [3, 2]
        assert sum(found, whole[:2]) == whole


def taken(lines, seconds_per_character, **options):
    """The windows of lines, at a speed."""
    now, found = [0.0], []
    for window in windows(lines, clock=lambda: now[0], **options):
        found.append(window)
        now[0] += seconds_per_character * sum(map(len, window))
    return found


def test_windows_are_as_long_as_is_translated_in_seconds():
    lines = ["x" * 100] * 10_000
    fast, slow = taken(lines, 1e-5, max_lines=100_000), taken(lines, 1e-3)
    assert list(chain(*fast)) == list(chain(*slow)) == lines
    assert len(fast[0]) == len(slow[0]) == FIRST_CHARACTERS / 100
    assert max(map(len, fast)) == 4000 and max(map(len, slow[1:])) == 40
    assert max(map(len, taken(lines, 1e-9))) == 4096
    (alone,) = taken(["x" * (MAX_CHARACTERS + 1)], 1)
    assert len(alone) == 1


def test_what_came_is_translated_when_nothing_else_is_ready():
    """Each None is an empty window, at which the lines before it are finished."""
    assert taken([None, "a", "b", None, None, "c"], 1) == [[], ["a", "b"], [], [], ["c"]]
    assert taken([], 1) == [] and taken([None], 1) == [[]]


@pytest.mark.parametrize(
    "text",
    [one * (MANY // len(one)) for one in ("a", "a.", "猫", "a猫", "1,", "_")],
    ids=["letters", "stops", "chinese", "mixed", "digits", "underscores"],
)
@pytest.mark.parametrize("model", ["en_fr", "en_zh"])
@pytest.mark.parametrize("split", [True, False])
def test_an_endless_word_is_copied_whole(model, text, split, request):
    """Cut into pieces that fit, it would be thousands, each to be searched for."""
    translator = request.getfixturevalue(model)
    pieces = segment_text(f"Yes. {text}\nNo!", "en", translator.tokenizers.source, 40, split=split)
    copied = [piece for piece in pieces if piece.copied]
    assert sum(len(piece.text) for piece in copied) >= MANY - 1
    assert len(copied) == 1 and len(pieces) <= 4


def test_long_words_and_sentences_that_may_be_real_are_translated(en_zh):
    tokenizer = en_zh.tokenizers.source
    for text in (
        "a" * (MAX_WORD - 1),
        "猫" * (MAX_UNBROKEN - 1),
        "猫。" * MAX_UNBROKEN,
    ):
        assert not any(piece.copied for piece in segment_text(text, "zh", tokenizer, 40))


def test_a_copied_word_is_its_own_translation(en_fr):
    word = "a" * MAX_WORD
    (one, first), (two, second) = FRENCH[:2]
    done = en_fr.translate(f"{one}\n{word} {two}", attention=True)
    assert done.text == f"{first}\n{word} {second}"
    assert done.sentences[1].hypothesis is None
    place = done.source_words.index(word), done.words.index(word)
    assert place in done.alignment
    assert word in done.as_dict()["sentences"][1]["text"]
    assert done._repr_html_()


def test_stops_that_end_nothing_are_read_once():
    """Each of them once looked at all of the text before it."""
    assert sentence_spans("a." * (MANY // 2), "en") == [(0, MANY)]
    assert sentence_spans("? " * (MANY // 2), "fr") == [(0, MANY - 1)]


def test_marks_on_one_letter_are_sorted_once():
    """NFC by itself takes minutes for these."""
    found = normalize("e" + "\u0301\u0323" * MANY)
    assert found == "\u1eb9" + "\u0323" * (MANY - 1) + "\u0301" * MANY
    few = "e" + "\u0301\u0323\u0344\u0f73\u0903" * 40 + "x" + "\u0345\u0301" * 50
    assert normalize(few) == unicodedata.normalize("NFC", few)
