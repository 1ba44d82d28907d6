"""Fonts are selected by their glyphs; missing characters are written as numbers, with a warning."""

import warnings

import pytest

from regard.views import alignment_lines, heatmap
from regard.views.figures.fonts import DEFAULT, MissingGlyphWarning, select_fonts

NOWHERE = "\U000e0fff"  # never assigned a glyph
CHINESE, JAPANESE = "因为动物太累了，所以没有过马路。", "動物は疲れすぎていた。"


def test_default_font_suffices():
    fonts = select_fonts(["The animal", "▁été", "Straße", "</s>"])
    assert fonts.families == (DEFAULT,)
    assert not fonts.missing
    assert fonts.printable("▁été") == "▁été"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fonts.warn()


def test_missing_characters_are_numbered_with_a_warning():
    fonts = select_fonts([f"a{NOWHERE}b"])
    assert fonts.missing == {NOWHERE}
    assert fonts.printable(f"a{NOWHERE}b") == "a[U+E0FFF]b"
    with pytest.warns(MissingGlyphWarning, match=r"U\+E0FFF.*install a font") as said:
        fonts.warn()
    assert len(said) == 1


def test_missing_chinese_font_is_named():
    fonts = select_fonts([CHINESE], among=["DejaVu Sans Mono"])
    assert set("因为动物") <= fonts.missing
    assert fonts.printable("因a") == "[U+56E0]a"
    with pytest.warns(MissingGlyphWarning, match="fonts-noto-cjk") as said:
        fonts.warn()
    sentence = str(said[0].message)
    assert "and 5 more" in sentence or " more, so" in sentence
    assert sentence.count(". ") == 0  # one sentence


def test_line_ends_and_controls_are_visible():
    fonts = select_fonts(["a\nb", "\t", "x\u200dy\ufe0f", "\x00", "\ud800"])
    assert fonts.printable("a\nb\t") == "a↵b⇥"
    assert fonts.printable("\x00") == "[U+0000]"
    assert fonts.printable("\ud800") == "[U+D800]"
    assert "U+" not in fonts.printable("x\u200dy\ufe0f")  # joiners draw nothing
    figure = heatmap([[1.0]], ["\x00\ud800"], ["$\\frac{$"])  # neither XML nor mathematics
    assert figure.render("svg").decode().rstrip().endswith("</svg>")


@pytest.mark.needs("cjk-font")
@pytest.mark.parametrize("text", [CHINESE, JAPANESE])
def test_chinese_and_japanese_are_drawn_by_a_font_that_has_them(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of every glyph it must replace
        figure = heatmap([[0.5] * len(text)], ["ab"], list(text), title=text)
        assert len(figure.families) > 1
        for kind in ("png", "svg", "pdf"):
            assert figure.render(kind)
        alignment_lines(list(text), list("ab"), links=[(0, 1)]).render("png")


@pytest.mark.needs("cjk-font")
def test_each_glyph_is_its_own():
    """Two characters that were boxes would be the same picture."""
    one, other = (heatmap([[1.0]], ["x"], [word]).render("png") for word in "因过")
    assert one != other
    latin, mixed = select_fonts(["abc"]), select_fonts(["abc因"])
    assert mixed.families[0] == latin.families[0] == DEFAULT  # Latin letters look the same


@pytest.mark.needs("cjk-font")
def test_kana_ask_for_japanese_shapes():
    assert select_fonts([JAPANESE]).families[1] == "Noto Sans CJK JP"
    assert select_fonts([CHINESE]).families[1] == "Noto Sans CJK SC"
    assert select_fonts(["동물 動物"]).families[1] == "Noto Sans CJK KR"
