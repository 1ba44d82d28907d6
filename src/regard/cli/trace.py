"""`regard trace`: every number on one word's way through a model, in the terminal, JSON or HTML."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from regard.cli.line_input import check_parent
from regard.cli.searching import add_target, bound
from regard.errors import InputError
from regard.tasks.commands import add_model, positive

if TYPE_CHECKING:
    from regard.views.maps.traced import TracedText


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("text", nargs="?", metavar="TEXT", help="one sentence")
    add_model(parser, required=False)
    add_target(parser)
    parser.add_argument(
        "--toy",
        action="store_true",
        help="no model: three words of four whole numbers, by hand and as matrices",
    )
    parser.add_argument("--word", metavar="WORD", help="the word to follow (the last one)")
    parser.add_argument("--layer", metavar="N", type=natural, help="layer, counted from 0 (0)")
    parser.add_argument("--head", metavar="N", type=natural, help="head, counted from 0 (0)")
    parser.add_argument(
        "--step", metavar="STEP", help="only this step, with all its numbers: its number or name"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the steps as JSON; without --layer and --head those of all",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="write an HTML page to go through the steps of every word, layer and head",
    )


def natural(text: str) -> int:
    """A whole number from 0."""
    return positive(text) if text != "0" else 0


def run(arguments: argparse.Namespace) -> int:
    """Trace, and print or write the steps."""
    if arguments.toy:
        return _run_toy(arguments)
    if not arguments.text or not arguments.text.strip():
        raise InputError("there is no text to trace; give a sentence, or --toy.")
    if not arguments.model:
        raise InputError("there is no model; give its folder with --model DIR, or --toy.")
    if arguments.out:
        check_parent(arguments.out)
        _write_page(arguments)
    if arguments.json:
        _print_json(arguments)
    if not arguments.json and not arguments.out:
        from rich.console import Console

        from regard.views.terminal.trace_table import TraceTable

        traced = _traced(arguments)
        Console(highlight=False).print(TraceTable(traced, _number(traced, arguments.step)), end="")
    return 0


def _write_page(arguments: argparse.Namespace) -> None:
    from regard.storage import replace_file
    from regard.views.html.trace_page import trace_page

    traced = _traced(arguments, everything=True, every_word=True)
    replace_file(arguments.out, trace_page(traced, start=_number(traced, arguments.step)))
    if not arguments.json:
        print(f"{arguments.out}: {len(traced.steps)} steps of “{traced.word}”")


def _print_json(arguments: argparse.Namespace) -> None:
    from dataclasses import replace

    from regard.views.html.trace_payload import trace_payload

    traced = _traced(arguments, everything=True)
    number = _number(traced, arguments.step)
    steps = tuple(step for step in traced.steps if number in (None, step.number))
    print(json.dumps(trace_payload(replace(traced, steps=steps)), ensure_ascii=False))


def _run_toy(arguments: argparse.Namespace) -> int:
    from regard.demo.toy import toy_attention

    for name in ("text", "model", "word", "layer", "head", "step"):
        if getattr(arguments, name) is not None:
            raise InputError(f"--toy has words and a model of its own; leave {name} out.")
    if arguments.out:
        check_parent(arguments.out)
    toy = toy_attention()
    if arguments.out:
        from regard.demo.toy_page import toy_page
        from regard.storage import replace_file

        replace_file(arguments.out, toy_page(toy))
        if not arguments.json:
            print(f"{arguments.out}: attention by hand")
            return 0
    if arguments.json:
        print(json.dumps(toy.payload(), ensure_ascii=False))
    else:
        print(toy.text())
    return 0


def _traced(
    arguments: argparse.Namespace, *, everything: bool = False, every_word: bool = False
) -> TracedText:
    from regard.folder import model_names
    from regard.tasks import load, load_run
    from regard.tasks.inspection import InspectOptions, check_inspectable
    from regard.tasks.tracing import trace_text

    run = load_run(arguments.model)
    check_inspectable(run, arguments.model)
    model = bound(load(arguments.model, threads=arguments.threads, run=run), arguments)
    return trace_text(
        model,
        arguments.text,
        word=arguments.word,
        layer=arguments.layer,
        head=arguments.head,
        everything=everything,
        every_word=every_word,
        options=InspectOptions(name=model_names([arguments.model])[0]),
    )


def _number(traced: TracedText, step: str | None) -> int | None:
    """The number of the step that is asked for by number or name; None if none is."""
    if step is None:
        return None
    names = list(dict.fromkeys(shown.name for shown in traced.steps))
    if step.isdecimal():
        if len(step) > 9 or not 1 <= int(step) <= len(traced.steps):
            raise InputError(f"there is no step {step}: the steps are 1 to {len(traced.steps)}.")
        return int(step)
    if step not in names:
        raise InputError(f"this model has no step {step!r}; its steps are: {', '.join(names)}.")
    return next(shown.number for shown in traced.steps if shown.name == step)
