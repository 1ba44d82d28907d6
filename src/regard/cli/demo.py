"""`regard demo`: learn the built-in language pair in minutes, and look inside."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from regard.errors import InputError

OUT = "regard-demo"
OPTIONS = {
    "grammar": ("kind", "attention", "minutes", "languages", "explain", "out"),
    "spelling": ("kind", "attention", "minutes", "out"),
    "series": ("kind",),
}
"""What can be set of a task, beside what can be set of each; the first takes all."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "--task", choices=tuple(OPTIONS), default="grammar",
        help="translate; or spell words out, with an attention that moves forward; or label "
        "series, and find what decided (grammar)",
    )  # fmt: skip
    parser.add_argument(
        "--kind", choices=("transformer", "rnn"),
        help="Transformer, or recurrent with Bahdanau attention (transformer)",
    )  # fmt: skip
    parser.add_argument(
        "--attention", metavar="NAME", help="another attention: of the Transformer full, local, "
        "sparse, blockwise, linformer, reformer, linear, performer, adaptive-span; of the "
        "recurrent network bahdanau, luong, location, coverage, graves, monotonic, none",
    )  # fmt: skip
    parser.add_argument(
        "--minutes", metavar="N", type=float,
        help="train at most this long; it stops when the language is learned (5)",
    )  # fmt: skip
    parser.add_argument("--languages", choices=("en-fr", "en-zh"), help="pair (en-fr)")
    parser.add_argument("--quick", action="store_true", help="half a minute, and not very good")
    parser.add_argument(
        "--explain", action="store_true", default=None,
        help="then search for the heads that carry what “it” stands for (takes longer)",
    )  # fmt: skip
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help=f"folder of the model and the page ({OUT})"
    )  # fmt: skip
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another run (0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    _check(arguments)
    from rich.console import Console

    console = Console(stderr=arguments.json)
    found = {"grammar": _grammar, "spelling": _spelling, "series": _series}[arguments.task](
        arguments, console
    )
    if arguments.json:
        print(json.dumps(found, ensure_ascii=False))
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """An error if a flag was given that the task does not take."""
    known = OPTIONS[arguments.task]
    for name in OPTIONS["grammar"]:
        if getattr(arguments, name) is not None and name not in known:
            tasks = " and ".join(task for task, names in OPTIONS.items() if name in names)
            raise InputError(
                f"--{name} belongs to the task {tasks}, not to {arguments.task}; leave it out."
            )
    if arguments.task == "spelling" and arguments.kind == "transformer":
        raise InputError(
            "--kind transformer: spelling is learned by a recurrent network; leave --kind out."
        )


def _grammar(arguments: argparse.Namespace, console: Any) -> dict[str, Any]:
    from regard.demo.run import demo

    return demo(
        arguments.out or Path(OUT),
        _attention(arguments),
        arguments.languages or "en-fr",
        minutes=arguments.minutes,
        quick=arguments.quick,
        explained=bool(arguments.explain),
        seed=arguments.seed,
        console=console,
    )


def _spelling(arguments: argparse.Namespace, console: Any) -> dict[str, Any]:
    from regard.demo.lesson import kind_of
    from regard.demo.run import MODEL, emptied
    from regard.demo.spelling import spelling

    attention = _attention(arguments) if arguments.attention else "graves"
    if kind_of(attention) != "rnn":
        raise InputError(f"spelling is learned by a recurrent network, which has no {attention}.")
    return spelling(
        emptied(arguments.out or Path(OUT)) / MODEL,
        attention,
        minutes=arguments.minutes,
        quick=arguments.quick,
        seed=arguments.seed,
        console=console,
    )


def _series(arguments: argparse.Namespace, console: Any) -> dict[str, Any]:
    from regard.demo.series import planted_demo

    encoders: Any = (arguments.kind,) if arguments.kind else ("transformer", "rnn")
    steps = 60 if arguments.quick else None
    return planted_demo(encoders=encoders, steps=steps, seed=arguments.seed, console=console)


def _attention(arguments: argparse.Namespace) -> str:
    """The attention that is asked for: by name, or the usual one of the kind of model."""
    from regard.demo.lesson import SELF_ATTENTIONS, SOURCE_ATTENTIONS, kind_of

    asked: str | None = arguments.attention
    if asked is None:
        return "bahdanau" if arguments.kind == "rnn" else "full"
    if asked not in (*SELF_ATTENTIONS, *SOURCE_ATTENTIONS):
        names = ", ".join((*SELF_ATTENTIONS, *SOURCE_ATTENTIONS))
        raise InputError(f"--attention must be {names}, but {asked!r} came.")
    if arguments.kind not in (None, kind_of(asked)):
        raise InputError(
            f"--attention {asked} is of the kind {kind_of(asked)}, not {arguments.kind}; "
            "leave --kind out."
        )
    return asked
