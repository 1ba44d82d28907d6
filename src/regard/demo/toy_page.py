"""`regard trace --toy --out toy.html`: the example by hand as a page.

Its stages are those of two attention layers with the example's matrices: layer 0 has one head,
layer 1 two heads and W_O. Below them: that both forms give the same numbers, what each costs, and
the whole calculation as a table.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape

import numpy as np
import torch

from regard.attention import MultiHead, Step, trace
from regard.demo.toy import MEASURED, WORDS, ToyAttention, X, duration, toy_layer
from regard.views.html.trace_page import trace_page
from regard.views.maps.traced import TracedSide, TracedText, shown_steps


def toy_page(toy: ToyAttention) -> str:
    """The page as a string."""
    return trace_page(toy_trace(), appendix=_comparison(toy))


def toy_trace() -> TracedText:
    """The steps of all three words: one head, then two."""
    words = Step(
        "input",
        "x",
        torch.tensor(X)[None],
        ("batch", "query", "feature"),
        "encoder",
        "embedding",
        None,
        None,
        tuple(range(len(WORDS))),
    )
    single_head = toy_layer(num_heads=1, out=np.eye(4))
    steps = [words, *_steps(single_head, 0), *_steps(toy_layer(), 1)]
    groups = tuple((place,) for place in range(len(WORDS)))
    sides = {"encoder": TracedSide(WORDS, WORDS, groups, "en")}
    rows = {"encoder": (len(WORDS) - 1,)}
    sizes = {("encoder", "self-attention"): (2, 2)}
    shown = shown_steps(steps, lambda ids: list(map(str, ids)))
    facts = " ".join(WORDS), "", "toy", "attention by hand", WORDS[-1]
    return TracedText(*facts, rows, sides, sizes, shown)


def _steps(layer: MultiHead, number: int) -> list[Step]:
    """The steps of a layer, in which nothing has a bias."""
    with torch.no_grad(), trace(layer, without="weighted values") as traced:
        layer(torch.tensor(X)[None])
    steps = []
    for step in traced:
        equation = step.equation.split(" + b_")[0]
        steps.append(replace(step, layer=number, equation=equation))
    return steps if number else [step for step in steps if step.head is not None]


def _comparison(toy: ToyAttention) -> str:
    """HTML below the stages: both forms, their times, and the whole calculation."""
    largest = max(toy.differences.values())
    rows = "".join(
        f"<tr><td>{n}</td><td>{'≈ ' if n > MEASURED else ''}{duration(vectors)}</td>"
        f"<td>{duration(matrix)}</td><td>{vectors / matrix:.0f}×</td></tr>"
        for n, (vectors, matrix) in toy.seconds.items()
    )
    headings = "".join(
        f'<th scope="col" data-message="toy.{name}"></th>' for name in ("n", "vectors", "matrix")
    )
    return (
        '<section class="toy"><h2 data-message="toy.title"></h2>'
        f'<p><span data-message="toy.same"></span> {largest:.0e}</p>'
        f'<table><thead><tr>{headings}<th scope="col" data-message="toy.faster"></th></tr></thead>'
        f'<tbody>{rows}</tbody></table><p class="note" data-message="toy.about"></p>'
        '<details><summary data-message="toy.board"></summary>'
        f'<pre tabindex="0">{escape(toy.text())}</pre></details></section>'
    )
