"""Tokens of any tokeniser made readable, and gathered into words by the marks they carry.

A word begins at ▁ (SentencePiece) or Ġ (byte-level pairs), goes on at ## (WordPiece), and goes on
after @@ or ends at </w> (other pair encodings).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from regard.views.maps.spelling import Groups

_SPECIAL = re.compile(r"</?[a-z_]+(?:_\d+)?>|<\|[^|]*\|>|\[[A-Z]+\d*\]")
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_INSIDE = "'’-‐"  # punctuation that stands within words


def is_special(token: str) -> bool:
    """Whether a token is a name rather than text, as </s>, [MASK] and <|endoftext|> are.

    >>> [is_special(token) for token in ("</s>", "[CLS]", "<extra_id_0>", "<0xE7>", "<", "▁a")]
    [True, True, True, False, False, False]
    """
    return _SPECIAL.fullmatch(token) is not None and token != "</w>"


def readable(tokens: Sequence[str]) -> tuple[str, ...]:
    """Tokens as people read them: bytes decoded, a space as ▁; others stay as they are.

    >>> readable(["The", "ĠcafÃ©", "Ċ", "<|endoftext|>"])
    ('The', '▁café', '⏎', '<|endoftext|>')
    >>> readable(["ä½łå¥½", "çļ", "Ħ"])
    ('你好', '<0xE7><0x9A>', '<0x84>')
    """
    alphabet = _byte_alphabet()
    text = "".join(token for token in tokens if not is_special(token))
    if text.isascii() or not all(character in alphabet for character in text):
        return tuple(tokens)
    try:
        bytes(alphabet[character] for character in text).decode("utf-8")
    except UnicodeDecodeError:
        return tuple(tokens)  # letters with accents that happen to be in the alphabet
    return tuple(token if is_special(token) else _spelled(token, alphabet) for token in tokens)


def plain(tokens: Sequence[str]) -> list[str]:
    """Readable tokens without the marks of WordPiece and others; those that spell nothing as </s>.

    >>> plain(["[CLS]", "un", "##do", "[UNK]"])
    ['</s>', 'un', 'do', '<unk>']
    """
    marks = _marks(tokens)
    found = []
    for token in tokens:
        if token == "[UNK]":
            found.append("<unk>")
        elif is_special(token) and token != "<unk>":
            found.append("</s>")
        else:
            found.append(token if marks in ("▁", "") else _read(token, marks)[0])
    return found


def words_of(tokens: Sequence[str]) -> tuple[tuple[str, ...], Groups]:
    """The words that tokens spell, and for each the tokens that spell it.

    Special tokens, Chinese and Japanese ones, and punctuation but for apostrophes and hyphens
    stand alone.

    >>> words_of(["[CLS]", "un", "##think", "##able", "!"])
    (('[CLS]', 'unthinkable', '!'), ((0,), (1, 2, 3), (4,)))
    >>> words_of(["▁L", "'", "été", ".", "</s>"])
    (("L'été", '.', '</s>'), ((0, 1, 2), (3,), (4,)))
    """
    tokens = readable(tokens)
    marks = _marks(tokens)
    words: list[list[str]] = []
    groups: list[list[int]] = []
    open_word = False  # whether the next token may go on with the last word
    for number, token in enumerate(tokens):
        text, begins, ends = _read(token, marks)
        if not text:  # a space alone: the next token begins a word
            open_word = False
            continue
        alone = is_special(token) or _stands_alone(text)
        if open_word and not begins and not alone:
            words[-1].append(text)
            groups[-1].append(number)
        else:
            words.append([text])
            groups.append([number])
        open_word = not alone and not ends
    return tuple(_joined(parts) for parts in words), tuple(tuple(group) for group in groups)


def written(words: Sequence[str]) -> str:
    """Words as people write them: special ones left out, spaces where there are any.

    >>> written(["[CLS]", "so", "it", "is", ",", "(", "yes", ")", "!", "[SEP]"])
    'so it is, (yes)!'
    >>> written(["我", "喜欢", "猫", "。"])
    '我喜欢猫。'
    """
    text = ""
    for word in words:
        if not word or (is_special(word) and word.strip("<>[]").lower() not in ("mask", "unk")):
            continue
        joined = not text or unicodedata.category(word[0]) in ("Pe", "Pf", "Po")
        joined = joined or unicodedata.category(text[-1]) in ("Ps", "Pi") or _unspaced(text[-1])
        text += word if joined or _unspaced(word[0]) else f" {word}"
    return text


def _unspaced(character: str) -> bool:
    """Whether words of a script stand without spaces between them."""
    name = unicodedata.name(character, "")
    return name.startswith(("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH", "THAI"))


def _marks(tokens: Sequence[str]) -> str:
    """Which marks these tokens carry: "▁", "##", "@@", "</w>", or "" for one word a token."""
    if any(token.startswith("▁") for token in tokens):
        return "▁"
    if any(token.startswith("##") and len(token) > 2 for token in tokens):
        return "##"
    for mark in ("</w>", "@@"):
        if any(token.endswith(mark) and len(token) > len(mark) for token in tokens):
            return mark
    return ""


def _read(token: str, marks: str) -> tuple[str, bool, bool]:
    """A token's text, whether a word begins with it, and whether one ends with it."""
    if marks == "▁":
        return token.replace("▁", " ").strip(), token.startswith("▁"), token.endswith("⏎")
    if marks == "##":
        return token.removeprefix("##"), not token.startswith("##"), False
    if marks == "</w>":
        return token.removesuffix("</w>"), False, token.endswith("</w>")
    if marks == "@@":
        return token.removesuffix("@@"), False, not token.endswith("@@")
    return token, not _BYTE.match(token), False


def _stands_alone(text: str) -> bool:
    """Whether a token is a word of its own wherever it stands."""
    if text in _INSIDE or _BYTE.match(text):
        return False
    if all(unicodedata.category(character)[0] in "PS" for character in text):
        return True
    return _unspaced(text[0])


def _joined(parts: Sequence[str]) -> str:
    """The text of a word's tokens, bytes decoded."""
    pieces = re.split(rf"((?:{_BYTE.pattern.replace('(', '(?:')})+)", "".join(parts))
    for place in range(1, len(pieces), 2):
        raw = bytes(int(one, 16) for one in _BYTE.findall(pieces[place]))
        pieces[place] = raw.decode("utf-8", "replace")
    return "".join(pieces)


def _spelled(token: str, alphabet: dict[str, int]) -> str:
    raw = bytes(alphabet[character] for character in token)
    try:
        return raw.decode("utf-8").replace(" ", "▁").replace("\n", "⏎").replace("\t", "⇥")
    except UnicodeDecodeError:  # part of a character
        return "".join(f"<0x{one:02X}>" for one in raw)


@cache
def _byte_alphabet() -> dict[str, int]:
    """The character that byte-level tokenisers write for each byte, and the byte."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(shown)]
    alphabet = {chr(byte): byte for byte in shown}
    return alphabet | {chr(0x100 + place): byte for place, byte in enumerate(others)}
