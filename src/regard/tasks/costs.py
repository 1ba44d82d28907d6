"""What the attention of a model costs, from its settings and the shapes of its weights.

Counted are multiplications of one output token and one input token, n tokens each: every weight
matrix once, then what grows with the length, scores and weighted sums.

    full attention, a layer        2 · dim · n         (causal: half of it on average)
    additive (Bahdanau) attention  (attention_dim + dim) · n
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
        once = ".bridges." in name  # per text
        products[name] = math.prod(shape) // (length if once else 1)
    if "output.weight" not in shapes:  # tied to the vectors of the tokens
        tied = [n for n in ("target.vectors.weight", "target.weight", "words.vectors.weight",
                            "source.vectors.weight", "source.weight") if n in shapes]  # fmt: skip
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
    facts = model.attention.facts
    if facts.answer != "exact" or facts.growth != 2:
        return None, facts.cost
    full, causal = 2 * model.dim * length, model.dim * (length + 1)
    if model.kind == "transformer":
        own = model.num_encoder_layers * full + model.num_decoder_layers * (causal + full)
    else:
        own = model.num_layers * (causal if model.kind == "lm" else full)
    return own, facts.cost
