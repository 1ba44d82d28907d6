"""Languages and scripts without spaces between words."""

from __future__ import annotations

CHINESE = frozenset(["zh", "cmn", "yue", "wuu", "hak", "nan", "gan", "hsn", "lzh", "cjy"])
SPACELESS_LANGUAGES = CHINESE | frozenset(["ja", "th", "lo", "km", "my", "bo", "dz", "shn", "nod"])

SPACELESS_SCRIPTS = (
    "\u2e80-\u2fdf"  # radicals
    "\u3005-\u3007\u3021-\u3029\u3038-\u303b"  # 々 〆 〇 and numerals
    "\u3040-\u3098\u309b-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b16f"  # kana
    "\u3100-\u312f\u31a0-\u31bf"  # bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"  # Han
    "\u0e01-\u0e30\u0e32-\u0e33\u0e40-\u0e46"  # Thai, without its marks
    "\u0e81-\u0eb0\u0eb2-\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"  # Lao
    "\u1000-\u102a\u103f\u1050-\u1055"  # Myanmar
    "\u1780-\u17b3\u17d7\u17dc"  # Khmer
)
"""Letters of scripts written without spaces, as ranges of a regular expression."""


def base_language(tag: str) -> str:
    """The language subtag of a language tag, in lower case.

    >>> base_language("zh-Hant-TW"), base_language("EN_us")
    ('zh', 'en')
    """
    return tag.lower().replace("_", "-").partition("-")[0]


def is_spaceless(language: str) -> bool:
    """Whether the language is written without spaces between words (Chinese, Japanese, Thai …).

    >>> is_spaceless("zh-CN"), is_spaceless("ko")
    (True, False)
    """
    return base_language(language) in SPACELESS_LANGUAGES


def joiner(language: str) -> str:
    """The separator of two sentences of a paragraph: a space, or nothing."""
    return "" if is_spaceless(language) else " "
