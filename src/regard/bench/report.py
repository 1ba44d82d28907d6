"""Tables, JSON and figure of `regard bench mechanisms`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from regard.bench import normalizers, ring
from regard.bench.mechanisms import (
    LENGTHS,
    NORMALIZERS,
    RING,
    MechanismFigures,
    bars,
    inputs,
    measure,
    read_tensors,
    ring_mechanism_figures,
    select_names,
)
from regard.bench.row import print_table
from regard.views.figures.figure import check_figure
from regard.views.figures.growth import Panel, growth_figure

RANDOM_LENGTH = 1024  # of the tensors that errors are measured over


def report(
    only: str,
    repeats: int,
    *,
    as_json: bool,
    tensors: str | None = None,
    lengths: Sequence[int] = LENGTHS,
    causal: bool = False,
    figure: str | None = None,
) -> int:
    """Measure every selected mechanism; return 1 if a bar was missed, else 0."""
    names = select_names(only)
    lengths = sorted(set(lengths))
    if figure:
        check_figure(Path(figure))  # before minutes are spent
    measured_tensors = read_tensors(tensors) if tensors else inputs(RANDOM_LENGTH)
    measured: list[MechanismFigures] = []
    for name in names:
        print(f"… {name}", file=sys.stderr, flush=True)
        figures = measure(name, measured_tensors, lengths, repeats, causal=causal)
        if figures is not None:
            measured.append(figures)
    rows = [] if causal else bars(measured)
    if only.lower() in RING:
        print(f"… {RING}, over 2 and 4 processes", file=sys.stderr, flush=True)
        rings = {2: ring.run_ring(2, lengths, causal), 4: ring.run_ring(4)}
        measured.append(ring_mechanism_figures(rings[2], lengths))
        rows += ring.rows(rings)
    if only.lower() in NORMALIZERS:
        rows += normalizers.rows()
    if as_json:
        result = {
            "mechanisms": [asdict(figures) for figures in measured],
            "bars": [row.as_json() for row in rows],
        }
        print(json.dumps(result, indent=1))
    else:
        if measured:
            _print(measured, lengths, with_tensors=tensors is not None)
        if rows:
            print_table("bars", rows)
    if figure and measured:
        growth_figure(_panels(measured), Path(figure))
        print(f"Figure: {figure}", file=sys.stderr)
    return 0 if all(row.holds for row in rows) else 1


def _print(
    measured: Sequence[MechanismFigures], lengths: Sequence[int], *, with_tensors: bool
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    declared = Table(title="Mechanisms", title_justify="left", box=box.SIMPLE_HEAD)
    for column in ("mechanism", "answer", "masks", "map over", "cost (paper)"):
        declared.add_column(column)
    for figures in measured:
        facts = figures.declared
        declared.add_row(
            figures.name, facts["answer"], ", ".join(facts["masks"]), facts["map"], facts["cost"]
        )
    longest = f"{lengths[-1]:,}"
    costs = Table(
        title=f"Costs at n = {longest}, 8 heads of 64, forward and backward",
        title_justify="left",
        caption="100th, 10,000th: milliseconds of that decoding step",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    costs.add_column("mechanism", no_wrap=True)
    columns = ("error", "seconds", "MB", "time", "memory", "100th", "10,000th")
    for column in (*(("yours, ms",) if with_tensors else ()), *columns):
        costs.add_column(column, justify="right")
    for figures in measured:
        steps = figures.steps
        costs.add_row(
            figures.name,
            *((_ms(figures.given or 0.0),) if with_tensors else ()),
            "–" if figures.error is None else f"{figures.error:.2g}",
            f"{figures.seconds[-1]:.3g}",
            f"{figures.megabytes[-1]:,.0f}",
            f"n^{figures.growth['time']:.2f}" if figures.growth else "–",
            f"n^{figures.growth['memory']:.2f}" if figures.growth else "–",
            *(("–", "–") if steps is None else (_ms(steps.seconds[0]), _ms(steps.seconds[-1]))),
        )
    console = Console()
    console.print(declared)
    console.print(costs)


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.2g}"


def _panels(measured: Sequence[MechanismFigures]) -> list[Panel]:
    return [
        Panel(
            "Time, forward and backward, 8 heads of 64",
            "seconds",
            {figures.name: (figures.lengths, figures.seconds) for figures in measured},
        ),
        Panel(
            "Peak memory, without torch itself",
            "megabytes",
            {figures.name: (figures.lengths, figures.megabytes) for figures in measured},
        ),
    ]
