"""Placeholders are found, compared, masked and restored."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from growth import LINEAR, growth
from regard.text.masking import NAMES, copyable_names, mask, name_spans, restore
from regard.text.placeholders import (
    find_placeholders,
    lost_placeholders,
    protected_spans,
    shield,
    unpaired_tags,
)
from regard.text.segments import segment_protected
from regard.text.vocabulary import train_words

PLACEHOLDERS = [
    "%s", "%1$s", "%(name)s", "%.2f", "%-10s", "%ld", "%%", "%%s", "%1", "%Y", "%lld", "%@", "%*d",
    "{}", "{0}", "{name}", "{user.name}", "{0:.2f}", "{{x}}", "{{ a | b }}", "${x}", "%{n}", "#{x}",
    "{n, plural, one {# file. One} other {# files}}", "{% if x %}",
    "<0/>", "<b>", "</b>", "<a@x.org>", "<a|b(s)>", '<a href="x y">', "&amp;", "&#160;", "&#xA0;",
    "https://example.org/a_(b)?c=d&e=%20f", "www.example.org", "http://{host}:{port}/x",
    "me.too+x@example.org", "/etc/passwd", "~/x.txt", "./run", "C:\\Windows\\x.ini",
    "--all", "--file=x.txt", "-v, --verbose", "$HOME", "$(DIR)", "`git log -1`", "``a``",
]  # fmt: skip
PROSE = [
    "50 % of them", "100% free", "100% sure, 5% off", "50 % d'entre eux", "50%of", "{a, b}",
    "a set {of words}", "a < b > c", "I <3 you", "and/or, he/she", "well-known -- or so", "AT&T",
    "`a' and `b'", "US$ and $", "an e-mail @home", "C: drive", "a {", "}", "%", "100 %",
]  # fmt: skip


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_placeholders_are_found_whole(text):
    for before, after in (("", ""), ("Open ", " now."), ("(", ")"), ("“", "”"), ("请打开 ", "。")):
        (found,) = find_placeholders(before + text + after)
        assert (found.text, found.start) == (text, len(before))
        assert not lost_placeholders(before + text + after, f"Ici : {text}")
    assert lost_placeholders(f"{text} and {text}", text).missing == (text,)


@pytest.mark.parametrize("text", PROSE)
def test_prose_has_none(text):
    assert [found.text for found in find_placeholders(text) if found.kind != "number"] == []


def test_numbers():
    def found(text):
        return [part.text for part in find_placeholders(text)]

    assert found("2 of 3.14, 12:30 on 2024-05-01") == ["2", "3.14", "12:30", "2024-05-01"]
    assert found("v1.2.3, 2nd, x86, B2B") == []
    for source, translation in (
        ("1,000 cats", "1 000 chats"),
        ("1,000 cats", "1\u202f000 chats"),
        ("at 12:30", "à 12 h 30"),
        ("on 2024-05-01", "le 01/05/2024"),
        ("3.5 m", "3,5 m"),
        ("2 and 2", "2 et 2"),
    ):
        assert lost_placeholders(source, translation).numbers == ()
    assert lost_placeholders("2 and 2", "2 et deux").numbers == ("2",)
    assert lost_placeholders("15 cats", "1 515 chats").numbers == ("15",)


def test_losses_are_counted():
    assert lost_placeholders("%s and %s", "%s et").missing == ("%s",)
    assert lost_placeholders("{a} in {b}", "{b} dans {A}") == (("{a}",), ("{A}",), ())
    assert lost_placeholders("the -x flag", "l'option d'-x") == ((), (), ())
    assert lost_placeholders("the -e flag", "est-elle") == (("-e",), (), ())


def test_tags_pair():
    assert unpaired_tags("<a href='x'><b>x</b></a> <0/> 1 < 2") == []
    assert unpaired_tags("</b> x <b>") == ["</b>", "<b>"]
    assert unpaired_tags("<file> and <b>x</b>") == ["<file>"]


def test_spans_that_touch_are_one():
    def protected(text):
        return [text[start:end] for start, end in protected_spans(text)]

    assert protected("%d%% of %s:%d") == ["%d%%", "%s:%d"]
    assert protected("%s, %s; %s %s") == ["%s"] * 4
    assert protected("/usr/%s/lib%d.so.1 and 5 times") == ["/usr/%s/lib%d.so.1"]


words = st.sampled_from(["open", "the", "file", "X", "Z", "猫", "été", "d'", "(", ".", ",", "5"])
pieces = st.lists(st.one_of(words, st.sampled_from(PLACEHOLDERS)), max_size=12)


@given(pieces, st.sampled_from(["", " "]))
@example(["Z", "猫", "%s"], "")  # Z is a word of its own there
def test_masks_are_undone(parts, space):
    text = space.join(parts)
    spans = protected_spans(text)
    masked, stand_ins = mask(text, spans, NAMES)
    assert len(stand_ins) == len(spans)
    assert all(len(name_spans(own.name, masked)) == 1 for own in stand_ins)
    assert restore(masked, stand_ins) == text
    assert shield(text, spans) == text or spans


TOKENIZER = train_words(["open the file X Z , . ( ) 猫 été d'"], None, "en")


@given(pieces, st.booleans())
def test_segments_have_all_characters(parts, split):
    text = " ".join(parts)
    segments = segment_protected(text, "en", TOKENIZER, 50, NAMES, split=split)
    assert "".join("".join(s.source for s in segments).split()) == "".join(text.split())
    for segment in segments:
        assert {own.value for own in segment.stand_ins} <= {
            text[a:b] for a, b in protected_spans(text)
        }


def test_no_segment_ends_in_a_placeholder():
    text = "Delete {n, plural, one {# file. Yes} other {# files. Yes}}? Not now.\n%s"
    segments = segment_protected(text, "en", TOKENIZER, 50, NAMES)
    assert [segment.text for segment in segments] == ["Delete X?", "Not now.", "%s"]
    assert [segment.copied for segment in segments] == [False, False, True]


def test_names_are_words_of_the_vocabulary():
    assert copyable_names(TOKENIZER, TOKENIZER) == ("X", "Z")
    other = train_words(["Paris est belle"], None, "fr")
    assert copyable_names(train_words(["Paris is nice"], None, "en"), other) == ("Paris",)
    assert copyable_names(train_words(["a"], None, "en"), other) == NAMES


REPEATED = [
    "a",
    "{",
    "}",
    "`",
    "<a ",
    "1,",
    "a.b@",
    "%",
    "/a",
    "--a",
    "{a",
    "www.",
    "%(a",
    "a+",
    ")",
]


@pytest.mark.parametrize("part", REPEATED)
def test_time_is_linear(part):
    assert growth(lambda size: protected_spans(part * (size // len(part))), 20_000) < LINEAR
