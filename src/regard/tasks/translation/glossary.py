"""Words that translations must not have, and glossaries: terms and their given translations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from os import PathLike

from regard.decoding import RequiredPhrase, TokenTexts
from regard.decoding.phrases import ForbiddenPhrase, whole_words
from regard.errors import InputError
from regard.formats.lines import read_lines
from regard.formats.pair import format_error
from regard.text import Tokenizer, normalize
from regard.text.tags import tagged_spans

Term = tuple[str, str]
"""A source term and its translation."""


def glossary_terms(glossary: Mapping[str, str]) -> tuple[Term, ...]:
    """The terms of a glossary, normalized; none may be empty."""
    terms = tuple((normalize(source), normalize(target)) for source, target in glossary.items())
    for given, term in zip(glossary.items(), terms, strict=True):
        if not all(term):
            raise InputError(f"a glossary needs a term and its translation, got {given}.")
    return terms


def read_glossary(path: str | PathLike[str], encoding: str = "utf-8") -> dict[str, str]:
    """Read a file of terms, a line each: source, a tab, target; empty lines and # are skipped."""
    glossary: dict[str, str] = {}
    for number, line in enumerate(read_lines(str(path), encoding), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = [normalize(column) for column in line.split("\t")[:2]]
        if len(columns) < 2 or not all(columns):
            what = "a term and its translation are expected"
            raise format_error(path, number, what, "put a tab between them")
        source, target = columns
        if glossary.setdefault(source, target) != target:
            what = f"the term {source!r} has another translation above"
            raise format_error(path, number, what, "keep one of them")
    return glossary


class TermFinder:
    """Finds the terms of a glossary in source texts: whole words, in upper or lower case.

    Of terms that overlap, the one that begins first and then the longest is found.

    >>> finder = TermFinder((("bank", "rive"), ("bank account", "compte")))
    >>> finder.find("A Bank, a bank account; bankers.")
    {('bank', 'rive'): [(2, 6)], ('bank account', 'compte'): [(10, 22)]}
    """

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self._terms = {term[0].lower(): term for term in terms}
        longest_first = sorted((source for source, _ in terms), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(whole_words, longest_first)), re.IGNORECASE)

    def find(self, text: str) -> dict[Term, list[tuple[int, int]]]:
        """The terms that a normalized text has, with their spans, in the order of the text."""
        found: dict[Term, list[tuple[int, int]]] = {}
        for match in self._pattern.finditer(text):
            term = self._terms.get(match.group().lower())
            if term is not None:
                found.setdefault(term, []).append(match.span())
        return found


class TargetLexicon:
    """Words and phrases in the tokens of a model's target language; recent ones are kept."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._forbidden = lru_cache(256)(lambda phrase: ForbiddenPhrase(phrase, self._texts))
        self._required = lru_cache(4096)(
            lambda phrase: RequiredPhrase(phrase, self._tokenizer, self._texts)
        )
        self._finder = lru_cache(16)(TermFinder)

    def bans(self, phrases: Iterable[str]) -> list[ForbiddenPhrase]:
        """What keeps phrases from being written."""
        return [self._forbidden(phrase) for phrase in map(normalize, phrases) if phrase]

    def required(
        self, terms: tuple[Term, ...], text: str, ids: Sequence[int], tokenizer: Tokenizer
    ) -> dict[Term, RequiredPhrase]:
        """The terms of a glossary that a source text has, and what its translation must have."""
        if not terms:
            return {}
        found = self._finder(terms).find(normalize(text))
        token_spans = tagged_spans(tokenizer, text, ids) if found else []
        return {
            term: self._required(term[1]).translating(
                [
                    position
                    for position, (start, end) in enumerate(token_spans)
                    if any(start < last and first < end for first, last in spans)
                ]
            )
            for term, spans in found.items()
        }

    def missing(
        self, required: Mapping[Term, RequiredPhrase], tokens: Sequence[int]
    ) -> tuple[Term, ...]:
        """The terms whose translation an output does not have."""
        text = self._texts.join(tokens) if required else ""
        return tuple(term for term, phrase in required.items() if not phrase.occurs(text))

    @cached_property
    def _texts(self) -> TokenTexts:
        return TokenTexts(self._tokenizer)
