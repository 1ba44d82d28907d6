"""Stand-ins: words that a model reads and copies in place of placeholders, and their return.

    "Cannot open %s: {reason}"  ──mask──▶  "Cannot open X: Z"
    "Impossible d'ouvrir X : Z"  ──restore──▶  "Impossible d'ouvrir %s : {reason}"

A stand-in is a word by itself: where a placeholder touches letters ("file%s"), a space is put
between them and removed from the translation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from regard.text.normalization import SPACE_MARK
from regard.text.tokenizer import FIRST_BYTE, UNK, Tokenizer
from regard.text.words import SPACELESS_SCRIPTS

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_LETTER = re.compile(rf"[^\W{SPACELESS_SCRIPTS}]")
_AROUND = rf"(?<![^\W{SPACELESS_SCRIPTS}]){{}}(?![^\W{SPACELESS_SCRIPTS}])"

NAMES = (
    *"XZQKWVYRTPNHGFDBCJLSMUEO",
    *(f"{first}{second}" for first in "XZQKW" for second in "123456789"),
)
"""Words that models of most languages copy, the best first."""
MAX_NAMES = 200


class StandIn(NamedTuple):
    """A word in place of a placeholder.

    name    the word
    value   the placeholder, or several that touch
    joined  whether it touches a letter before it, and after it
    """

    name: str
    value: str
    joined: tuple[bool, bool] = (False, False)


def mask(
    text: str, spans: Sequence[tuple[int, int]], names: Iterable[str]
) -> tuple[str, tuple[StandIn, ...]]:
    """The text with stand-ins in place of the spans; names that the text has are not used.

    Placeholders for which there is no name stay.

    >>> mask("%d X, file%s", [(0, 2), (10, 12)], ["X", "Y", "Z"])
    ('Y X, file Z', (StandIn(name='Y', value='%d', joined=(False, False)), \
StandIn(name='Z', value='%s', joined=(True, False))))
    """
    taken = set(re.findall(rf"[^\W{SPACELESS_SCRIPTS}]+", text.lower()))
    free = (name for name in dict.fromkeys(names) if name.lower() not in taken)
    parts: list[str] = []
    stand_ins: list[StandIn] = []
    position = 0
    for (start, end), name in zip(spans, free, strict=False):
        before = is_letter(text[max(0, start - 1) : start])
        after = is_letter(text[end : end + 1])
        parts += text[position:start], " " * before, name, " " * after
        stand_ins.append(StandIn(name, text[start:end], (before, after)))
        position = end
    return "".join((*parts, text[position:])), tuple(stand_ins)


def is_letter(character: str) -> bool:
    """Whether a character would be one word with a stand-in beside it.

    >>> is_letter("a"), is_letter("字"), is_letter(" "), is_letter("")
    (True, False, False, False)
    """
    return bool(_LETTER.match(character))


def name_spans(name: str, text: str) -> list[tuple[int, int]]:
    """The spans of a stand-in in a text.

    >>> name_spans("X", "X ou d'X, 文X字; XY")
    [(0, 1), (7, 8), (11, 12)]
    """
    return [match.span() for match in _pattern(name).finditer(text)]


def restore(text: str, stand_ins: Sequence[StandIn]) -> str:
    """The text with the placeholders in place of their stand-ins.

    >>> restore("le fichier Z : Y", [StandIn("Y", "%d"), StandIn("Z", "%s", (True, False))])
    'le fichier%s : %d'
    """
    spans = sorted(
        (*span, stand_in) for stand_in in stand_ins for span in name_spans(stand_in.name, text)
    )
    parts: list[str] = []
    position = 0
    for start, end, (_, value, (before, after)) in spans:
        between = text[position:start]
        parts += between[: len(between) - (before and between.endswith(" "))], value
        position = end + (after and text[end : end + 1] == " ")
    return "".join((*parts, text[position:]))


def copyable_names(source: Tokenizer, target: Tokenizer) -> tuple[str, ...]:
    """The stand-ins for a model: words that both its vocabularies have, in fewest tokens first.

    If they have none of `NAMES`, other words that both have; else `NAMES` nevertheless.
    """
    lengths = {name: _num_tokens(name, source, target) for name in NAMES}
    known = sorted((name for name in NAMES if lengths[name]), key=lambda name: lengths[name])
    if known:
        return tuple(known)
    pieces = (side.pieces(range(FIRST_BYTE, len(side))) for side in (source, target))
    known_words = (
        {piece.removeprefix(SPACE_MARK) for piece in vocabulary} for vocabulary in pieces
    )
    common = sorted(set.intersection(*known_words), key=lambda word: (not word[:1].isupper(), word))
    words = (word for word in common if len(word) > 2 and word.isalpha())
    usable = [word for word in words if _num_tokens(word, source, target)]
    return tuple(usable[:MAX_NAMES]) or NAMES


def _num_tokens(name: str, source: Tokenizer, target: Tokenizer) -> int:
    """The number of tokens of a name in both vocabularies; 0 if either has to spell its bytes."""
    ids = source.encode(name), target.encode(name)
    pieces = [*source.pieces(ids[0]), *target.pieces(ids[1])]
    known = UNK not in (*ids[0], *ids[1]) and not any(map(_BYTE.fullmatch, pieces))
    return len(pieces) if known else 0


@lru_cache(1024)
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_AROUND.format(re.escape(name)))
