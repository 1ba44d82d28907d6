"""The JSON of a traced text, which `regard trace --json` prints and pages are made of.

    version   1
    text      what was read
    output    what was written; "" if the model only reads
    model     {"name", "kind"}: the folder's name, and the kind as in "Transformer"
    word      {"text", "rows"}: the word that is followed, and its positions by side
    sides     by name ("encoder", "decoder"; a classifier's "pooling" has no tokens of its own):
        language  code, or ""
        tokens    what is read at each position; ▁ is a space, <s> the start
        written   what is written at each position, [] on a side that only reads; `ids` are its ids
        words     the words of the text; `groups` has the positions of each: where it is read, or
                  in a translation where it is written
    sizes     [{"side", "part", "layers", "heads"}]: what there is to choose from
    steps     in the order of the computation:
        number    from 1
        name      "token", "position", "input", "norm", "query", "keys", "values", "raw scores",
                  "scaled", "capped", "energies", "biased", "masked", "weights", "weighted values",
                  "context", "heads joined", "output projection", "residual", "hidden",
                  "feed-forward", "next input", "previous state", "state", "joined", "logits",
                  "probabilities", "word"
        equation  how it is made of the steps before, as text
        side      as above
        part      "embedding", "self-attention", "cross-attention", "feed-forward", "recurrence",
                  "output"
        layer     from 0, or null outside of layers
        head      from 0, or null where heads are together
        axes      of `values`: "query" (the positions `rows`), "key", "slot", "feature",
                  "vocabulary"
        shape     the sizes in the model
        rows      positions of the queries, [] without a query axis
        keys      the side whose tokens the key axis runs over, "" without one
        tokens    only where the last axis is the vocabulary, and for "word": for each row the
                  tokens of its columns, the most probable first; `values` has these columns only,
                  `ids` their ids
        temperatures, others  of logits: for each row log Σ exp(logit / T) of the tokens that are
                  left out, at each of the temperatures T
        values    numbers, nested as `axes` says; null is −∞, "NaN" is not a number. Packed: base64
                  of deflated float32, in a page {"blob": id of an element} with this text; then
                  there are no "weighted values", which are the weights times the values
    drawing   in a page, or null: of the model, as `model_drawing` describes it
    start     in a page: the number of the step that is shown first

Everything that comes from a text is text: a page must insert it as text, never as HTML.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.views.html.packing import to_blob
from regard.views.maps.traced import TEMPERATURES, ShownStep, TracedText

VERSION = 1
DIGITS = 6  # significant ones of a number


def trace_payload(
    traced: TracedText,
    blobs: dict[str, str] | None = None,
    *,
    prefix: str = "",
    packed: bool = False,
) -> dict[str, Any]:
    """The payload of a traced text, as described at the top of this file.

    The numbers are put into `blobs` by the names of their elements, which begin with `prefix`, if
    given; else they are in the payload, `packed` or not.
    """
    paged = packed or blobs is not None
    return {
        "version": VERSION,
        "text": traced.text,
        "output": traced.output,
        "model": {"name": traced.model, "kind": traced.kind},
        "word": {"text": traced.word, "rows": {s: list(r) for s, r in traced.rows.items()}},
        "sides": {
            name: {
                "language": side.language,
                "tokens": list(side.tokens),
                "written": list(side.written),
                "ids": list(side.ids),
                "words": list(side.words),
                "groups": [list(group) for group in side.groups],
            }
            for name, side in traced.sides.items()
        },
        "sizes": [
            {"side": side, "part": part, "layers": layers, "heads": heads}
            for (side, part), (layers, heads) in traced.sizes.items()
        ],
        **({"drawing": traced.drawing} if paged else {}),
        "steps": [_step(step, blobs, prefix, packed) for step in traced.steps],
    }


def _step(
    step: ShownStep, blobs: dict[str, str] | None, prefix: str, packed: bool
) -> dict[str, Any]:
    names = ("number", "name", "equation", "side", "part", "layer", "head", "keys")
    payload: dict[str, Any] = {name: getattr(step, name) for name in names}
    for name in ("axes", "shape", "rows"):
        payload[name] = list(getattr(step, name))
    for name in ("tokens", "ids"):
        if rows := getattr(step, name):
            payload[name] = [list(row) for row in rows]
    if step.remainder is not None:
        payload["temperatures"] = list(TEMPERATURES)
        payload["others"] = _numbers(step.remainder.tolist())
    if blobs is None and not packed:
        return payload | {"values": _numbers(step.values.tolist())}
    blob = to_blob(_rounded(step.values))
    if blobs is None:
        return payload | {"values": blob}
    name = f"{prefix}numbers-{step.number}"
    blobs[name] = blob
    return payload | {"values": {"blob": name}}


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Four significant digits: the last bits of each number are zero, and packed to nothing."""
    bits = values.astype("<f4").view("<u4")
    return ((bits + 0x400) & 0xFFFFF800).view("<f4")


def _numbers(values: Any) -> Any:
    """Nested lists of numbers for JSON.

    >>> _numbers([1.23456789, float("-inf"), 3.0])
    [1.23457, None, 3]
    """
    if isinstance(values, list):
        return [_numbers(value) for value in values]
    if math.isnan(values):
        return "NaN"
    if math.isinf(values):
        return None if values < 0 else "Infinity"
    rounded = float(f"{values:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded
