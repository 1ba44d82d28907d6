"""Tokens of any tokenizer: made readable, and grouped into words by the marks they carry.

A word starts at ▁ (SentencePiece) or Ġ (byte-level BPE), continues at ## (WordPiece), and continues
after @@ or ends at </w> (other BPE tokenizers).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from regard.views.maps.token_groups import BYTE, Groups, decode_bytes, word_groups

_SPECIAL = re.compile(r"</?[a-z_]+(?:_\d+)?>|<\|[^|]*\|>|\[[A-Z]+\d*\]")
_WORD_PUNCTUATION = "'’-‐"  # it does not end a word


def is_special(token: str) -> bool:
    """Whether a token is a name rather than text, like </s>, [MASK] and <|endoftext|>.

    >>> [is_special(token) for token in ("</s>", "[CLS]", "<extra_id_0>", "<0xE7>", "<", "▁a")]
    [True, True, True, False, False, False]
    """
    return _SPECIAL.fullmatch(token) is not None and token != "</w>"


def readable(tokens: Sequence[str]) -> tuple[str, ...]:
    """Decode the characters of byte-level tokenizers, with a space as ▁; keep other tokens.

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
        return tuple(tokens)  # accented letters that happen to be in the alphabet
    return tuple(token if is_special(token) else _decode(token, alphabet) for token in tokens)


def strip_marks(tokens: Sequence[str]) -> list[str]:
    """Readable tokens without the marks of WordPiece and BPE; special tokens become </s>.

    >>> strip_marks(["[CLS]", "un", "##do", "[UNK]"])
    ['</s>', 'un', 'do', '<unk>']
    """
    marks = _marks(tokens)
    texts = []
    for token in tokens:
        if token in ("[UNK]", "<unk>"):
            texts.append("<unk>")
        elif is_special(token):
            texts.append("</s>")
        else:
            texts.append(token if marks in ("▁", "") else _parse(token, marks)[0])
    return texts


def words_of(tokens: Sequence[str]) -> tuple[tuple[str, ...], Groups]:
    """The words that tokens spell, and for each the tokens that spell it.

    Special tokens, Chinese and Japanese tokens, and punctuation except apostrophes and hyphens are
    words of their own.

    >>> words_of(["[CLS]", "un", "##think", "##able", "!"])
    (('[CLS]', 'unthinkable', '!'), ((0,), (1, 2, 3), (4,)))
    >>> words_of(["▁L", "'", "été", ".", "</s>"])
    (("L'été", '.', '</s>'), ((0, 1, 2), (3,), (4,)))
    """
    tokens = readable(tokens)
    marks = _marks(tokens)
    words: list[str] = []
    groups: list[list[int]] = []
    is_open = False  # whether the next token may continue the last word
    for number, token in enumerate(tokens):
        text, starts, ends = _parse(token, marks)
        if not text:  # a space by itself: the next token starts a word
            is_open = False
            continue
        separate = is_special(token) or _is_separate(text)
        if is_open and not starts and not separate:
            words[-1] += text
            groups[-1].append(number)
        else:
            words.append(text)
            groups.append([number])
        is_open = not separate and not ends
    return tuple(map(decode_bytes, words)), tuple(map(tuple, groups))


def group_words(
    tokens: tuple[str, ...], words: Sequence[str] | None
) -> tuple[tuple[str, ...], Groups]:
    """The given words, or those that readable tokens spell; and for each the tokens."""
    if words is None:
        return words_of(tokens)
    return tuple(words), word_groups(strip_marks(tokens), words)


def join_words(words: Sequence[str]) -> str:
    """Words as text: special ones left out, spaces where the script has them.

    >>> join_words(["[CLS]", "so", "it", "is", ",", "(", "yes", ")", "!", "[SEP]"])
    'so it is, (yes)!'
    >>> join_words(["我", "喜欢", "猫", "。"])
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
    """Whether the character's script is written without spaces between words."""
    name = unicodedata.name(character, "")
    return name.startswith(("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH", "THAI"))


def _marks(tokens: Sequence[str]) -> str:
    """Which marks these tokens carry: "▁", "##", "@@", "</w>", or "" for one word per token."""
    if any(token.startswith("▁") for token in tokens):
        return "▁"
    if any(token.startswith("##") and len(token) > 2 for token in tokens):
        return "##"
    for mark in ("</w>", "@@"):
        if any(token.endswith(mark) and len(token) > len(mark) for token in tokens):
            return mark
    return ""


def _parse(token: str, marks: str) -> tuple[str, bool, bool]:
    """A token's text, whether a word starts with it, and whether one ends with it."""
    if marks == "▁":
        return token.replace("▁", " ").strip(), token.startswith("▁"), token.endswith("⏎")
    if marks == "##":
        return token.removeprefix("##"), not token.startswith("##"), False
    if marks == "</w>":
        return token.removesuffix("</w>"), False, token.endswith("</w>")
    if marks == "@@":
        return token.removesuffix("@@"), False, not token.endswith("@@")
    return token, not BYTE.match(token), False


def _is_separate(text: str) -> bool:
    """Whether a token's text is always a word of its own."""
    if text in _WORD_PUNCTUATION or BYTE.match(text):
        return False
    return all(unicodedata.category(letter)[0] in "PS" for letter in text) or _unspaced(text[0])


def _decode(token: str, alphabet: dict[str, int]) -> str:
    raw = bytes(alphabet[character] for character in token)
    try:
        return raw.decode("utf-8").replace(" ", "▁").replace("\n", "⏎").replace("\t", "⇥")
    except UnicodeDecodeError:  # part of a character
        return "".join(f"<0x{byte:02X}>" for byte in raw)


@cache
def _byte_alphabet() -> dict[str, int]:
    """The byte for each character of byte-level tokenizers."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unprintable = [byte for byte in range(256) if byte not in set(printable)]
    alphabet = {chr(byte): byte for byte in printable}
    return alphabet | {chr(0x100 + number): byte for number, byte in enumerate(unprintable)}
