"""`regard bench`: error, time and memory of the attention mechanisms."""

from __future__ import annotations

import argparse

from regard.tasks.commands import positive

SUBJECTS = {
    "mechanisms": "every mechanism of self-attention: error, time, memory, and how they grow",
}
REPEATS = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    listed = "; ".join(f"{name}: {line}" for name, line in SUBJECTS.items())
    parser.epilog = "`python -m benchmarks` in the repository measures regard against its peers."
    parser.add_argument("subject", choices=SUBJECTS, help=listed)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument(
        "--only", metavar="WORD", default="", help="only mechanisms whose name contains WORD"
    )
    parser.add_argument(
        "--repeats",
        metavar="N",
        type=positive,
        default=REPEATS,
        help=f"runs to take the median of ({REPEATS})",
    )
    parser.add_argument(
        "--tensors",
        metavar="FILE",
        help="safetensors of your own query, key and value: errors "
        "are measured over them instead of random ones",
    )
    parser.add_argument(
        "--lengths",
        metavar="N",
        nargs="+",
        type=positive,
        help="lengths to time (512 1024 … 16384)",
    )
    parser.add_argument("--causal", action="store_true", help="apply a causal mask")
    parser.add_argument(
        "--figure", metavar="FILE", help="plot the growth to this file (.png, .svg or .pdf)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; the exit code 1 says that a bar was missed."""
    from regard.bench.mechanisms import LENGTHS
    from regard.bench.report import report

    return report(
        arguments.only,
        arguments.repeats,
        as_json=arguments.json,
        tensors=arguments.tensors,
        lengths=arguments.lengths or LENGTHS,
        causal=arguments.causal,
        figure=arguments.figure,
    )
