"""Figures of samples of the built-in grammar, and of its lexicon."""

from regard.corpus.grammar.contexts import SENSES
from regard.corpus.grammar.sampling import _is_long
from regard.corpus.grammar.vocabulary import (
    ACTIVITY_VERBS,
    ADJECTIVES,
    ATTITUDE_VERBS,
    CITIES,
    EVENT_VERBS,
    FIRST_NAMES,
    MANNERS,
    NOUNS,
    PREPOSITIONS,
    STATE_VERBS,
    TIMES,
    TRANSFER_VERBS,
)


def statistics(pairs):
    """Shares of the phenomena and of sentences over 20 words, mean lengths, vocabulary sizes."""
    names = sorted({name for pair in pairs for name in pair.phenomena})
    report = {name: sum(name in p.phenomena for p in pairs) / len(pairs) for name in names}
    report["over_20_words"] = sum(_is_long(pair.source_words) for pair in pairs) / len(pairs)
    report["source_words"] = sum(len(pair.source_words) for pair in pairs) / len(pairs)
    report["target_words"] = sum(len(pair.target_words) for pair in pairs) / len(pairs)
    report["source_vocabulary"] = len({w.lower() for p in pairs for w in p.source_words})
    report["target_vocabulary"] = len({w.lower() for p in pairs for w in p.target_words})
    return report


def lexicon_size():
    """The number of content words, counting each sense of the ambiguous ones."""
    tables = (
        NOUNS,
        ADJECTIVES,
        EVENT_VERBS,
        STATE_VERBS,
        ACTIVITY_VERBS,
        ATTITUDE_VERBS,
        TRANSFER_VERBS,
        PREPOSITIONS,
        MANNERS,
        FIRST_NAMES,
        CITIES,
        TIMES,
        *SENSES.values(),
    )
    return sum(map(len, tables))
