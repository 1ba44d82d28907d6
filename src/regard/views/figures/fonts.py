"""Which fonts have the characters of a text, so that none of them is drawn as a box.

The fonts that matplotlib finds are opened, the likely ones first, until every character is found;
a text is then drawn with all of those, each glyph from the first that has it. A character that no
font has is spelled out ("U+1F600"), and one warning says what to install.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

FIRST = "DejaVu Sans"  # comes with matplotlib
_HAN = {
    "ja": ("Noto Sans CJK JP", "Noto Sans JP", "Source Han Sans JP", "Hiragino Sans", "Yu Gothic",
           "Meiryo", "IPAexGothic", "TakaoPGothic", "MS Gothic"),
    "zh": ("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "PingFang SC",
           "Microsoft YaHei", "SimHei", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei",
           "Droid Sans Fallback", "Arial Unicode MS"),
    "ko": ("Noto Sans CJK KR", "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic",
           "NanumGothic"),
}  # fmt: skip
_NOT_FOR_TEXT = ("Last Resort", "STIX", "cm", "Adobe Blank", "DejaVu Sans Display", "Noto Color")
_SEEN_AS = {"\n": "↵", "\r": "↵", "\t": "⇥", "\u00a0": " ", "\u3000": " "}
_PACKAGE = {
    "cjk": "Noto Sans CJK (Debian and Ubuntu: fonts-noto-cjk)",
    "other": "one of the Noto fonts (Debian and Ubuntu: fonts-noto, fonts-symbola)",
}


class MissingGlyphWarning(UserWarning):
    """Characters that no font on this computer can draw."""


@dataclass(frozen=True)
class Lettering:
    """The fonts that a figure's texts need, in order, and the characters that none of them has."""

    families: tuple[str, ...]
    missing: frozenset[str]

    def spell(self, text: str) -> str:
        """The text as it can be drawn: missing characters read "U+…", line ends "↵"."""
        return "".join(self._spelled(character) for character in text)

    def _spelled(self, character: str) -> str:
        if character in _SEEN_AS:
            return _SEEN_AS[character]
        if character not in self.missing:
            return character
        return "" if _invisible(character) else f"[U+{ord(character):04X}]"

    def warn(self) -> None:
        """Say in one sentence what could not be drawn, if anything."""
        lost = sorted(c for c in self.missing if not _invisible(c) and _has_picture(c))
        if not lost:
            return
        shown = ", ".join(f"{c if c.isprintable() else '?'} (U+{ord(c):04X})" for c in lost[:8])
        more = f" and {len(lost) - 8} more" if len(lost) > 8 else ""
        package = _PACKAGE["cjk" if any(_is_cjk(c) for c in lost) else "other"]
        warnings.warn(
            f"no font here has {shown}{more}, so that they are drawn as their numbers; install a "
            f"font that has them, for example {package}.",
            MissingGlyphWarning,
            stacklevel=5,
        )


def lettering(texts: Iterable[str], among: Iterable[str] | None = None) -> Lettering:
    """The fonts for these texts: the first, and of those matplotlib knows (`among`) any needed."""
    letters = {c for text in texts for c in text if c not in _SEEN_AS}
    letters |= {c for c in "".join(_SEEN_AS.values()) if c != " "}
    families, wanted = [FIRST], {c for c in letters if not has_glyph(FIRST, c)}
    for family in candidates(_language(letters)) if among is None else among:
        if not wanted:
            break
        found = {c for c in wanted if has_glyph(family, c)}
        if found:
            families.append(family)
            wanted -= found
    return Lettering(tuple(families), frozenset(wanted))


@cache
def has_glyph(family: str, character: str) -> bool:
    """Whether the font of this family, as a figure would find it, has the character."""
    from matplotlib.font_manager import get_font

    path = _path(family)
    if path is None or not _has_picture(character):
        return False
    return get_font(path).get_char_index(ord(character)) != 0


def candidates(language: str = "zh") -> tuple[str, ...]:
    """Families to look in after the first: those made for the language, then all others."""
    order = [language, *(other for other in _HAN if other != language)]
    known = _families()
    likely = [family for name in order for family in _HAN[name] if family in known]
    rest = sorted(known - set(likely) - {FIRST}, key=lambda name: ("Sans" not in name, name))
    return (*likely, *rest)


@cache
def _families() -> frozenset[str]:
    from matplotlib.font_manager import fontManager

    upright = ("normal", "regular", "book", 400)
    names = {entry.name for entry in fontManager.ttflist if entry.weight in upright}
    return frozenset(name for name in names if not name.startswith(_NOT_FOR_TEXT))


@cache
def _path(family: str) -> str | None:
    from matplotlib.font_manager import FontProperties, fontManager

    try:
        return fontManager.findfont(FontProperties(family=[family]), fallback_to_default=False)
    except ValueError:
        return None


def _language(letters: set[str]) -> str:
    """Whose shapes Chinese characters are given: Japanese beside kana, Korean beside hangul."""
    if any("\u3040" <= c <= "\u30ff" for c in letters):
        return "ja"
    if any("\uac00" <= c <= "\ud7a3" for c in letters):
        return "ko"
    return "zh"


def _has_picture(character: str) -> bool:
    """Whether a font could have it: control characters and halves of others are never drawn."""
    return unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")


def _is_cjk(character: str) -> bool:
    return unicodedata.name(character, "").startswith(("CJK", "HIRAGANA", "KATAKANA", "HANGUL"))


def _invisible(character: str) -> bool:
    """Joiners and selectors of variants, which draw nothing themselves."""
    return unicodedata.category(character) == "Cf" or "VARIATION SELECTOR" in unicodedata.name(
        character, ""
    )
