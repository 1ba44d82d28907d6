"""The options of a search: one declaration for flags, files, requests and keywords."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from regard.config.schema import (
    Flag,
    HttpField,
    NonNegativeFloat,
    NonNegativeInt,
    Only,
    Options,
    PositiveInt,
    Range,
    Seed,
)

MAX_OUTPUTS = 10
"""Most outputs of a request for each text."""
MAX_BEAM = Flag(at_most=10_000)
"""Hypotheses kept at every step: each takes as much memory as the first."""

EnginePrecision = Literal["int8", "fp32"]
"""Precision in which CTranslate2 searches."""


@dataclass(frozen=True)
class SearchOptions(Options):
    """How the output is searched for."""

    SECTION: ClassVar[str] = "decoding"

    beam: Annotated[PositiveInt, MAX_BEAM, Only("searching")] = 5
    """Hypotheses kept at every step; 1 is greedy."""
    length_penalty: NonNegativeFloat = 1.0
    """Above 1 favors long output, below 1 short output. A hypothesis' score is its log-probability
    divided by its length to this power."""
    n_best: Annotated[PositiveInt, MAX_BEAM] = 1
    """How many hypotheses are returned; at most beam."""
    max_length: PositiveInt | None = None
    """Most tokens of a sentence; without it 2 · source + 10, within the model's own limit."""
    min_length: Annotated[NonNegativeInt, HttpField(1000)] = 0
    """Fewest tokens of a sentence."""
    no_repeat_ngram: Annotated[NonNegativeInt, HttpField(1000)] = 0
    """No N tokens occur twice; 0: any. A sequence of N tokens is meant."""
    beam_groups: Annotated[PositiveInt, MAX_BEAM, HttpField(MAX_OUTPUTS)] = 1
    """Groups of diverse beams. Each group of hypotheses avoids the tokens of those before it, for
    different outputs; at most beam."""
    diversity_penalty: NonNegativeFloat = 0.5
    """With beam groups, what a token costs for each time that another group has just chosen it."""
    coverage_penalty: Annotated[NonNegativeFloat, HttpField(100)] = 0.0
    """Favors whole translations. Weight of the penalty for source tokens that received little
    attention, e.g. 0.2."""
    sample: bool = False
    """Draw tokens at random instead of searching for the best."""
    temperature: Annotated[
        float,
        Only("sampling"),
        Range(
            above=0,
            remedy="for the most probable tokens leave decoding.sample out and set decoding.beam "
            "to 1",
        ),
    ] = 1.0
    """When sampling, scores are divided by this: below 1 more probable tokens, above 1 less
    probable ones."""
    top_k: Annotated[NonNegativeInt, Only("sampling")] = 0
    """When sampling, only the N best tokens; 0: all."""
    top_p: Annotated[float, Only("sampling"), Range(above=0, at_most=1)] = 1.0
    """When sampling, only the best tokens with a total probability of P."""
    seed: Annotated[Seed, Only("sampling")] = 0
    """When sampling, the seed."""
    batch_tokens: PositiveInt = 8192
    """Padded source tokens that are decoded together, times the beam."""
    deterministic: bool = False
    """Search each sentence by itself, so that its output never depends on the others (slower)."""

    def changed(self, **given: Any) -> SearchOptions:
        """These options with those given; without a beam among them, as wide as outputs need."""
        width = max(given.get("n_best", 1), given.get("beam_groups", 1))
        return replace(self, **{"beam": max(self.beam, width), **given})
