"""Text normalization, applied before text is counted, compared, tokenized or translated.

It makes five changes only:

1. control characters, stray byte order marks and lone surrogates are removed;
2. Unicode's canonical composition (NFC): é is one character;
3. every run of white space, line breaks included, becomes one space;
4. white space at both ends is removed;
5. ▁ (U+2581) becomes _, since tokenizers write ▁ for a space.

Case, quotation marks, dashes, full- and half-width forms and ligatures are kept, because a
translation could not restore them.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import accumulate

SPACE_MARK = "▁"  # U+2581

MANY_MARKS = 64  # combining marks in a row: more than any script has

# Cc without what counts as white space; surrogates; the byte order mark
_REMOVED = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff]+")

# What is neither removed nor replaced nor white space, and never composed with what is before it:
# Latin letters, Cyrillic, punctuation, kana, Han, Hangul, full-width forms
_CHANGED = re.compile(
    "[^ -~\xa1-\u02ff\u0400-\u0482\u048a-\u052f\u2010-\u2027\u3001-\u3029\u3041-\u3096\u30a1-\u30fe"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff9d]"
)


def normalize(text: str) -> str:
    """Normalize a text; idempotent.

    >>> normalize(" cafe\\u0301\\tau\\u00a0lait\\r\\n")
    'café au lait'
    """
    if _CHANGED.search(text) is None:
        return " ".join(text.split())
    composed = unicodedata.normalize("NFC", _sort_marks(_REMOVED.sub("", text)))
    return " ".join(composed.replace(SPACE_MARK, "_").split())


def _sort_marks(text: str) -> str:
    """Put long runs of combining marks in canonical order.

    NFC sorts a run of n marks in n² steps, and a sorted run in n. A run of MANY_MARKS has a mark at
    a multiple of MANY_MARKS, so only these positions are checked.
    """
    parts: list[str] = []
    done_until = 0
    for position in range(0, len(text), MANY_MARKS):
        if position >= done_until and _is_mark(text[position]):
            start = end = position
            while start > done_until and _is_mark(text[start - 1]):
                start -= 1
            while end < len(text) and _is_mark(text[end]):
                end += 1
            parts += text[done_until:start], _canonical_order(text[start:end])
            done_until = end
    return "".join((*parts, text[done_until:]))


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _canonical_order(run: str) -> str:
    """Sort combining marks stably by combining class; a mark of class 0 is never moved past."""
    marks = [mark for composed in run for mark in unicodedata.normalize("NFD", composed)]
    classes = [unicodedata.combining(mark) for mark in marks]
    groups = accumulate(not number for number in classes)
    order = sorted(zip(groups, classes, range(len(marks)), strict=True))
    return "".join(marks[index] for _, _, index in order)
