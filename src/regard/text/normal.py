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

SPACE_MARK = "▁"  # U+2581

# Cc without what counts as white space; surrogates; the byte order mark
_REMOVED = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff]+")


def normalise(text: str) -> str:
    """The text in normal form; of a text in normal form, the text itself.

    >>> normalise(" cafe\\u0301\\tau\\u00a0lait\\r\\n")
    'café au lait'
    """
    composed = unicodedata.normalize("NFC", _REMOVED.sub("", text))
    return " ".join(composed.replace(SPACE_MARK, "_").split())
