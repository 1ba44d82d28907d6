"""The normal form of text, in which regard counts, compares, tokenises and translates.

It changes as little as it can, and these five things only:

1. control characters, stray byte order marks and lone surrogates go (they carry no text, and the
   last cannot be written to any file);
2. Unicode's canonical composition (NFC): é is one character, however it was typed;
3. every run of white space, of whatever kind and with line breaks, becomes one space;
4. white space at both ends goes;
5. ▁ (U+2581) becomes _, since tokenisers write ▁ for a space.

Case, quotation marks, dashes, full- and half-width forms and ligatures stay as they are: what
is folded away cannot be put back into a translation.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import accumulate

SPACE_MARK = "▁"  # U+2581

MANY_MARKS = 64  # combining marks in a row: more than any script has

# Cc without what counts as white space; surrogates; the byte order mark
_REMOVED = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff]+")


def normalize(text: str) -> str:
    """The text in normal form; of a text in normal form, the text itself.

    >>> normalize(" cafe\\u0301\\tau\\u00a0lait\\r\\n")
    'café au lait'
    """
    composed = unicodedata.normalize("NFC", _marks_in_order(_REMOVED.sub("", text)))
    return " ".join(composed.replace(SPACE_MARK, "_").split())


def _marks_in_order(text: str) -> str:
    """The text with its long runs of combining marks in canonical order.

    NFC sorts a run of n marks in n² steps; sorted beforehand, it takes n. A run of MANY_MARKS has
    one of its marks at a multiple of MANY_MARKS, so that only these places are looked at.
    """
    parts: list[str] = []
    done = 0
    for place in range(0, len(text), MANY_MARKS):
        if place >= done and _is_mark(text[place]):
            start = end = place
            while start > done and _is_mark(text[start - 1]):
                start -= 1
            while end < len(text) and _is_mark(text[end]):
                end += 1
            parts += text[done:start], _ordered(text[start:end])
            done = end
    return "".join((*parts, text[done:]))


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _ordered(run: str) -> str:
    """Combining marks in canonical order: a stable sort by combining class.

    A mark of class 0 keeps its place, and no other is moved past it.
    """
    marks = [mark for composed in run for mark in unicodedata.normalize("NFD", composed)]
    classes = [unicodedata.combining(mark) for mark in marks]
    groups = accumulate(not number for number in classes)
    order = sorted(zip(groups, classes, range(len(marks)), strict=True))
    return "".join(marks[place] for _, _, place in order)
