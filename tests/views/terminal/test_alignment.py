"""The matrix in the terminal: aligned columns for any script, width and encoding."""

import io
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from regard.views import Interlinear, Matrix, SentenceView
from regard.views.terminal.alignment import MAX_HEADING
from regard.views.terminal.text import center, fit, graphemes, printable


def printed(thing, width=100, encoding="utf-8", **options):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    Console(file=file, width=width, **options).print(thing)
    file.flush()
    return raw.getvalue().decode(encoding).splitlines()


def place(line, character):
    """The terminal column in which a character stands."""
    return cell_len(line[: line.index(character)])


def swapped(sentence):
    """The same links the other way round: Chinese across."""
    return SentenceView(
        sentence.target_tokens,
        sentence.source_tokens,
        sentence.target_words,
        sentence.source_words,
        tuple((b, a) for a, b in sentence.links),
    )


def test_english_french_across(french):
    lines = printed(Matrix(french))
    assert lines[0].split() == list(french.source_words)
    assert [line.split()[0] for line in lines[1:16]] == list(french.target_words)
    for line, marks in ((lines[2], "█●█"), (lines[6], "▓●▓")):  # animal, traversé
        word = {"animal": "animal", "traversé": "cross"}[line.split()[0]]
        start = lines[0].index(word)
        assert start <= line.index("●") < start + len(word)
        assert marks in line
    assert lines[16] == "● link  ░░ 5%  ▒▒ 20%  ▓▓ 40%  ██ 65%"


@pytest.mark.parametrize("width", [100, 60, 40])
def test_english_chinese_lines_up(chinese, width):
    lines = printed(Matrix(chinese, legend=False), width)
    body = lines[-len(chinese.target_words) :]
    heading = lines[: -len(body)]
    assert all(cell_len(line) <= width for line in lines)
    found = set()
    for target, line in enumerate(body):
        assert line.startswith(chinese.target_words[target])
        if "●" in line:
            dot = place(line, "●")
            source = next(s for s, t in chinese.links if t == target)
            found.add((source, dot))
    assert len({dot for _, dot in found}) == len({source for source, _ in found})
    if len(heading) == 1:
        for source, dot in found:
            word = chinese.source_words[source]
            starts = [i for i in range(len(heading[0])) if heading[0].startswith(word, i)]
            assert any(start <= dot < start + len(word) for start in starts)
    else:
        assert len(heading) == max(map(len, chinese.source_words))
        for source, dot in found:  # the last letter of the word stands above its dots
            last = chinese.source_words[source][-1]
            assert last in heading[-1].ljust(width)[dot - 1 : dot + 1]


@pytest.mark.parametrize("width", [100, 52, 40])
def test_chinese_across_lines_up(chinese, width):
    sentence = swapped(chinese)
    lines = printed(Matrix(sentence, legend=False), width)
    heading, body = lines[: -len(sentence.target_words)], lines[-len(sentence.target_words) :]
    assert len(heading) == (1 if width == 100 else 2)
    for source, target in sentence.links:
        last = sentence.source_words[source][-1]
        dots = [cell_len(body[target][:i]) for i, c in enumerate(body[target]) if c == "●"]
        left = place(heading[-1], last)
        first = left - 2 * (len(heading) == 1) * (len(sentence.source_words[source]) - 1)
        assert any(first <= dot <= left + 1 for dot in dots), (last, left, dots)


def test_a_list_where_no_matrix_fits(french):
    lines = printed(Matrix(french), 20)
    assert lines[5] == "traversé ← cross"
    assert len(lines) == len(french.target_words)
    assert printed(Matrix(french), 20, "ascii")[5] == "travers? <- cross"


def test_a_terminal_without_unicode(french, chinese):
    lines = printed(Matrix(french), 100, "ascii")
    assert "#O#" in lines[2]
    assert lines[6].startswith("travers?")
    assert printed(Matrix(chinese), 100, "ascii")[1].startswith("??")
    assert printed(Matrix(chinese), 100, "gbk")[1].startswith("因为")


def test_color_adds_only_color(french):
    plain = printed(Matrix(french))
    options = {"force_terminal": True, "color_system": "truecolor", "legacy_windows": False}
    colored = printed(Matrix(french), **options)
    assert any("\x1b[" in line for line in colored)
    console = Console(width=100)
    assert [console.render_str("").from_ansi(line).plain.rstrip() for line in colored] == plain


def test_links_alone():
    bare = SentenceView(("▁a",), ("▁b", "▁c"), ("a",), ("b", "c"), ((0, 0),))
    assert printed(Matrix(bare)) == ["   a", "b  ●", "c  ·", "● link"]
    assert printed(Matrix(SentenceView((), (), (), ()), legend=False)) == []


def test_interlinear(french, chinese):
    first, numbers, second, linked = printed(Interlinear(french))
    for line, below, words in (
        (first, numbers, french.source_words),
        (second, linked, french.target_words),
    ):
        assert line.split() == list(words)
        assert len(below.split()) == len(words)
    assert linked[second.index("traversé")] == "4"
    lines = printed(Interlinear(chinese), 30)
    assert all(cell_len(line) <= 30 for line in lines)
    words, below = next(pair for pair in pairwise(lines) if "累" in pair[0])
    assert below[place(words, "累") :].startswith("11")


@given(st.text(max_size=12), st.integers(1, 30))
def test_texts_take_exactly_their_columns(text, width):
    word = printable(text, "utf-8")
    assert cell_len(fit(word, width, "…")) == width
    assert cell_len(center(word, width)) == width
    assert "".join(graphemes(word)) == word
    assert printable(text, "ascii").isascii()


def test_words_cannot_control_the_terminal():
    word = "a\x1b[31mb\nc"
    sentence = SentenceView((word,), (word,), (word,), (word,), ((0, 0),))
    for width in (80, 12, 8):
        lines = printed(Matrix(sentence), width) + printed(Interlinear(sentence), width)
        assert not any("\x1b" in line for line in lines)


def test_long_headings_are_cut():
    word = "Donaudampfschifffahrt"
    words = tuple(word for _ in range(9))
    lines = printed(Matrix(SentenceView(words, ("b",), words, ("b",)), legend=False), 30)
    assert len(lines) == MAX_HEADING + 1
    assert lines[-2].split() == ["…"] * 9
