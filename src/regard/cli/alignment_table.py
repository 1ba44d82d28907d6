"""The table of `regard info`: how well each attention head agrees with the statistical aligner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


def candidates_of(metrics: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The attention heads that were compared at the end of training; none of an older folder."""
    alignment = (metrics or {}).get("alignment")
    candidates = alignment.get("candidates") if isinstance(alignment, dict) else None
    return [row for row in candidates or [] if isinstance(row, dict) and row.keys() >= _COLUMNS]


_COLUMNS = {"layer", "head", "shift", "agreement"}


def agreement_table(candidates: list[dict[str, Any]]) -> Table:
    """A row for each layer and reading, a column for each head and their mean; in percent."""
    from rich import box
    from rich.table import Table

    heads = sorted({row["head"] for row in candidates if row["head"] is not None})
    best = max(candidates, key=lambda row: row["agreement"])
    table = Table(
        box=box.SIMPLE,
        title="agreement of attention with the statistical aligner, %",
        title_justify="left",
    )
    table.add_column("layer", justify="right")
    table.add_column("row")
    table.add_column("mean", justify="right")
    for head in heads:
        table.add_column(f"head {head}", justify="right")
    found = {(row["layer"], row["shift"], row["head"]): row for row in candidates}
    for layer, shift in sorted({(row["layer"], row["shift"]) for row in candidates}):
        cells = []
        for head in (None, *heads):
            row = found.get((layer, shift, head))
            text = "" if row is None else f"{100 * row['agreement']:.1f}"
            cells.append(f"[bold]{text}[/]" if row is best else text)
        table.add_row(str(layer), "input" if shift else "predicting", *cells)
    return table
