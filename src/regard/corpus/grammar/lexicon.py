"""The lexicon as a whole."""

from __future__ import annotations

from collections.abc import Sized

from regard.corpus.grammar import particles
from regard.corpus.grammar.adjectives import ADJECTIVES
from regard.corpus.grammar.nouns import NOUNS
from regard.corpus.grammar.senses import MEANINGS
from regard.corpus.grammar.verbs import (
    ACTIVITY_VERBS,
    ATTITUDE_VERBS,
    EVENT_VERBS,
    STATE_VERBS,
    TRANSFER_VERBS,
)


def lexicon_size() -> int:
    """The number of lexical entries: words with a meaning, and each sense of the ambiguous ones."""
    open_classes: tuple[Sized, ...] = (
        NOUNS, ADJECTIVES, EVENT_VERBS, STATE_VERBS, ACTIVITY_VERBS, ATTITUDE_VERBS, TRANSFER_VERBS,
        particles.PREPOSITIONS, particles.MANNERS, particles.NAMES, particles.CITIES,
        particles.TIMES,
    )  # fmt: skip
    return sum(map(len, open_classes)) + sum(map(len, MEANINGS.values()))
