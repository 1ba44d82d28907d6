"""What `regard trace` follows: one word of a text through a model of any kind, step by step."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from regard.attention import Step, trace
from regard.errors import InputError
from regard.tasks.inspection import InspectOptions, describe_kind, inspect
from regard.views import SentenceView
from regard.views.maps.pieces import is_special
from regard.views.maps.traced import Pieces, TracedSide, TracedText, shown_steps

MAX_TOKENS = 128  # of a text whose every number is shown

Rows = dict[str, tuple[int, ...]]


def trace_text(
    model: Any,
    text: str,
    *,
    word: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    everything: bool = True,
    name: str = "",
) -> TracedText:
    """Run a model on a text and collect the steps of one word, by default the last one.

    In a translation the word is followed on both sides: a word of the text, and the word that is
    linked to it; on the decoder's side at the position where it is written. `layer` and `head`
    select (counted from 0); None is all of them, or the first unless `everything` is asked for.
    """
    inspections = inspect(model, [text], InspectOptions(name=name))
    if len(inspections) != 1:
        raise InputError(
            f"one sentence is traced at a time, but the text has {len(inspections)}; give one."
        )
    view, batch = inspections[0].view, inspections[0].batch
    longest = max(len(view.source_tokens), len(view.target_tokens))
    if longest > MAX_TOKENS:
        raise InputError(
            f"the sentence has {longest} tokens, too many to show every number: at most "
            f"{MAX_TOKENS} are traced; give a shorter one."
        )
    network = model.network
    sides = _sides(view, network)
    followed, rows = _followed(view, sides, word)
    with torch.no_grad(), warnings.catch_warnings(), trace(network, rows=rows) as traced:
        warnings.simplefilter("ignore")
        network(batch)
    sizes = _sizes(traced.steps)
    if sizes and not everything:
        layer, head = layer or 0, head or 0
    steps = _selected(traced.steps, sizes, layer, head)
    output = "" if not view.has_target else view.translation
    return TracedText(
        view.source, output, name, describe_kind(model.run), followed,
        {side: positions for side, positions in rows.items() if side in sides},
        sides, sizes, shown_steps(steps, _pieces(model)),
    )  # fmt: skip


def _sides(view: SentenceView, network: Any) -> dict[str, TracedSide]:
    """The sides of a model with their tokens."""
    source = view.axis("source")
    read = TracedSide(source.tokens, view.source_words, source.groups, view.source_language)
    if network.side == "decoder" and not view.has_target:  # a language model
        return {"decoder": read}
    if network.side != "decoder":  # a masked language model, a classifier
        return {"encoder": read}
    target, inputs = view.axis("target"), view.axis("inputs")
    written = TracedSide(
        inputs.tokens, view.target_words, target.groups, view.target_language, target.tokens
    )
    return {"encoder": read, "decoder": written}


def _followed(
    view: SentenceView, sides: Mapping[str, TracedSide], word: str | None
) -> tuple[str, Rows]:
    """The word that is followed, and its positions on each side."""
    first, *others = sides
    found: dict[str, int] = {}
    if word is None:
        found[first] = _last_word(sides[first])
    else:
        for side in sides:
            if side not in found and (index := _find(sides[side].words, word)) is not None:
                found[side] = index
                break
    if not found:
        words = ", ".join(w for side in sides.values() for w in side.words if not is_special(w))
        raise InputError(f"there is no word {word!r} in the sentence; its words are: {words}.")
    (side, index), *_ = found.items()
    for other in others or ():
        here = 0 if side == first else 1  # links are (source word, target word)
        linked = [link[1 - here] for link in view.links if link[here] == index]
        found[first if side == other else other] = linked[0] if linked else 0
    rows = {name: tuple(sides[name].groups[found[name]]) for name in sides}
    rows = {name: positions or (0,) for name, positions in rows.items()}
    return sides[side].words[index], {**rows, "pooling": (0,)}


def _find(words: Sequence[str], word: str) -> int | None:
    """The first place of a word: as it is written, else in any case."""
    if word in words:
        return words.index(word)
    folded = [each.casefold() for each in words]
    return folded.index(word.casefold()) if word.casefold() in folded else None


def _last_word(side: TracedSide) -> int:
    """The last word that is neither punctuation nor a special token."""
    for index in reversed(range(len(side.words))):
        if not is_special(side.words[index]) and any(c.isalnum() for c in side.words[index]):
            return index
    return len(side.words) - 1


def _sizes(steps: Sequence[Step]) -> dict[tuple[str, str], tuple[int, int]]:
    """The number of layers and heads of each side's attention."""
    sizes: dict[tuple[str, str], tuple[int, int]] = {}
    for step in steps:
        if step.head is not None:
            layers, heads = sizes.get((step.side, step.part), (0, 0))
            layers = max(layers, (step.layer or 0) + 1)
            sizes[step.side, step.part] = layers, max(heads, step.head + 1)
    return sizes


def _selected(
    steps: Sequence[Step],
    sizes: Mapping[tuple[str, str], tuple[int, int]],
    layer: int | None,
    head: int | None,
) -> list[Step]:
    """The steps of a layer and a head, and those outside of layers and heads."""
    for what, chosen, place in (("layer", layer, 0), ("head", head, 1)):
        if chosen is None:
            continue
        if not sizes:
            raise InputError(
                f"this model's attention has no {what}s to choose from; leave --{what} out."
            )
        most = max(size[place] for size in sizes.values())
        if not 0 <= chosen < most:
            raise InputError(
                f"there is no {what} {chosen}: this model has {what}s 0 to {most - 1}."
            )
    return [
        step
        for step in steps
        if (layer is None or step.layer in (None, layer))
        and (
            head is None
            or step.head is None  # pooling may have fewer heads
            or step.head == min(head, sizes[step.side, step.part][1] - 1)
        )
    ]


def _pieces(model: Any) -> Pieces:
    """The names of a model's outputs: tokens of its target, or labels."""
    if hasattr(model, "labels"):
        return lambda ids: [model.labels[index] for index in ids]
    pieces: Pieces = model.tokenizer.pieces
    return pieces
