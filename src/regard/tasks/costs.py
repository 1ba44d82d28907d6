"""What the attention of a model costs, from its settings and the shapes of its weights.

Counted are multiplications of one output token and one input token, n tokens each: every weight
matrix once, then what grows with the length, scores and weighted sums.

    attention to k keys, a layer   2 · dim · k
        full, blockwise, ring      k = n                       causal: (n + 1) / 2 on average
        local                      k = 2 · window + 1 + global causal: window + 1 + global
        sparse, stride l, strided  k = 2 l - 1 + n / l         causal: l + n / 2l
        sparse, fixed, summary c   k = l + c · n / l           causal: (l + c · n / l) / 2
    linformer, s slots             2 · dim · s for the projection, and k = s
    linear, heads of width w       2 · dim · w
    performer, m features          2 · dim · m for the features, and w = m
    additive (Bahdanau) attention  (attention_dim + dim) · n

Of a pattern k is at most that of full attention. How many keys Reformer and adaptive spans visit
depends on what was learned; they are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import InputError
from regard.tasks import load_run

LENGTH = 25
"""Tokens of a sentence, where none are given."""
EMBEDDINGS = ("source.", "target.", "words.", "input.")
ALIGNMENT = {"attention", "cross", "pooling"}
SLOTS = ("key_slots", "value_slots")
"""Linformer's projections."""


@dataclass(frozen=True)
class ModelCosts:
    """Costs of a model at `length` tokens.

    attention          its name; of a Transformer that of its self-attention
    parameters         all
    alignment          of them, those that only align: of attention and its projections
    embeddings         of them, vectors of tokens and output layer
    products           multiplications a token; None if the mechanism's are not known
    alignment_products of them, those of attention
    growth             how attention's cost grows with the length n of the text
    reading, writing   steps one after another to read and to write the tokens
    training           the same to learn from a pair, whose output is known
    path               steps from one token to the farthest one
    context            the longest text in tokens
    """

    folder: str
    kind: str
    attention: str
    length: int
    parameters: int
    alignment: int
    embeddings: int
    products: int | None
    alignment_products: int | None
    growth: str
    reading: int
    writing: int
    training: int
    path: int
    context: int

    @property
    def rest(self) -> int:
        """Parameters that neither align nor are vectors of tokens."""
        return self.parameters - self.alignment - self.embeddings


def model_costs(folder: str | Path, length: int = LENGTH) -> ModelCosts:
    """Return the costs of the model in a folder, without loading it."""
    if length < 1:
        raise InputError(f"length must be at least 1 token, got {length}.")
    run = load_run(folder)
    model: Any = run.model
    if model.kind not in ("transformer", "rnn", "lm", "mlm", "classifier"):
        raise InputError(f"{folder}: costs are not known of a model of kind {model.kind}.")
    shapes = _shapes(Path(folder) / "model.safetensors")
    sizes = {name: math.prod(shape) for name, shape in shapes.items()}
    alignment = [name for name in sizes if ALIGNMENT & set(name.split("."))]
    embeddings = [n for n in sizes if n.startswith((*EMBEDDINGS, "output.")) and n not in alignment]
    once = _products(shapes, length)
    own, growth = _score_products(model, length)
    recurrent = model.kind == "rnn" or getattr(model, "encoder", "") == "rnn"
    layers = [getattr(model, f"num_{part}layers", 0) for part in ("encoder_", "decoder_", "")]
    encoder, decoder = (layers[0], layers[1]) if layers[0] else (layers[2], layers[2])
    steps = length if recurrent else 1
    writes = model.kind in ("transformer", "rnn", "lm")
    aligned = sum(size for name, size in once.items() if name in alignment)
    reads = model.kind != "lm"
    return ModelCosts(
        folder=str(folder),
        kind=model.kind,
        attention=_name(model),
        length=length,
        parameters=sum(sizes.values()),
        alignment=sum(sizes[name] for name in alignment),
        embeddings=sum(sizes[name] for name in embeddings),
        products=None if own is None else sum(once.values()) + own,
        alignment_products=None if own is None else aligned + own,
        growth=growth,
        reading=steps * encoder if reads else 0,
        writing=length * decoder if writes else 0,
        training=steps * (encoder * reads + decoder * writes),
        path=steps,
        context=model.max_length,
    )


def _name(model: Any) -> str:
    return str(getattr(model.attention, "name", model.attention))


def _shapes(weights: Path) -> Mapping[str, tuple[int, ...]]:
    if not weights.is_file():
        raise InputError(f"{weights.parent}: there are no weights yet; train the model first.")
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights, framework="numpy") as file:
            names = list(file.keys())
            return {name: tuple(file.get_slice(name).get_shape()) for name in names}
    except SafetensorError as error:
        raise InputError(f"{weights}: the weights cannot be read ({error}).") from error


def _products(shapes: Mapping[str, tuple[int, ...]], length: int) -> dict[str, int]:
    """Multiplications a token of each matrix; a vector of a token is only looked up."""
    products = {}
    for name, shape in shapes.items():
        if len(shape) < 2 or "bias" in name or name.startswith(EMBEDDINGS):
            continue
        if name.endswith(SLOTS):  # counted with the scores
            continue
        once = ".bridges." in name  # per text
        products[name] = math.prod(shape) // (length if once else 1)
    if "output.weight" not in shapes:  # tied to the vectors of the tokens
        tied = [
            n
            for n in (
                "target.vectors.weight",
                "target.weight",
                "words.vectors.weight",
                "source.vectors.weight",
                "source.weight",
            )
            if n in shapes
        ]
        products["output.weight"] = math.prod(shapes[tied[0]]) if tied else 0
    return products


def _score_products(model: Any, length: int) -> tuple[int | None, str]:
    """Multiplications of scores and weighted sums a token, and how they grow."""
    if model.kind == "rnn":
        if model.attention == "none":
            return 0, "none"
        width = model.attention_dim
        if model.attention == "graves":
            width = model.components
        elif model.attention == "luong" and model.score != "concat":
            width = model.dim
        return length * (width + model.dim), "n²"
    if getattr(model, "encoder", "") == "rnn":
        return length * model.dim, "n"
    mechanism = model.attention
    if model.kind != "transformer":
        own = layer_products(mechanism, model, length, causal=model.kind == "lm")
        return None if own is None else round(model.num_layers * own), mechanism.facts.cost
    inner = mechanism if model.decoder_attention == "same" else model.decoder_attention
    reads = layer_products(mechanism, model, length, causal=False)
    writes = layer_products(inner, model, length, causal=True)
    costs = " and ".join(dict.fromkeys((mechanism.facts.cost, inner.facts.cost)))
    if reads is None or writes is None:
        return None, costs
    cross = 2 * model.dim * length
    own = model.num_encoder_layers * reads + model.num_decoder_layers * (writes + cross)
    return round(own), costs


def layer_products(mechanism: Any, model: Any, length: int, *, causal: bool) -> float | None:
    """Multiplications a token of a layer's self-attention; None if they are not known."""
    dim = float(model.dim)
    width = dim / int(model.num_heads)
    most = (length + 1) / 2 if causal else length
    keys: float
    match mechanism.name:
        case "full" | "blockwise" | "ring":
            keys = most
        case "local":
            keys = (1 if causal else 2) * mechanism.window + 1 + mechanism.global_tokens
        case "sparse":
            stride = mechanism.stride_of(model.max_length)
            if mechanism.pattern == "strided":
                keys = stride + length / stride / 2 if causal else 2 * stride - 1 + length / stride
            else:
                keys = (stride + mechanism.summary * length / stride) / (2 if causal else 1)
        case "linformer":
            return 2 * dim * 2 * float(mechanism.projected)
        case "linear":
            return 2 * dim * width
        case "performer":
            return 2 * dim * 2 * float(mechanism.num_features or 4 * width)
        case _:
            return None
    return 2 * dim * min(keys, most)
