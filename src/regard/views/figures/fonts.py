"""Select fonts that have the characters of a text, so that none is drawn as an empty box.

The fonts that matplotlib finds are opened, likely ones first, until every character is covered; a
text is then drawn with all of them as fallbacks. A character that no font has is written as its
number ("U+1F600"), and one warning says what to install.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

DEFAULT = "DejaVu Sans"  # comes with matplotlib
_CJK_FONTS = {
    "ja": (
        "Noto Sans CJK JP",
        "Noto Sans JP",
        "Source Han Sans JP",
        "Hiragino Sans",
        "Yu Gothic",
        "Meiryo",
        "IPAexGothic",
        "TakaoPGothic",
        "MS Gothic",
    ),
    "zh": (
        "Noto Sans CJK SC",
        "Noto Sans SC",
        "Source Han Sans SC",
        "PingFang SC",
        "Microsoft YaHei",
        "SimHei",
        "WenQuanYi Zen Hei",
        "WenQuanYi Micro Hei",
        "Droid Sans Fallback",
        "Arial Unicode MS",
    ),
    "ko": (
        "Noto Sans CJK KR",
        "Noto Sans KR",
        "Apple SD Gothic Neo",
        "Malgun Gothic",
        "NanumGothic",
    ),
}
_NOT_FOR_TEXT = ("Last Resort", "STIX", "cm", "Adobe Blank", "DejaVu Sans Display", "Noto Color")
_REPLACED = {"\n": "↵", "\r": "↵", "\t": "⇥", "\u00a0": " ", "\u3000": " "}
_PACKAGE = {
    "cjk": "Noto Sans CJK (Debian and Ubuntu: fonts-noto-cjk)",
    "other": "one of the Noto fonts (Debian and Ubuntu: fonts-noto, fonts-symbola)",
}


class MissingGlyphWarning(UserWarning):
    """Characters that no installed font can draw."""


@dataclass(frozen=True)
class FontSelection:
    """The fonts that a figure's texts need, in order, and the characters that none of them has."""

    families: tuple[str, ...]
    missing: frozenset[str]

    def printable(self, text: str) -> str:
        """The text as it can be drawn: missing characters as "U+…", line ends as "↵"."""
        return "".join(self._printable(character) for character in text)

    def _printable(self, character: str) -> str:
        if character in _REPLACED or character not in self.missing:
            return _REPLACED.get(character, character)
        return "" if _is_invisible(character) else f"[U+{ord(character):04X}]"

    def warn(self) -> None:
        """Warn in one sentence about characters that cannot be drawn, if any."""
        lost = sorted(c for c in self.missing if not _is_invisible(c) and _is_drawable(c))
        if not lost:
            return
        names = ", ".join(f"{c if c.isprintable() else '?'} (U+{ord(c):04X})" for c in lost[:8])
        remainder = f" and {len(lost) - 8} more" if len(lost) > 8 else ""
        package = _PACKAGE["cjk" if any(_is_cjk(c) for c in lost) else "other"]
        warnings.warn(
            f"no installed font has {names}{remainder}, so they are drawn as their numbers; "
            f"install a font that has them, for example {package}.",
            MissingGlyphWarning,
            stacklevel=5,
        )


def select_fonts(texts: Iterable[str], among: Iterable[str] | None = None) -> FontSelection:
    """Select the default font, and any others (of `among`, or of all installed) that are needed."""
    letters = {c for text in texts for c in text if c not in _REPLACED}
    letters |= {c for c in _REPLACED.values() if c != " "}
    families, uncovered = [DEFAULT], {c for c in letters if not has_glyph(DEFAULT, c)}
    for family in candidates(_language(letters)) if among is None else among:
        if not uncovered:
            break
        covered = {c for c in uncovered if has_glyph(family, c)}
        if covered:
            families.append(family)
            uncovered -= covered
    return FontSelection(tuple(families), frozenset(uncovered))


@cache
def has_glyph(family: str, character: str) -> bool:
    """Whether the font that matplotlib finds for this family has the character."""
    from matplotlib.font_manager import get_font

    path = _path(family)
    if path is None or not _is_drawable(character):
        return False
    return get_font(path).get_char_index(ord(character)) != 0


def candidates(language: str = "zh") -> tuple[str, ...]:
    """Families to try after the default one: those made for the language, then all others."""
    order = [language, *(key for key in _CJK_FONTS if key != language)]
    installed = _families()
    likely = [family for name in order for family in _CJK_FONTS[name] if family in installed]
    rest = sorted(installed - {*likely, DEFAULT}, key=lambda name: ("Sans" not in name, name))
    return (*likely, *rest)


@cache
def _families() -> frozenset[str]:
    from matplotlib.font_manager import fontManager

    regular = ("normal", "regular", "book", 400)
    names = {entry.name for entry in fontManager.ttflist if entry.weight in regular}
    return frozenset(name for name in names if not name.startswith(_NOT_FOR_TEXT))


@cache
def _path(family: str) -> str | None:
    from matplotlib.font_manager import FontProperties, fontManager

    try:
        return fontManager.findfont(FontProperties(family=[family]), fallback_to_default=False)
    except ValueError:
        return None


def _language(letters: set[str]) -> str:
    """Whose glyph variants Chinese characters get: Japanese with kana, Korean with hangul."""
    if any("\u3040" <= c <= "\u30ff" for c in letters):
        return "ja"
    if any("\uac00" <= c <= "\ud7a3" for c in letters):
        return "ko"
    return "zh"


def _is_drawable(character: str) -> bool:
    """Whether a font could have it: control characters and surrogates are never drawn."""
    return unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")


def _is_cjk(character: str) -> bool:
    return unicodedata.name(character, "").startswith(("CJK", "HIRAGANA", "KATAKANA", "HANGUL"))


def _is_invisible(character: str) -> bool:
    """Joiners and variation selectors, which draw nothing themselves."""
    name = unicodedata.name(character, "")
    return unicodedata.category(character) == "Cf" or "VARIATION SELECTOR" in name
