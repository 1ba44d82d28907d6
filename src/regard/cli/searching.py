"""Flags of beam search and sampling, and the search options that they give."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from regard.config import SearchOptions
from regard.errors import InputError
from regard.tasks.commands import positive

if TYPE_CHECKING:
    from regard.tasks.translation.translation import ModelInfo, TranslateKeywords

SAMPLING = ("temperature", "top_k", "top_p", "seed")
SEARCHING = (
    "beam",
    "length_penalty",
    "n_best",
    "max_length",
    "min_length",
    "no_repeat_ngram",
    "beam_groups",
    "diversity_penalty",
    "coverage_penalty",
    "deterministic",
)

MAX_BEAM = 10_000
"""Hypotheses kept at every step: each takes as much memory as the first."""


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add the flags of a model that has several target languages, or tags."""
    parser.add_argument(
        "--to", metavar="de", default="", help="target language, of a model that has several"
    )
    parser.add_argument(
        "--tag",
        metavar="NAME",
        default="",
        help="kind of text, by a tag that the model was trained with (--corpus FILE:tag=NAME)",
    )


def bound(model: Any, arguments: argparse.Namespace) -> Any:
    """The model for the target language and tag of the flags, if there are any."""
    if not (arguments.to or arguments.tag):
        return model
    if not hasattr(model, "into"):
        raise InputError("--to and --tag are for models that translate; leave them out.")
    return model.into(arguments.to, tag=arguments.tag)


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the flags of beam search."""
    parser.add_argument(
        "--beam", metavar="N", type=positive, help="hypotheses kept at every step; 1 is greedy"
    )
    parser.add_argument(
        "--length-penalty",
        metavar="X",
        type=float,
        help="above 1 favors long output, below 1 short output",
    )


def add_sampling(parser: argparse.ArgumentParser) -> None:
    """Add the flags of sampling."""
    parser.add_argument(
        "--temperature",
        metavar="X",
        type=float,
        help="below 1 more probable tokens, above 1 less probable ones (1)",
    )
    parser.add_argument("--top-k", metavar="N", type=int, help="only the N best tokens (all)")
    parser.add_argument(
        "--top-p",
        metavar="X",
        type=float,
        help="only the best tokens with a total probability of X (1)",
    )
    parser.add_argument("--seed", metavar="N", type=int, help="seed of the samples (0)")


def add_wording(parser: argparse.ArgumentParser) -> None:
    """Add the flags of what an output must and must not have."""
    group = parser.add_argument_group("wording")
    group.add_argument(
        "--forbid",
        metavar="WORD",
        action="append",
        default=[],
        help="a word or phrase that is not written, in upper or lower case; may be repeated",
    )
    group.add_argument(
        "--glossary",
        metavar="FILE",
        help="terms and their translations, with a tab between: where a sentence has the term, its "
        "translation has the given one",
    )
    group.add_argument(
        "--memory",
        metavar="FILE",
        action="append",
        default=[],
        help="translation memory (.tmx, or .po, .xliff, .tsv, .jsonl): a line or sentence that it "
        "has is translated as there; --json shows similar ones; may be repeated",
    )
    group.add_argument(
        "--fuzzy-threshold",
        metavar="X",
        type=float,
        help="also use sentences of the memory that are this similar, from 0.75 to 1, and say "
        "so on standard error (1)",
    )
    group.add_argument(
        "--protect",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="keep placeholders (%%s, {name}, <0/>), addresses, paths, code and numbers; say on "
        "standard error what must be checked (yes)",
    )
    group.add_argument("--min-length", metavar="N", type=int, help="minimum tokens of a sentence")
    group.add_argument(
        "--no-repeat-ngram", metavar="N", type=int, help="no sequence of N tokens occurs twice"
    )
    group.add_argument(
        "--beam-groups",
        metavar="N",
        type=positive,
        help="search in N groups that avoid each other's words, for different --n-best",
    )
    group.add_argument(
        "--diversity-penalty", metavar="X", type=float, help="how much the groups do so (0.5)"
    )
    group.add_argument(
        "--coverage-penalty",
        metavar="X",
        type=float,
        help="above 0, e.g. 0.2, favors output that attended to the whole source (0)",
    )


def read_terms(arguments: argparse.Namespace) -> dict[str, str]:
    """The glossary that was given."""
    if not arguments.glossary:
        return {}
    from regard.tasks.translation.glossary import read_glossary

    return read_glossary(arguments.glossary, arguments.encoding)


def read_memories(arguments: argparse.Namespace, info: ModelInfo) -> TranslateKeywords:
    """The options of the translation memories that were given; `info` names the languages."""
    if not arguments.memory:
        if arguments.fuzzy_threshold is not None:
            raise InputError("--fuzzy-threshold is of a translation memory; give --memory FILE.")
        return {}
    from regard.corpus.memory import read_memory

    languages = info.source_language, info.target_language
    memory = read_memory(arguments.memory, languages, arguments.encoding)
    least = 1.0 if arguments.fuzzy_threshold is None else arguments.fuzzy_threshold
    return {"memory": memory, "fuzzy_threshold": least}


def search_options(
    arguments: argparse.Namespace, own: SearchOptions, *, sample: bool
) -> SearchOptions:
    """The model's own options with those of the flags in their place."""
    options = {
        name: value
        for name in (*SEARCHING, *SAMPLING)
        if (value := getattr(arguments, name, None)) is not None
    }
    misplaced = [name for name in SAMPLING if name in options and not sample]
    if misplaced:
        flag = "--" + misplaced[0].replace("_", "-")
        raise InputError(f"{flag} is for sampling; leave it out, or sample.")
    if sample and arguments.beam:
        raise InputError("--beam is for searching, not for sampling; leave it out.")
    for name in ("beam", "n_best", "beam_groups"):
        if not sample and options.get(name, 0) > MAX_BEAM:
            raise InputError(
                f"--{name.replace('_', '-')} must be at most {MAX_BEAM}, got {options[name]}."
            )
    settings = replace(own, **{"sample": sample, **options})
    if not sample and settings.beam_groups > settings.beam:
        if arguments.beam:
            raise InputError(
                f"a beam has at most as many groups as its width, got {settings.beam_groups} "
                f"groups and --beam {arguments.beam}; raise --beam."
            )
        settings = replace(settings, beam=settings.beam_groups)
    if not sample and settings.n_best > settings.beam:
        if arguments.beam:
            raise InputError(
                f"a beam cannot find more outputs than its width, got {settings.n_best} outputs "
                f"and --beam {arguments.beam}; raise --beam."
            )
        settings = replace(settings, beam=settings.n_best)
    if not settings.temperature > 0 or not 0 < settings.top_p <= 1:
        raise InputError(
            "temperature must be above 0, and top-p above 0 and at most 1, got "
            f"{settings.temperature} and {settings.top_p}."
        )
    return settings
