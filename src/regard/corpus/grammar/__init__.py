"""The built-in corpus: a synchronous grammar that speaks English, French and Chinese at once.

Each rule says itself in three languages, so a derivation yields a sentence, its one translation,
the gold links between their words, and what every `it` and every ambiguous word means.

    line ─▶ phrase ─▶ predicate ─▶ clause          the rules, and words with their marks
    entry ─▶ nouns, adjectives, verbs, particles, senses, reasons    the lexicon
    draft ─▶ draw_phrase ─▶ draw_clause, draw_special ─▶ compose     the dice
    splits, seeds, written ─▶ sample                                 what comes out

>>> pair = seed_sentences("fr")[0]
>>> print(pair.source, pair.target, sep=chr(10))
The animal didn't cross the street because it was too tired.
L'animal n'a pas traversé la rue parce qu'il était trop fatigué.
"""

from regard.corpus.grammar.lexicon import lexicon_size
from regard.corpus.grammar.pair import Coreference, GrammarPair, Language, Link, Sense, Split
from regard.corpus.grammar.sample import sample, seed_sentences, statistics, stream
from regard.corpus.grammar.written import detokenised, words

__all__ = [
    "Coreference",
    "GrammarPair",
    "Language",
    "Link",
    "Sense",
    "Split",
    "detokenised",
    "lexicon_size",
    "sample",
    "seed_sentences",
    "statistics",
    "stream",
    "words",
]
