"""A traced text as it is shown: the steps of one word's way, with the tokens that label them.

Steps come from `regard.attention.trace`; here they are those of one sentence, numbered, and of
logits and probabilities only the most probable tokens are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.views.maps.token_groups import Groups

if TYPE_CHECKING:
    from regard.attention import Step

Tokens = tuple[str, ...]
Pieces = Callable[[Sequence[int]], Sequence[str]]
"""The tokens (or labels) of a model's output by their indices."""

TOP = 10
"""Tokens of the vocabulary that are shown for each position."""

TEMPERATURES = tuple(number / 10 for number in range(1, 31))
"""Temperatures at which the distribution over the vocabulary can be shown."""

ONLY_QUERY = "q"  # the label of a learned query, which is at no token


@dataclass(frozen=True)
class TracedSide:
    """What stands on one side of a model.

    tokens    what is read at each position
    words     the words of the text
    groups    for each word its positions: where it is read, or in a translation where it is written
    language  of the words
    written   what is written at each position, if that is known
    ids       of the tokens that are written
    """

    tokens: Tokens
    words: Tokens
    groups: Groups
    language: str = ""
    written: Tokens = ()
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class ShownStep:
    """A step of one sentence.

    axes    "query", "key", "slot", "feature" or "vocabulary" for each dimension of `values`
    shape   its sizes in the model; the vocabulary in `values` is cut to the most probable tokens
    rows    the positions of the queries
    keys    the side whose tokens are the keys; empty if there is no such axis
    tokens  for each row the tokens of its columns, if these are of the vocabulary
    ids     of these tokens
    others  of logits: log Σ exp(logit / T) of the tokens that are left out, for each row at each of
            `TEMPERATURES`
    """

    number: int
    name: str
    equation: str
    side: str
    part: str
    layer: int | None
    head: int | None
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    rows: tuple[int, ...]
    keys: str
    values: NDArray[np.float64]
    tokens: tuple[Tokens, ...] = ()
    ids: tuple[tuple[int, ...], ...] = ()
    remainder: NDArray[np.float64] | None = None

    @property
    def place(self) -> tuple[str, str, int | None, int | None]:
        """Side, part, layer and head."""
        return self.side, self.part, self.layer, self.head


@dataclass(frozen=True, eq=False)
class TracedText:
    """A text, the word that is followed through the model, and the steps of its way.

    text, output  what was read, and what was written (empty for a model that only reads)
    model, kind   the model's name, and what it is
    word          the word that is followed
    rows          its positions on each side
    sizes         number of layers and of heads for each (side, part) that has some
    drawing       of the whole model (`views.html.model_drawing`), if there is one
    """

    text: str
    output: str
    model: str
    kind: str
    word: str
    rows: Mapping[str, tuple[int, ...]]
    sides: Mapping[str, TracedSide]
    sizes: Mapping[tuple[str, str], tuple[int, int]]
    steps: tuple[ShownStep, ...]
    drawing: Mapping[str, Any] | None = None

    def row_labels(self, step: ShownStep) -> Tokens:
        """The tokens at a step's rows."""
        side = self.sides.get(step.side)
        if side is None:
            return (ONLY_QUERY,) * len(step.rows)
        return tuple(side.tokens[row] for row in step.rows)

    def key_labels(self, step: ShownStep) -> Tokens:
        """The tokens of a step's keys; numbers for slots, which are no tokens."""
        count = step.shape[step.axes.index("key" if "key" in step.axes else "slot")]
        if "slot" in step.axes or step.keys not in self.sides:
            return tuple(map(str, range(count)))
        return self.sides[step.keys].tokens[:count]


def shown_steps(steps: Sequence[Step], pieces: Pieces) -> tuple[ShownStep, ...]:
    """The steps of the first sentence, numbered from 1.

    Left out are inputs that repeat the step before them, and masks that hide nothing.
    """
    shown: list[ShownStep] = []
    for step in steps:
        values = step.tensor[0].double().cpu().numpy()
        if step.name == "masked" and not np.isneginf(values).any():
            continue
        if step.name == "input" and shown and np.array_equal(shown[-1].values, values):
            continue
        shape = values.shape
        tokens: tuple[Tokens, ...] = ()
        ids: tuple[tuple[int, ...], ...] = ()
        remainder = None
        if "vocabulary" in step.axes:
            remainder = _left_out(values) if step.name == "logits" else None
            values, ids = _most_probable(values)
            tokens = tuple(tuple(pieces(row)) for row in ids)
        elif step.name == "word":
            tokens = tuple((piece,) for piece in pieces(values.astype(int).tolist()))
        has_keys = "key" in step.axes or "slot" in step.axes
        has_own_keys = step.part == "self-attention" or step.side == "regression"
        keys = (step.side if has_own_keys else "encoder") if has_keys else ""
        place = step.side, step.part, step.layer, step.head
        numbered = len(shown) + 1, step.name, step.equation, *place
        data = step.axes[1:], shape, step.rows, keys, values
        shown.append(ShownStep(*numbered, *data, tokens, ids, remainder))
    return tuple(shown)


def _most_probable(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], tuple[tuple[int, ...], ...]]:
    """The largest numbers of each row (r, V), and the tokens that they belong to."""
    order = np.argsort(-values, axis=1, kind="stable")[:, :TOP]
    return np.take_along_axis(values, order, axis=1), tuple(map(tuple, order.tolist()))


def _left_out(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of what the tokens beyond the most probable add up to, (r, temperatures)."""
    other_logits = -np.sort(-logits, axis=1)[:, TOP:]
    if other_logits.shape[1] == 0:
        return np.full((len(logits), len(TEMPERATURES)), -np.inf)
    columns = [np.logaddexp.reduce(other_logits / heat, axis=1) for heat in TEMPERATURES]
    return np.stack(columns, axis=1)
