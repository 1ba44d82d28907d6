"""The steps of a traced text as one HTML file, without scripts; its data is embedded as JSON.

Cells are shaded by their size: blue above zero, orange below; each is a number that can be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import Template

import numpy as np
from numpy.typing import NDArray

from regard.views.html.browser import read, style
from regard.views.html.page import embed_json, escape_text, policy_hash
from regard.views.html.trace_payload import trace_payload
from regard.views.maps.traced import ShownStep, TracedText
from regard.views.terminal.blackboard import number, place_name

MAX_FEATURES = 24
LEVELS = 8


def trace_page(traced: TracedText) -> str:
    """The page as a string, to be written as UTF-8."""
    css = f"{style()}\n{read('page.css')}\n{read('trace.css')}"
    facts = {"model": f"{traced.model}: {traced.kind}", "reads": traced.text}
    facts |= {"writes": traced.output} if traced.output else {}
    for side, rows in traced.rows.items():
        facts[side] = f"position {', '.join(map(str, rows))}"
    return Template(read("trace.html")).substitute(
        title=escape_text(f"The way of “{traced.word}”"),
        style=css,
        style_hash=policy_hash(css),
        facts="".join(
            f"<div><dt>{escape_text(name)}</dt><dd>{escape_text(value)}</dd></div>"
            for name, value in facts.items()
        ),
        steps="\n".join(_sections(traced)),
        data=embed_json(trace_payload(traced)),
    )


def _sections(traced: TracedText) -> Iterator[str]:
    place = None
    for step in traced.steps:
        if step.place[:3] != place:
            if place is not None:
                yield "</section>"
            place = step.place[:3]
            yield f"<section><h2>{escape_text(place_name(step))}</h2>"
        sizes = " × ".join(f"{axis} {n}" for axis, n in zip(step.axes, step.shape, strict=True))
        head = "" if step.head is None else f"head {step.head}, "
        yield (
            f'<h3 id="step-{step.number}">{step.number}. {escape_text(step.name)}</h3>'
            f'<p class="note"><code>{escape_text(step.equation)}</code> ({head}{sizes})</p>'
        )
        yield from _tables(traced, step)
    yield "</section>"


def _tables(traced: TracedText, step: ShownStep) -> Iterator[str]:
    """The matrix of a step, or one for each query."""
    rows = traced.row_labels(step)
    if step.tokens:
        for row, values, tokens in zip(
            rows, np.atleast_2d(step.values.reshape(len(rows), -1)), step.tokens, strict=True
        ):
            text = step.name == "word"
            yield _table(values[None], [row], tokens, numbers=not text)
        return
    keys = traced.key_labels(step) if step.keys else ()
    if len(step.axes) == 3:
        for row, values in zip(rows, step.values, strict=True):
            yield f'<p class="note">{escape_text(row)}</p>' + _table(values, keys, None)
    elif step.axes[0] in ("key", "slot"):
        yield _table(step.values, keys, None)
    else:
        yield _table(step.values, rows, keys or None)


def _table(
    values: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str] | None,
    *,
    numbers: bool = True,
) -> str:
    """A table of numbers (r, c); of unlabelled columns the first are shown."""
    left = 0 if columns is not None else max(0, values.shape[1] - MAX_FEATURES)
    shown = values[:, : values.shape[1] - left]
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max()) if finite.size else 0.0
    head = ""
    if columns is not None:
        names = "".join(f'<th scope="col">{escape_text(name)}</th>' for name in columns)
        head = f"<thead><tr><td></td>{names}</tr></thead>"
    body = []
    for label, row in zip(rows, shown, strict=True):
        cells = "".join(_cell(float(value), largest) for value in row) if numbers else ""
        rest = f"<td>… {left} more</td>" if left else ""
        body.append(f'<tr><th scope="row">{escape_text(label)}</th>{cells}{rest}</tr>')
    table = f"<table>{head}<tbody>{''.join(body)}</tbody></table>"
    return f'<div class="matrix" tabindex="0">{table}</div>'


def _cell(value: float, largest: float) -> str:
    share = min(1.0, abs(value) / largest) if largest and np.isfinite(value) else 0.0
    level = round(share * LEVELS)
    sign = "n" if value < 0 else "p"
    shade = f' class="{sign}{level}"' if level else ""
    return f"<td{shade}>{number(value)}</td>"
