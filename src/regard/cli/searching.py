"""Flags of beam search and sampling, and the search options that they give."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from regard.cli.option_flags import add_options, given_options
from regard.config import SearchOptions
from regard.config.schema import Flag, Only, options_of
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.tasks.translation.translation import ModelInfo, TranslateKeywords

SEARCH = options_of(SearchOptions)


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
    add_options(parser, SearchOptions, "beam", "length_penalty")


def add_sampling(parser: argparse.ArgumentParser) -> None:
    """Add the flags of sampling."""
    names = [name for name, option in SEARCH.items() if option.mark(Only) == Only("sampling")]
    add_options(parser, SearchOptions, *names, show_default=True)


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
    add_options(group, SearchOptions, "min_length", "no_repeat_ngram", "beam_groups")
    add_options(group, SearchOptions, "diversity_penalty", "coverage_penalty", show_default=True)


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
    given = given_options(arguments, SearchOptions)
    for name, value in given.items():
        option = SEARCH[name]
        only, flag = option.mark(Only), option.mark(Flag)
        if only == Only("sampling") and not sample:
            raise InputError(f"{option.flag} is for sampling; leave it out, or sample.")
        if only == Only("searching") and sample:
            raise InputError(f"{option.flag} is for searching, not for sampling; leave it out.")
        if flag and flag.at_most and value > flag.at_most and not sample:
            raise InputError(f"{option.flag} must be at most {flag.at_most}, got {value}.")
    given["sample"] = sample
    if sample:
        return replace(own, **given)
    outputs = {"n_best": own.n_best, "beam_groups": own.beam_groups}
    settings = own.changed(**{**outputs, **given})
    for number, what, rule in (
        (settings.beam_groups, "groups", "has at most as many groups as"),
        (settings.n_best, "outputs", "cannot find more outputs than"),
    ):
        if number > settings.beam:
            raise InputError(
                f"a beam {rule} its width, got {number} {what} and --beam {settings.beam}; "
                "raise --beam."
            )
    return settings
