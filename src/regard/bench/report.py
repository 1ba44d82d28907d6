"""What `regard bench mechanisms` prints and draws."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from regard.bench import normalizers, ring
from regard.bench.mechanisms import (
    ALONE,
    LENGTHS,
    NORMALIZERS,
    Measured,
    bars,
    chosen,
    inputs,
    measure,
    measure_ring,
    read_tensors,
)
from regard.bench.row import print_table
from regard.views.figures.figure import check_figure
from regard.views.figures.growth import Panel, growth_figure

DRAWN_LENGTH = 1024  # of the tensors that errors are measured over


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
    """Measure every chosen mechanism; 1 if a bar was missed, else 0."""
    names = chosen(only)
    lengths = sorted(set(lengths))
    if figure:
        check_figure(Path(figure))  # said before minutes are spent
    asked = read_tensors(tensors) if tensors else inputs(DRAWN_LENGTH)
    found: list[Measured] = []
    for name in names:
        print(f"… {name}", file=sys.stderr, flush=True)
        one = measure(name, asked, lengths, repeats, causal=causal)
        if one is not None:
            found.append(one)
    rows = [] if causal else bars(found)
    if only.lower() in ALONE:
        print(f"… {ALONE}, over 2 and 4 processes", file=sys.stderr, flush=True)
        rings = {2: ring.over(2, lengths, causal), 4: ring.over(4)}
        found.append(measure_ring(rings[2], lengths))
        rows += ring.rows(rings)
    if only.lower() in NORMALIZERS:
        rows += normalizers.rows()
    if as_json:
        made = {"mechanisms": [m.as_json() for m in found], "bars": [r.as_json() for r in rows]}
        print(json.dumps(made, indent=1))
    else:
        if found:
            _print(found, lengths, own=tensors is not None)
        if rows:
            print_table("bars", rows)
    if figure and found:
        growth_figure(_panels(found), Path(figure))
        print(f"Drawn: {figure}", file=sys.stderr)
    return 0 if all(row.holds for row in rows) else 1


def _print(found: Sequence[Measured], lengths: Sequence[int], *, own: bool) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    declared = Table(title="What each mechanism is", title_justify="left", box=box.SIMPLE_HEAD)
    for column in ("mechanism", "answer", "takes masks", "its map is over", "cost (paper)"):
        declared.add_column(column)
    for one in found:
        said = one.declared
        declared.add_row(
            one.name, said["answer"], ", ".join(said["masks"]), said["map"], said["cost"]
        )
    longest = f"{lengths[-1]:,}"
    costs = Table(
        title=f"What each costs: n = {longest}, 8 heads of 64, forward and backward",
        title_justify="left",
        caption="100th, 10,000th: milliseconds for that word, written one by one",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    costs.add_column("mechanism", no_wrap=True)
    columns = ("error", "seconds", "MB", "time", "memory", "100th", "10,000th")
    for column in (*(("yours, ms",) if own else ()), *columns):
        costs.add_column(column, justify="right")
    for one in found:
        steps = one.steps
        costs.add_row(
            one.name,
            *((_ms(one.given or 0.0),) if own else ()),
            "–" if one.error is None else f"{one.error:.2g}",
            f"{one.seconds[-1]:.3g}",
            f"{one.megabytes[-1]:,.0f}",
            f"n^{one.growth['time']:.2f}" if one.growth else "–",
            f"n^{one.growth['memory']:.2f}" if one.growth else "–",
            *(("–", "–") if steps is None else (_ms(steps.seconds[0]), _ms(steps.seconds[-1]))),
        )
    console = Console()
    console.print(declared)
    console.print(costs)


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.2g}"


def _panels(found: Sequence[Measured]) -> list[Panel]:
    return [
        Panel(
            "Time, forward and backward, 8 heads of 64", "seconds",
            {one.name: (one.lengths, one.seconds) for one in found},
        ),
        Panel(
            "Memory at the peak, without torch itself", "megabytes",
            {one.name: (one.lengths, one.megabytes) for one in found},
        ),
    ]  # fmt: skip
