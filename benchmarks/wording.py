"""Placeholders and glossaries through a trained model: is anything lost, and what does it cost?

placeholders  random messages with placeholders (of --messages, else sentences of --pairs with
              placeholders put between their words), translated with `protect`; a loss that no
              warning names is silent. They are counted here by patterns of their own.
glossary      sentences of --pairs, each with one term: a source word and the word of the
              reference that the statistical aligner links to it in both directions. BLEU is of
              the same sentences with and without their terms.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from benchmarks.measurement import Measurement
from regard.alignment import align_bidirectional
from regard.errors import InputError
from regard.evaluation.scores import corpus_bleu
from regard.formats import read_pairs
from regard.tasks import load
from regard.tasks.translation.translation import Translation
from regard.tasks.translation.translator import Translator
from regard.text.words import word_texts

MESSAGES, TERMS = 1000, 500
MAX_CHARACTERS = 300
MIN_LETTERS = 4
PATTERN = re.compile(
    r"%%[A-Za-z0-9]?|%(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|j|t)?[diouxXeEfgGcsp]|%\([^)\s]*\)[sdif]"
    r"|\{[A-Za-z_0-9]*\}|</?[A-Za-z][^<>\s]*>|https?://[^\s<>\"']*[^\s<>\"'.,;:)!?]"
)
MADE = ("%s", "%d", "%1$s", "%(count)d", "{name}", "{0}", "{}", "<b>", "https://example.org/a?b=c")


class TermCase(NamedTuple):
    """A sentence, its reference, and a term with the translation that the reference has."""

    source: str
    reference: str
    term: tuple[str, str]


def measurements(
    repeats: int,
    model: str = "",
    messages: str = "",
    pairs: str = "",
    number: int = MESSAGES,
    terms: int = TERMS,
) -> Iterator[Measurement]:
    """The rows: losses and warnings of placeholders, terms that are present, and BLEU."""
    if not model or not (messages or pairs):
        raise InputError("give --model DIR, and --messages FILE or --pairs FILE (or both).")
    run = WordingRun(model, messages, pairs, number, terms)
    yield Measurement(
        f"messages of {number:,} with a placeholder lost in silence",
        lambda: (float(run.num_silent), None),
        "<=",
        0.0,
    )
    yield Measurement(
        f"messages of {number:,} with a warning about placeholders",
        lambda: (float(run.num_flagged), None),
        "<=",
        number / 10,
    )
    if pairs:
        yield Measurement(
            f"glossary: terms that are present (%), in {terms:,} sentences",
            lambda: (run.present, None),
            ">=",
            100.0,
        )
        yield Measurement("glossary: change of BLEU", lambda: (run.change, None), ">=", -0.5)


class WordingRun:
    """The translations, made when a figure of them is first needed."""

    def __init__(self, model: str, messages: str, pairs: str, number: int, terms: int) -> None:
        self.translator: Translator = load(model)
        self.languages = (
            self.translator.info.source_language,
            self.translator.info.target_language,
        )
        self._messages, self._pairs, self._number, self._terms = messages, pairs, number, terms

    @property
    def num_silent(self) -> int:
        """Messages that lost a placeholder without a warning."""
        return sum(lost and not named for lost, named in map(_outcome, self.translations))

    @property
    def num_flagged(self) -> int:
        """Messages with a warning about placeholders."""
        return sum(named for _, named in map(_outcome, self.translations))

    @cached_property
    def translations(self) -> list[Translation]:
        """The messages, translated as those of a document are."""
        chosen = self._chosen_messages()
        windows = self.translator.translate_lines(chosen, protect=True, max_lines=100)
        done: list[Translation] = []
        for window in windows:
            done += window
            print(f"  {len(done):,} of {len(chosen):,} messages", file=sys.stderr, flush=True)
        return done

    def _chosen_messages(self) -> list[str]:
        draw = random.Random(0)
        if self._messages:
            texts = [pair.source for pair in read_pairs(self._messages, self.languages)]
            texts = [t for t in dict.fromkeys(texts) if PATTERN.search(t) and _is_prose(t)]
        else:
            texts = [_with_placeholders(source, draw) for source, _ in self.sentences]
        if len(texts) < self._number:
            raise InputError(f"there are {len(texts):,} messages, {self._number:,} are needed.")
        return draw.sample(texts, self._number)

    @cached_property
    def sentences(self) -> list[tuple[str, str]]:
        """The sentences and their references, one for each source."""
        pairs = read_pairs(self._pairs.split(","), self.languages)
        return list({pair.source: (pair.source, pair.target) for pair in pairs}.values())

    @property
    def present(self) -> float:
        """The share of terms, in percent, whose translation is in the output as a whole word."""
        outputs = self.glossary_outputs[0]
        had = [
            re.search(rf"(?<!\w){re.escape(case.term[1])}(?!\w)", text, re.IGNORECASE) is not None
            for case, text in zip(self.cases, outputs, strict=True)
        ]
        return 100 * sum(had) / len(had)

    @property
    def change(self) -> float:
        """BLEU with the terms, less that without."""
        references = [case.reference for case in self.cases]
        language = self.languages[1]
        with_terms, without = (
            corpus_bleu(texts, references, language) for texts in self.glossary_outputs
        )
        print(f"  BLEU {without:.2f} without terms, {with_terms:.2f} with", file=sys.stderr)
        return with_terms - without

    @cached_property
    def cases(self) -> list[TermCase]:
        """Random sentences that have a term."""
        words = [
            [word_texts(text, language) for text in side]
            for side, language in zip(
                zip(*self.sentences, strict=True), self.languages, strict=True
            )
        ]
        links = align_bidirectional(words[0], words[1])
        draw = random.Random(0)
        cases = []
        for row, (source, reference) in enumerate(self.sentences):
            mutual = sorted(links.forward[row] & links.backward[row])
            known = [(words[0][row][s], words[1][row][t]) for s, t in mutual]
            fitting = [term for term in known if all(_is_content(word) for word in term)]
            if fitting:
                cases.append(TermCase(source, reference, draw.choice(fitting)))
        if len(cases) < self._terms:
            raise InputError(f"{len(cases):,} sentences have a term, {self._terms:,} are needed.")
        return draw.sample(cases, self._terms)

    @cached_property
    def glossary_outputs(self) -> tuple[list[str], list[str]]:
        """The sentences translated with their terms, and without."""
        sources = [case.source for case in self.cases]
        without = [done.text for done in self.translator.translate(sources, alignment=False)]
        with_terms: dict[str, str] = {}
        for group in _compatible(self.cases):
            glossary = dict(case.term for case in group)
            texts = [case.source for case in group]
            translations = self.translator.translate(texts, glossary=glossary, alignment=False)
            with_terms |= {translation.source: translation.text for translation in translations}
            print(f"  {len(with_terms):,} sentences with terms", file=sys.stderr, flush=True)
        return [with_terms[source] for source in sources], without


def _compatible(cases: Sequence[TermCase]) -> list[list[TermCase]]:
    """The cases in groups that can share a glossary: no sentence has the term of another."""
    groups: list[tuple[list[TermCase], set[str], set[str]]] = []  # cases, their words, their terms
    for case in cases:
        words, term = {word.lower() for word in word_texts(case.source)}, case.term[0].lower()
        fitting = (
            candidate
            for candidate in groups
            if term not in candidate[1] and not words & candidate[2]
        )
        group = next(fitting, None)
        if group is None:
            group = ([], set(), set())
            groups.append(group)
        group[0].append(case)
        group[1].update(words)
        group[2].add(term)
    return [group[0] for group in groups]


def _outcome(translation: Translation) -> tuple[bool, bool]:
    """Whether a placeholder is lost, by patterns of this file, and whether a warning says so."""
    expected, present = (
        Counter(PATTERN.findall(text)) for text in (translation.source, translation.text)
    )
    return bool(expected - present), any(
        warning.kind != "number" for warning in translation.warnings
    )


def _is_prose(text: str) -> bool:
    """Whether there is something to translate, and not a page of it."""
    return len(text) <= MAX_CHARACTERS and any(map(str.isalpha, PATTERN.sub("", text)))


def _is_content(word: str) -> bool:
    return len(word) >= MIN_LETTERS and word.isalpha()


def _with_placeholders(text: str, draw: random.Random) -> str:
    """A text with one to three placeholders between its words."""
    words: Sequence[str] = text.split(" ")
    for _ in range(draw.randint(1, 3)):
        position = draw.randint(0, len(words))
        words = [*words[:position], draw.choice(MADE), *words[position:]]
    return " ".join(words)
