"""Coreference frames: who did what to which because `it` was how.

In each frame an adjective fits the kind of the subject or the kind of the object, never both, and
nothing else tells what `it` stands for.
"""

from __future__ import annotations

from dataclasses import dataclass

from regard.corpus.grammar.adjectives import named
from regard.corpus.grammar.entry import Adjective, Gender, Noun, Verb
from regard.corpus.grammar.nouns import KINDS
from regard.corpus.grammar.pair import Split
from regard.corpus.grammar.splits import SPLITS, pair_split
from regard.corpus.grammar.verbs import EVENT_VERBS

FRAMES = """
animal way not 4
  crossed explored
  tired exhausted hungry thirsty sleepy frightened nervous anxious shy lazy weak clumsy
  wide narrow crowded slippery muddy steep bumpy winding remote
animal way yes 2
  crossed explored
  hungry thirsty curious brave impatient playful happy
  flat narrow deserted wide
animal way yes 2
  avoided left
  frightened nervous cautious anxious shy
  muddy slippery crowded steep bumpy remote deserted
animal food not 3
  ate tasted swallowed finished
  nervous tired sad sleepy anxious shy angry frightened
  salty bitter spicy sour greasy hard bland
animal food yes 2
  ate swallowed finished tasted
  hungry greedy impatient curious playful
  delicious fresh ripe sweet tasty crispy
animal thing not 3
  carried moved pushed pulled lifted
  tired weak lazy clumsy stubborn sleepy exhausted
  heavy bulky fragile precious useless
animal thing yes 1
  overturned broke
  clumsy nervous angry playful impatient
  fragile light bulky
animal thing yes 1
  touched hid
  curious playful jealous greedy
  shiny precious light
animal shelter not 2
  explored reached
  shy frightened nervous lazy cautious tired weak
  dark damp crowded cramped distant remote
animal shelter yes 1
  explored
  curious brave playful intelligent
  comfortable spacious luxurious bright
animal shelter yes 1
  left
  nervous frightened hungry thirsty impatient anxious
  dark damp crowded cramped noisy
vehicle way not 2
  crossed
  heavy slow unstable
  narrow wide muddy steep slippery crowded bumpy winding remote
vehicle way yes 1
  crossed
  powerful fast modern reliable
  flat wide deserted
vehicle way yes 1
  avoided
  heavy slow unstable
  narrow muddy steep slippery crowded bumpy remote deserted
vehicle thing not 2
  transported delivered
  slow unstable noisy
  bulky fragile precious
vehicle thing yes 2
  transported delivered
  fast powerful modern reliable
  precious fragile light
vehicle shelter not 1
  reached
  slow unstable heavy
  distant remote crowded
"""


@dataclass(frozen=True)
class Frame:
    """Verbs, nouns, and the adjectives that give a reason."""

    subject_kind: str
    object_kind: str
    negated: bool
    weight: int
    verbs: tuple[Verb, ...]
    reasons: dict[str, tuple[Adjective, ...]]
    """By the English noun that is so."""
    pairs: dict[tuple[Split, Gender], tuple[tuple[Noun, Noun], ...]]
    """Subject and object nouns of unlike gender, by split and the subject's gender."""


def _pairs(
    subjects: str, objects: str
) -> dict[tuple[Split, Gender], tuple[tuple[Noun, Noun], ...]]:
    found: dict[tuple[Split, Gender], list[tuple[Noun, Noun]]] = {
        (split, gender): [] for split in SPLITS for gender in ("m", "f")
    }
    for first in KINDS[subjects]:
        for second in KINDS[objects]:
            if first.gender != second.gender:
                split = pair_split(first.english, second.english)
                found[split, first.gender].append((first, second))
    return {key: tuple(pairs) for key, pairs in found.items()}


def _reasons(kind: str, names: str) -> dict[str, tuple[Adjective, ...]]:
    listed = named(names)
    return {
        noun.english: tuple(reason for reason in listed if reason.fits(noun))
        for noun in KINDS[kind]
    }


def _frames() -> tuple[Frame, ...]:
    lines = FRAMES.strip().splitlines()
    found = []
    for header, verbs, subject_reasons, object_reasons in zip(*[iter(lines)] * 4, strict=True):
        subject, target, polarity, weight = header.split()
        found.append(
            Frame(
                subject_kind=subject,
                object_kind=target,
                negated=polarity == "not",
                weight=int(weight),
                verbs=tuple(EVENT_VERBS[past] for past in verbs.split()),
                reasons=_reasons(subject, subject_reasons) | _reasons(target, object_reasons),
                pairs=_pairs(subject, target),
            )
        )
    return tuple(found)


REASON_FRAMES = _frames()
WEIGHTED_FRAMES = tuple(frame for frame in REASON_FRAMES for _ in range(frame.weight))
