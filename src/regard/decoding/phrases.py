"""Words and phrases in an output, whatever tokens spell them.

A phrase occurs where its characters do, as whole words: `bank` occurs in "a bank." and in
"bank-note" but not in "banker". Letters of scripts without spaces (Han, kana, Thai …) have no
such boundary. A model may spell a word in other tokens than its tokenizer would; so the
characters of the tokens are compared, not their ids.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING

from regard.text import MASK, UNK, Tokenizer, normalize
from regard.text.normalization import SPACE_MARK
from regard.text.tokenizer import SPECIALS
from regard.text.words import SPACELESS_SCRIPTS

if TYPE_CHECKING:
    from regard.decoding.request import Ban

_LETTER = rf"(?:[^\W{SPACELESS_SCRIPTS}]|\0)"
_INSIDE = "\0"  # stands for the letters of a word that the phrase cannot begin in
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_FIRST_BYTE = 0xE000  # private characters stand for the bytes of characters without a token


class TokenTexts:
    """The characters that each token of a vocabulary writes; special tokens write none."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        pieces = tokenizer.pieces(range(len(tokenizer)))
        self.texts = [""] * len(SPECIALS) + [_text(piece) for piece in pieces[len(SPECIALS) :]]
        joined = "".join(self.texts)
        self._alphabet = frozenset(joined + joined.lower())

    def spell(self, text: str) -> str:
        """Normalize a text; characters that no token has become the marks of their bytes."""
        return "".join(
            character
            if character in self._alphabet
            else "".join(chr(_FIRST_BYTE + byte) for byte in character.encode())
            for character in normalize(text)
        )

    def join(self, tokens: Iterable[int]) -> str:
        """The characters of an output."""
        return "".join(self.texts[token] for token in tokens)


def _text(piece: str) -> str:
    byte = _BYTE.fullmatch(piece)
    return chr(_FIRST_BYTE + int(byte[1], 16)) if byte else piece.replace(SPACE_MARK, " ")


def is_letter(text: str) -> bool:
    """Whether a text begins with a letter or digit of a script that has spaces between words."""
    return re.match(_LETTER, text) is not None


def whole_words(phrase: str) -> str:
    """Return the regular expression of a phrase that does not begin or end inside a word.

    >>> re.findall(whole_words("un"), "un, l'un, une, aucun")
    ['un', 'un']
    >>> re.findall(whole_words("银行"), "在银行里")
    ['银行']
    """
    left = f"(?<!{_LETTER})" if is_letter(phrase[:1]) else ""
    right = f"(?!{_LETTER})" if is_letter(phrase[-1:]) else ""
    return f"{left}{re.escape(phrase)}{right}"


class ForbiddenPhrase:
    """A `Ban` of the tokens that would write a phrase, in upper or lower case.

    A token is banned if the output would end with the phrase, or have it before other characters;
    so the phrase never occurs. A longer word is written if some token crosses the phrase's end:
    with "un" forbidden, `une` can be, `un` + `ique` cannot.
    """

    def __init__(self, phrase: str, texts: TokenTexts) -> None:
        self.phrase = texts.spell(phrase.lower())
        self._texts = texts.texts
        self._pattern = re.compile(whole_words(self.phrase))
        last = self.phrase[-1]
        self._tokens = [(n, t) for n, t in enumerate(map(str.lower, texts.texts)) if last in t]
        self._banned: dict[str, tuple[int, ...]] = {}

    def __call__(self, tokens: Sequence[int]) -> Collection[int]:
        begun = self._begun(tokens)
        if begun not in self._banned:
            self._banned[begun] = tuple(
                token for token, text in self._tokens if self._pattern.search(begun + text)
            )
        return self._banned[begun]

    def _begun(self, tokens: Sequence[int]) -> str:
        """The beginning of the phrase that the output ends with; else whether it ends in a word.

        A whole phrase at the end, which only a prefix can have forced, is no beginning.
        """
        end = ""
        for token in reversed(tokens):
            end = self._texts[token].lower() + end
            if len(end) > len(self.phrase):
                break
        for length in range(min(len(self.phrase) - 1, len(end)), 0, -1):
            before = end[: len(end) - length]
            inside = is_letter(before[-1:]) and is_letter(self.phrase[:1])
            if end.endswith(self.phrase[:length]) and not inside:
                return self.phrase[:length]
        return _INSIDE if is_letter(end[-1:]) else ""


def forbidden_phrases(phrases: Iterable[str], texts: TokenTexts) -> list[Ban]:
    """Return the bans of all phrases that are not empty."""
    return [ForbiddenPhrase(phrase, texts) for phrase in phrases if normalize(phrase)]


class RequiredPhrase:
    """A phrase that an output must have, in these letters; its first may be a capital at the start.

    positions  of the source tokens that it translates, if they are known (`translating`)
    spellings  the phrase in tokens, after a space or after another character
    openings   the same at the beginning of an output
    """

    positions: tuple[int, ...] = ()

    def __init__(self, phrase: str, tokenizer: Tokenizer, texts: TokenTexts) -> None:
        phrase = normalize(phrase)
        capital = phrase[:1].upper() + phrase[1:]
        self.phrase, self.texts = phrase, texts
        self._begins_word = is_letter(phrase)
        inside, opening = (whole_words(texts.spell(text)) for text in (phrase, capital))
        self._pattern = re.compile(rf"{inside}|^\s*{opening}")
        mask = SPECIALS[MASK]
        after = (tokenizer.encode_masked(f"{mask}{gap}{phrase}")[1:] for gap in ("", " "))
        self.spellings = [ids for ids in _distinct(after) if self._may_follow(ids)]
        self.openings = _distinct(map(tokenizer.encode, (phrase, capital)))

    def __len__(self) -> int:
        """The number of tokens of the longest spelling."""
        return max(map(len, (*self.spellings, *self.openings)), default=0)

    def translating(self, positions: Sequence[int]) -> RequiredPhrase:
        """The same phrase as the translation of some source tokens."""
        phrase = copy(self)
        phrase.positions = tuple(positions)
        return phrase

    def occurs(self, text: str) -> bool:
        """Whether the characters of an output have the phrase."""
        return self._pattern.search(text) is not None

    def progress(self, tokens: Sequence[int], text: str) -> int:
        """The number of the phrase's first tokens that an output ends with, but not all."""
        return max((length for length, _ in self._begun(tokens, text)), default=0)

    def next_tokens(self, tokens: Sequence[int], text: str) -> set[int]:
        """The tokens that begin or continue the phrase after an output."""
        return {token for _, token in self._begun(tokens, text)}

    def _begun(self, tokens: Sequence[int], text: str) -> Iterator[tuple[int, int]]:
        """Yield (tokens of a spelling that the output ends with, the spelling's next token)."""
        end = list(tokens[-len(self) :])
        for length in range(min(len(self) - 1, len(tokens)) + 1):
            start = len(tokens) - length
            for ids in self.spellings if start else self.openings:
                if (
                    length and ids[length - 1 : length] != end[-1:]
                ):  # nearly always, so it is asked first
                    continue
                if length < len(ids) and ids[:length] == end[len(end) - length :]:
                    before = text[: len(text) - len(self.texts.join(ids[:length]))]
                    joined = self._begins_word and not self.texts.texts[ids[0]].startswith(" ")
                    if not (joined and is_letter(before[-1:])):
                        yield length, ids[length]

    def _may_follow(self, ids: Sequence[int]) -> bool:
        """Whether a spelling may follow other text: not a space and a Chinese word."""
        spaceless = re.match(f"[{SPACELESS_SCRIPTS}]", self.phrase) is not None
        return not (spaceless and self.texts.texts[ids[0]].startswith(" "))


def _distinct(spellings: Iterable[list[int]]) -> list[list[int]]:
    """The different spellings without unknown tokens."""
    known = {tuple(ids): None for ids in spellings if ids and UNK not in ids}
    return [list(ids) for ids in known]
