"""Sentence splitting: nothing is lost, and stops are distinguished from points."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text import sentence_spans

LANGUAGES = st.sampled_from(["en", "fr", "de", "es", "zh", "ja", "ru", ""])
PUNCTUATED = st.text(st.sampled_from("aB1 .!?…。！？”\"»)」と、，的\n'’DrMn"), max_size=40)


def split_sentences(text, language):
    return [text[start:end] for start, end in sentence_spans(text, language)]


@given(st.one_of(st.text(), PUNCTUATED), LANGUAGES)
def test_every_character_is_kept(text, language):
    spans = sentence_spans(text, language)
    sentences = split_sentences(text, language)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert all(sentence and sentence == sentence.strip() for sentence in sentences)
    assert all("\n" not in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Mr. and Mrs. Smith left.|He arrived at 5 p.m.|He left at 6.|Why?|No!"),
        ("en", "Prof. J. R. R. Tolkien wrote it, e.g. in 1937, i.e. then.|The end."),
        ("en", "It costs $3.50, 1,000.25 or .5.|The U.S. Government, etc. and so on, etc.|It"),
        ("en", "No. 5 is alive.|No.|He isn't, see Fig. 3 and p. 7.|Smith et al.|The results."),
        ("en", 'She said, "Stop!" and ran.|"Really?" he asked.|(He left.)|“She stayed.”|Good.'),
        ("en", "Well...|Then what?|Wait... what?|And . . . so?!|Visit www.example.com.|Go"),
        ("en", "1. First.|2. Second.|A. Third.|World War I.|He died.|Apple Inc. Chief Cook"),
        ("fr", "« Bonjour ! » dit-il.|M. Dupont et Mme. X vont.|« Il part. »|Elle va.|Va !|Oui…"),
        ("fr", "C'est l'art. 5, cf. p. 12.|L'eau."),
        ("de", "Am 3. Mai kam er.|Er ist 25.|Sie ist 30.|Im 19. Jahrhundert, z.B. dort, usw.|Das"),
        ("de", "»Halt!« rief sie.|»Halt!«|Er blieb.|„Gut.“ sagte er.|Dr. Müller geht."),
        ("es", "¿Cómo estás?|¡Bien!|El Sr. López llegó.|¿Y tú?"),
        ("ru", "Привет.|Как дела?|Хорошо!"),
        ("hi", "यह एक वाक्य है।|यह दूसरा है।"),
    ],
)
def test_with_spaces(language, text):
    assert split_sentences(text.replace("|", " "), language) == text.split("|")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("zh", "你好！|我是学生。|你呢？|“他来了。”|我很高兴。|真的吗？！|是"),
        ("zh", "他走了……|我不知道。|我……不知道。|版本3.5发布了，见Python.org网站。|对吗?|对!|好"),
        ("ja", "「そうだ。」と言った。|今日は晴れ！|（雨だ。）|「はい！」、「いいえ。」と書いた。"),
    ],
)
def test_without_spaces(language, text):
    assert split_sentences(text.replace("|", ""), language) == text.split("|")


def test_line_breaks_are_paragraphs():
    assert split_sentences("Title\nfirst line. still it.\r\n\n Last \n", "en") == [
        "Title",
        "first line. still it.",
        "Last",
    ]
    assert split_sentences(" \n ", "en") == []
    assert split_sentences("", "en") == []


def test_a_long_paragraph():
    text = "Mr. A. B. Smith of the U.S. Army left. " * 8_000
    assert len(split_sentences(text, "en")) == 8_000
