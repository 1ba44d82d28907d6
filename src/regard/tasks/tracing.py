"""What `regard trace` follows: one word of a text through a model of any kind, step by step."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from regard.attention import Step, intervene, trace
from regard.errors import InputError
from regard.tasks.inspection import Inspection, InspectOptions, describe_kind, inspect
from regard.views import SentenceView
from regard.views.html.model_drawing import model_blocks, model_drawing
from regard.views.maps.pieces import is_special
from regard.views.maps.traced import Pieces, TracedSide, TracedText, shown_steps

MAX_TOKENS = 128  # of a text whose every number is shown
MAX_NUMBERS = 1_200_000
"""Of the stages on one report: about 4 MB."""

Rows = dict[str, tuple[int, ...]]


def trace_text(
    model: Any,
    text: str,
    *,
    word: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    everything: bool = True,
    every_word: bool = False,
    options: InspectOptions | None = None,
) -> TracedText:
    """Run a model on a text and collect the steps of one word, by default the last one.

    In a translation the word is followed on both sides: a word of the text, and the word that is
    linked to it; on the decoder's side at the position where it is written. `layer` and `head`
    select (counted from 0); None is all of them, or the first unless `everything` is asked for.
    `every_word` collects the steps of all positions, without the weighted values, which are the
    product of two other steps. `options` say how the text is read.
    """
    options = options or InspectOptions()
    check_traceable(model, text, options)
    (inspection,) = inspect(model, [text], options)
    return trace_inspection(
        model,
        inspection,
        word=word,
        layer=layer,
        head=head,
        everything=everything,
        every_word=every_word,
        options=options,
    )


def traced_texts(
    model: Any, inspections: Sequence[Inspection], options: InspectOptions
) -> Iterator[TracedText | None]:
    """The steps of every word of inspected texts; None of one that is too long.

    The texts are traced in their order, until `MAX_NUMBERS` are used up.
    """
    left = MAX_NUMBERS
    for inspection in inspections:
        traced = None
        if left > 0 and _longest(inspection.view) <= MAX_TOKENS:
            traced = trace_inspection(model, inspection, every_word=True, options=options)
            left -= sum(step.values.size for step in traced.steps)
        yield traced if left > 0 else None


def trace_inspection(
    model: Any,
    inspection: Inspection,
    *,
    word: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    everything: bool = True,
    every_word: bool = False,
    options: InspectOptions,
) -> TracedText:
    """Collect the steps of a text that was inspected with these options; see `trace_text`."""
    view, network = inspection.view, model.network
    if _longest(view) > MAX_TOKENS:
        raise _too_long(_longest(view))
    sides = _sides(view, network, inspection.batch)
    followed, rows = _followed(view, sides, word)
    chosen: dict[str, Any] = {"without": "weighted values"} if every_word else {"rows": rows}
    with (
        torch.no_grad(),
        warnings.catch_warnings(),
        intervene(network, options.edits),
        trace(network, **chosen) as traced,
    ):
        warnings.simplefilter("ignore")
        network(inspection.batch)
    sizes = _sizes(traced.steps)
    if sizes and not everything:
        layer, head = layer or 0, head or 0
    steps = _selected(traced.steps, sizes, layer, head)
    output = "" if not view.has_target else view.translation
    return TracedText(
        view.source,
        output,
        options.name,
        describe_kind(model.run),
        followed,
        {side: positions for side, positions in rows.items() if side in sides},
        sides,
        sizes,
        shown_steps(steps, _pieces(model)),
        _drawing(model),
    )


def _drawing(model: Any) -> dict[str, Any]:
    """A drawing of the model, whose shared weights are drawn once."""
    shapes = {name: tuple(weight.shape) for name, weight in model.network.named_parameters()}
    return model_drawing(model_blocks(shapes, getattr(model.run.model, "num_heads", None)))


def check_traceable(model: Any, text: str, options: InspectOptions) -> None:
    """Check that a text is one sentence that can be traced, before a translator reads it."""
    if not hasattr(model, "segment"):
        return
    segments = model.segment(text, split=options.split, prefix=options.prefix)
    if len(segments) != 1:
        raise InputError(
            f"one sentence is traced at a time, but the text has {len(segments)}; give one."
        )
    if (count := len(segments[0].ids) + 1) > MAX_TOKENS:
        raise _too_long(count)


def expected_numbers(model: Any, text: str) -> int:
    """About how many numbers the steps of a translated text have.

    For each token twice the outputs of every matrix (what is projected, and the sums and norms of
    it), and four scores for each pair of tokens, head and layer.
    """
    tokens = len(model.tokenizers.source.encode(text)) + 1
    weights = [(n, w) for n, w in model.network.named_parameters() if w.ndim == 2]
    outputs = sum(len(w) for n, w in weights if not n.startswith(("source.", "target.", "output.")))
    num_scores = sum(".out_proj." in name for name, _ in weights) * 4
    return tokens * (2 * outputs + num_scores * tokens * getattr(model.run.model, "num_heads", 1))


def _longest(view: SentenceView) -> int:
    return max(len(view.source_tokens), len(view.target_tokens))


def _too_long(count: int) -> InputError:
    return InputError(
        f"the sentence has {count} tokens, too many to show every number: at most {MAX_TOKENS} are "
        "traced; give a shorter one."
    )


def _sides(view: SentenceView, network: Any, batch: Any) -> dict[str, TracedSide]:
    """The sides of a model with their tokens."""
    source = view.axis("source")
    read = TracedSide(source.tokens, view.source_words, source.groups, view.source_language)
    if network.side == "decoder" and not view.has_target:  # a language model
        return {"decoder": read}
    if network.side != "decoder":  # a masked language model, a classifier
        return {"encoder": read}
    target, inputs = view.axis("target"), view.axis("inputs")
    written = TracedSide(
        inputs.tokens,
        view.target_words,
        target.groups,
        view.target_language,
        target.tokens,
        tuple(batch.labels[0].tolist()),
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
    rows = {}
    for name in sides:
        groups = sides[name].groups  # none of an empty translation, whose only position is EOS
        rows[name] = (tuple(groups[found[name]]) if groups else ()) or (0,)
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
