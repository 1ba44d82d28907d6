"""Samples of the grammar: deterministic by seed, unique in their sources, split by hash."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

from regard.corpus.grammar.clause import Sentence
from regard.corpus.grammar.compose import LONG, compose, plan
from regard.corpus.grammar.draft import Balance, Draft
from regard.corpus.grammar.line import Line, links
from regard.corpus.grammar.pair import Coreference, GrammarPair, Language, Sense, Split
from regard.corpus.grammar.seeds import showcase
from regard.corpus.grammar.splits import SPLITS, sentence_split
from regard.corpus.grammar.written import PUNCTUATION, detokenised

PATIENCE = 60
"""Drafts of one plan before another is made."""
PLANS = 200
"""Plans without a sentence before the lengths asked for are called impossible."""


def sample(
    split: Split,
    count: int,
    *,
    language: Language = "fr",
    seed: int = 0,
    max_words: int = 30,
    min_words: int = 0,
) -> list[GrammarPair]:
    """`count` pairs of a split, no source twice.

    `min_words` and `max_words` bound the length of `source_words`. The English side is the same
    whatever the language, and a smaller sample is the beginning of a larger one.
    """
    endless = stream(split, language=language, seed=seed, max_words=max_words, min_words=min_words)
    return list(islice(endless, count))


def stream(
    split: Split,
    *,
    language: Language = "fr",
    seed: int = 0,
    max_words: int = 30,
    min_words: int = 0,
) -> Iterator[GrammarPair]:
    """The pairs of `sample`, without end."""
    if split not in SPLITS:
        raise ValueError(f"split is {split!r} but must be 'train', 'dev' or 'test'.")
    _known(language)
    if not 0 <= min_words <= max_words:
        raise ValueError(
            f"min_words is {min_words} and max_words is {max_words}, "
            "but the first must be between 0 and the second."
        )
    return _stream(split, language, seed, max_words, min_words)


def seed_sentences(language: Language = "fr") -> list[GrammarPair]:
    """The showcase sentences, which no split holds."""
    _known(language)
    found = []
    for sentence, draft in showcase():
        source = sentence.english()
        found.append(_pair(sentence, draft, source, detokenised(source.words, "en"), language))
    return found


def statistics(pairs: Sequence[GrammarPair]) -> dict[str, float]:
    """Shares of the phenomena, of sentences over 20 words, lengths and vocabulary sizes."""
    if not pairs:
        raise ValueError("pairs is empty, but statistics need at least one pair.")
    names = sorted({name for pair in pairs for name in pair.phenomena})
    report = {name: sum(name in p.phenomena for p in pairs) / len(pairs) for name in names}
    report["over_20_words"] = sum(_is_long(pair.source_words) for pair in pairs) / len(pairs)
    report["source_words"] = sum(len(pair.source_words) for pair in pairs) / len(pairs)
    report["target_words"] = sum(len(pair.target_words) for pair in pairs) / len(pairs)
    report["source_vocabulary"] = len({w.lower() for p in pairs for w in p.source_words})
    report["target_vocabulary"] = len({w.lower() for p in pairs for w in p.target_words})
    return report


def _stream(
    split: Split, language: Language, seed: int, max_words: int, min_words: int
) -> Iterator[GrammarPair]:
    dice = random.Random(f"regard grammar {split} {seed}").random
    balance = Balance(dice)
    seen = set(_showcase_sources())
    fruitless = 0
    while fruitless < PLANS:
        wanted = plan(Draft(dice, split, balance.cell), min_words, max_words)
        fruitless += 1
        for _ in range(PATIENCE):
            draft = Draft(dice, split, balance.cell)
            sentence = compose(draft, wanted)
            if sentence is None:
                continue
            line = sentence.english()
            source = detokenised(line.words, "en")
            if source in seen or (not draft.references and sentence_split(source) != split):
                continue
            seen.add(source)
            balance.use(len(draft.references))
            fruitless = 0
            yield _pair(sentence, draft, line, source, language)
            break
    raise ValueError(
        f"the grammar has no (more) sentences of {min_words} to {max_words} words in {split}."
    )


@cache
def _showcase_sources() -> frozenset[str]:
    return frozenset(detokenised(sentence.english().words, "en") for sentence, _ in showcase())


def _pair(
    sentence: Sentence, draft: Draft, source: Line, text: str, language: Language
) -> GrammarPair:
    """The pair with its annotations, nodes turned into positions."""
    target = sentence.french() if language == "fr" else sentence.chinese()
    place, target_place = source.position, target.position
    phenomena = draft.phenomena
    if _is_long(source.words):
        phenomena = phenomena | {"long"}
    return GrammarPair(
        source=text,
        target=detokenised(target.words, language),
        source_words=tuple(source.words),
        target_words=tuple(target.words),
        links=links(source, target),
        coreference=tuple(
            Coreference(
                pronoun=place(reference.pronoun),
                antecedent=place(reference.antecedent),
                other=place(reference.other),
                cue=place(reference.cue),
                target_pronoun=target_place(reference.pronoun),
                gender=reference.gender if language == "fr" else "",
            )
            for reference in draft.references
        ),
        senses=tuple(
            Sense(place(r.word), r.lemma, r.sense, target_place(r.word), place(r.cue))
            for r in draft.readings
        ),
        adjectives=tuple((place(noun), place(adjective)) for noun, adjective in draft.adjectives),
        phenomena=frozenset(phenomena),
    )


def _is_long(words: Sequence[str]) -> bool:
    return sum(word not in PUNCTUATION for word in words) > LONG


def _known(language: str) -> None:
    if language not in ("fr", "zh"):
        raise ValueError(f"language is {language!r} but must be 'fr' or 'zh'.")
