"""The flags of a search, and the settings that they make of a model's own."""

from __future__ import annotations

import argparse
from dataclasses import replace

from regard.config import SearchOptions
from regard.errors import InputError
from regard.tasks.commands import positive

SAMPLING = ("temperature", "top_k", "top_p", "seed")


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the flags of beam search."""
    parser.add_argument(
        "--beam", metavar="N", type=positive, help="hypotheses kept at every step; 1 is greedy"
    )
    parser.add_argument(
        "--length-penalty", metavar="X", type=float, help="above 1 favours long output, below short"
    )


def add_sampling(parser: argparse.ArgumentParser) -> None:
    """Add the flags of sampling."""
    parser.add_argument(
        "--temperature", metavar="X", type=float, help="below 1 surer, above 1 bolder (1)"
    )
    parser.add_argument("--top-k", metavar="N", type=int, help="only the N best tokens (all)")
    parser.add_argument(
        "--top-p", metavar="X", type=float, help="only the best tokens that reach X together (1)"
    )
    parser.add_argument("--seed", metavar="N", type=int, help="another draw (0)")


def asked_search(
    arguments: argparse.Namespace, own: SearchOptions, *, sample: bool
) -> SearchOptions:
    """The model's own settings, with what the flags say in their place."""
    given = {
        name: value
        for name in ("beam", "length_penalty", "n_best", "max_length", *SAMPLING)
        if (value := getattr(arguments, name, None)) is not None
    }
    stray = [name for name in SAMPLING if name in given and not sample]
    if stray:
        flag = "--" + stray[0].replace("_", "-")
        raise InputError(f"{flag} is for sampling, but a search was asked for; leave one out.")
    if sample and arguments.beam:
        raise InputError("--beam searches for the best and sampling draws; leave one out.")
    settings = replace(own, **{"sample": sample, **given})
    if not sample and settings.n_best > settings.beam:
        if arguments.beam:
            raise InputError(
                f"{settings.n_best} outputs were asked for, but a beam of {arguments.beam} finds "
                "no more than that; raise --beam."
            )
        settings = replace(settings, beam=settings.n_best)
    if not settings.temperature > 0 or not 0 < settings.top_p <= 1:
        raise InputError(
            f"temperature must be above 0 and top-p above 0 and at most 1, but "
            f"{settings.temperature} and {settings.top_p} came."
        )
    return settings
