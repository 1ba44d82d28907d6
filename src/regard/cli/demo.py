"""`regard demo`: train on the built-in language pair in minutes, and inspect the model."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from regard.errors import InputError

OUT = "regard-demo"
OPTIONS = {
    "grammar": ("kind", "attention", "minutes", "languages", "explain", "guided", "out"),
    "spelling": ("kind", "attention", "minutes", "out"),
    "series": ("kind",),
    "shapes": ("attention", "out"),
}
"""Options of each task, besides those common to all."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    from regard.demo.settings import IMAGE_ATTENTIONS, SELF_ATTENTIONS, SOURCE_ATTENTIONS

    parser.add_argument(
        "--task",
        choices=tuple(OPTIONS),
        default="grammar",
        help="grammar: translate; spelling: spell words out, with monotonic attention; series: "
        "classify time series, and locate the cause; shapes: name a shape in an image, and find it "
        "(grammar)",
    )
    parser.add_argument(
        "--kind",
        choices=("transformer", "rnn"),
        help="Transformer, or recurrent with Bahdanau attention (transformer)",
    )
    parser.add_argument(
        "--attention",
        metavar="NAME",
        help=f"attention of the Transformer: {', '.join(SELF_ATTENTIONS)}; of the recurrent "
        f"network: {', '.join(SOURCE_ATTENTIONS)}; of shapes: {', '.join(IMAGE_ATTENTIONS)}",
    )
    parser.add_argument(
        "--minutes",
        metavar="N",
        type=float,
        help="train at most this long; training stops early at 98.5 %% exact (5)",
    )
    parser.add_argument("--languages", choices=("en-fr", "en-zh"), help="pair (en-fr)")
    parser.add_argument(
        "--quick", action="store_true", help="half a minute, for a model that is not good"
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        default=None,
        help="then search for the heads that resolve “it”, by switching heads off (takes longer)",
    )
    parser.add_argument(
        "--guided",
        action="store_true",
        default=None,
        help="one head learns the grammar's word alignment, and one the antecedents of “it”",
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help=f"folder of the model and the page ({OUT})"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="random seed (0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Run the demonstration."""
    _check(arguments)
    from rich.console import Console

    console = Console(stderr=arguments.json)
    tasks = {"grammar": _grammar, "spelling": _spelling, "series": _series, "shapes": _shapes}
    result = tasks[arguments.task](arguments, console)
    if arguments.json:
        print(json.dumps(result, ensure_ascii=False))
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Raise an error if a flag was given that the task does not have."""
    known = OPTIONS[arguments.task]
    for name in OPTIONS["grammar"]:
        if getattr(arguments, name) is not None and name not in known:
            *others, last = [task for task, names in OPTIONS.items() if name in names]
            tasks = f"{', '.join(others)} and {last}" if others else last
            raise InputError(
                f"--{name} belongs to the task {tasks}, not to {arguments.task}; leave it out."
            )
    if arguments.task == "spelling" and arguments.kind == "transformer":
        raise InputError(
            "--kind transformer: the task spelling needs a recurrent network; leave --kind out."
        )


def _grammar(arguments: argparse.Namespace, console: Any) -> dict[str, Any]:
    from regard.demo.run import demo

    return demo(
        arguments.out or Path(OUT),
        _attention(arguments),
        arguments.languages or "en-fr",
        minutes=arguments.minutes,
        quick=arguments.quick,
        ablation=bool(arguments.explain),
        guided=bool(arguments.guided),
        seed=arguments.seed,
        console=console,
    )


def _spelling(arguments: argparse.Namespace, console: Any) -> dict[str, Any]:
    from regard.demo.monotonic import spelling
    from regard.demo.run import MODEL, clear_folder
    from regard.demo.settings import kind_of

    attention = _attention(arguments) if arguments.attention else "graves"
    if kind_of(attention) != "rnn":
        raise InputError(
            f"the task spelling needs a recurrent network, which has no {attention} attention."
        )
    return spelling(
        clear_folder(arguments.out or Path(OUT)) / MODEL,
        attention,
        minutes=arguments.minutes,
        quick=arguments.quick,
        seed=arguments.seed,
        console=console,
    )


def _series(arguments: argparse.Namespace, console: Any) -> dict[str, Any]:
    from regard.demo.event_location import planted_demo

    encoders: Any = (arguments.kind,) if arguments.kind else ("transformer", "rnn")
    steps = 60 if arguments.quick else None
    return planted_demo(encoders=encoders, steps=steps, seed=arguments.seed, console=console)


def _shapes(arguments: argparse.Namespace, console: Any) -> dict[str, Any]:
    from regard.demo.run import clear_folder
    from regard.demo.settings import IMAGE_ATTENTIONS

    chosen: str | None = arguments.attention
    if chosen not in (None, *IMAGE_ATTENTIONS):
        names = ", ".join(IMAGE_ATTENTIONS)
        raise InputError(f"--attention of the task shapes must be one of {names}, got {chosen!r}.")
    from regard.demo.shapes import STEPS, shapes_demo

    return shapes_demo(
        attentions=(chosen,) if chosen else IMAGE_ATTENTIONS,
        steps=40 if arguments.quick else STEPS,
        seed=arguments.seed,
        out=clear_folder(arguments.out or Path(OUT)),
        console=console,
    )


def _attention(arguments: argparse.Namespace) -> str:
    """The attention of the arguments: by name, or the default of the kind of model."""
    from regard.demo.settings import SELF_ATTENTIONS, SOURCE_ATTENTIONS, kind_of

    attention: str | None = arguments.attention
    if attention is None:
        return "bahdanau" if arguments.kind == "rnn" else "full"
    if attention not in (*SELF_ATTENTIONS, *SOURCE_ATTENTIONS):
        names = ", ".join((*SELF_ATTENTIONS, *SOURCE_ATTENTIONS))
        raise InputError(f"--attention must be one of {names}, got {attention!r}.")
    if arguments.kind not in (None, kind_of(attention)):
        raise InputError(
            f"--attention {attention} belongs to --kind {kind_of(attention)}, "
            f"got --kind {arguments.kind}; leave --kind out."
        )
    return attention
