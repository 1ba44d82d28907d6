"""`regard info A B`: what the attention of two models costs, side by side."""

from __future__ import annotations

import argparse
import json

from regard.errors import InputError
from regard.tasks.costs import LENGTH, ModelCosts, model_costs


def compare_costs(arguments: argparse.Namespace) -> int:
    """Print the costs of both folders as a table or JSON."""
    if arguments.prune:
        raise InputError("--prune is for one folder; leave the other out.")
    length = arguments.length or LENGTH
    models = [model_costs(folder, length) for folder in (arguments.folder, arguments.other)]
    if arguments.json:
        rows = [{**vars(costs), "rest": costs.rest} for costs in models]
        print(json.dumps({"length": length, "models": rows}, ensure_ascii=False))
        return 0
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    table.add_column(f"at {length} tokens", no_wrap=True)
    for costs in models:
        table.add_column(escape(costs.folder), justify="right", overflow="fold")
    for cells in zip(*(costs_rows(costs) for costs in models), strict=True):
        table.add_row(cells[0][0], *(value for _, value in cells))
    Console(highlight=False).print(table)
    return 0


def costs_rows(costs: ModelCosts) -> list[tuple[str, str]]:
    """Labels and formatted values of the table."""
    return [
        ("kind", costs.kind),
        ("attention", costs.attention),
        ("parameters", f"{costs.parameters:,}"),
        ("  of alignment alone", f"{costs.alignment:,}"),
        ("  token vectors and output", f"{costs.embeddings:,}"),
        ("  the rest", f"{costs.rest:,}"),
        ("products a token", _count(costs.products)),
        ("  of alignment alone", _count(costs.alignment_products)),
        ("  alignment grows by", costs.growth),
        ("sequential steps to read", _count(costs.reading)),
        ("  to learn from a text", _count(costs.training)),
        ("  to write", _count(costs.writing)),
        ("steps between two tokens, at most", _count(costs.path)),
        ("context length in tokens", _count(costs.context)),
    ]


def _count(number: int | None) -> str:
    if number is None:
        return "not counted"
    return f"{number:,}" if number else "none"
