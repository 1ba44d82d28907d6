"""Normalization, and words with their spans."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text import is_spaceless, normalize, words
from regard.text.words import count_words

ANY = st.text(st.characters())  # surrogates and control characters too
MIXED = st.text(st.sampled_from("aé'’-.,!?… \n\u00a0\u3000\u200d\u0301的かสัी👩🏽🇫3_«»\"()"))
SIMPLE = st.text(st.sampled_from("aéœUS·'’-.,:!?… \n\u00a03_«»\"()“”0"))
LANGUAGES = st.sampled_from(["en", "fr", "de", "zh", "ja", "th", ""])


@given(ANY)
def test_normalization_is_idempotent_and_keeps_letters(text):
    normal = normalize(text)
    assert normalize(normal) == normal
    assert normal == unicodedata.normalize("NFC", normal)
    assert normal.encode().decode() == normal
    assert normal.split() == normal.split(" ") or not normal
    letters = [c for c in unicodedata.normalize("NFD", text) if c.isalnum()]
    assert [c for c in unicodedata.normalize("NFD", normal) if c.isalnum()] == letters


def test_what_normalization_changes():
    assert normalize("a\0b\x07c\ufeff\ud800d") == "abcd"
    assert normalize("\u3000Ça\u202fva\u2028?\r\n\tOui ") == "Ça va ? Oui"
    assert normalize("▁") == "_"
    for kept in ("ＡＢＣ ｶﾅ", "“Q” «Q» – —", "ﬁ ½ ²", "می\u200cخواهم", "👩\u200d👧 ❤\ufe0f", "İß"):
        assert normalize(kept) == kept


def test_languages_without_spaces():
    assert all(map(is_spaceless, ["zh", "ZH_tw", "zh-Hans-CN", "ja-JP", "th", "km", "yue"]))
    assert not any(map(is_spaceless, ["en", "ko", "fr-FR", "vi", "", "e", "zhx"]))


@given(st.one_of(ANY, MIXED), LANGUAGES)
def test_words_cover_all_but_spaces_once(text, language):
    found = words(text, language)
    assert all(word.text == text[word.start : word.end] != "" for word in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert "".join(word.text for word in found) == "".join(text.split())
    assert count_words(text, language) == len(found)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "It didn't, O’Brien's dogs' 'hi'", "It|didn't|,|O’Brien's|dogs|'|'|hi|'"),
        ("en", "U.S. e.g. 3.14% 1,000 -- !!! ?!", "U.S.|e.g.|3.14|%|1,000|--|!!!|?|!"),
        ("en", "well-known foo_bar(x)", "well|-|known|foo_bar|(|x|)"),
        ("fr", "L'animal n’a qu'à jusqu'ici", "L'|animal|n’|a|qu'|à|jusqu'|ici"),
        ("fr", "Aujourd'hui quelqu'un, l' eau", "Aujourd'hui|quelqu'un|,|l'|eau"),
        ("it", "dell'arte c'è", "dell'|arte|c'|è"),
        ("ca", "la col·lecció", "la|col·lecció"),
        ("de", "geht's „gut“?", "geht's|„|gut|“|?"),
        ("zh", "我用Python 3.11，好……吧！", "我|用|Python|3.11|，|好|……|吧|！"),
        ("ja", "猫がコーヒーを飲む。", "猫|が|コ|ー|ヒ|ー|を|飲|む|。"),
        ("ko", "안녕하세요 세계.", "안녕하세요|세계|."),
        ("hi", "नमस्ते दुनिया", "नमस्ते|दुनिया"),
        ("th", "ดีที่", "ดี|ที่"),
        ("fa", "می\u200cخواهم", "می\u200cخواهم"),
        ("en", "👩\u200d👧👍🏽🇫🇷🇩🇪❤\ufe0f", "👩\u200d👧|👍🏽|🇫🇷|🇩🇪|❤\ufe0f"),
    ],
)
def test_words(language, text, expected):
    assert [word.text for word in words(text, language)] == expected.split("|")


@given(st.one_of(SIMPLE, MIXED), LANGUAGES)
def test_words_are_the_same_beside_another_script(text, language):
    """Texts of simple characters have a pattern of their own, which is faster."""
    assert words(text, language) == words(f"{text} 我", language)[:-1]


def test_a_character_that_needs_no_normalization_never_composes_with_another():
    """Of single characters, and of all pairs whose second can compose: the rest is skipped."""
    singles = [chr(code) for code in range(0x11000)]
    pairs = [
        "".join(chr(int(code, 16)) for code in parts)
        for parts in (unicodedata.decomposition(single).split() for single in singles)
        if len(parts) == 2 and not parts[0].startswith("<")
    ]
    assert len(pairs) > 900
    for text in (*singles, *pairs):
        kept = "".join(
            c for c in text if unicodedata.category(c) not in ("Cc", "Cs") or c.isspace()
        )
        composed = unicodedata.normalize("NFC", kept.replace("\ufeff", "")).replace("▁", "_")
        assert normalize(text) == " ".join(composed.split())
