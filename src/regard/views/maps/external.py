"""Attention maps of other models: recorded, or in the output of a transformers model.

A transformers model returns a tensor (B, H, Q, K) per layer or, from `generate`, such a tuple per
step; an encoder–decoder returns three of them by name. Generation with beams has a row per beam,
and `beam_indices` (B, steps) says from which of them each step continued.

Shapes: B sentences, H heads, Q queries, K keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.views.maps.arrays import check_row

if TYPE_CHECKING:
    from regard.attention import AttentionMap

_KINDS = {
    "encoder_attentions": "self",
    "decoder_attentions": "causal",
    "cross_attentions": "cross",
    "attentions": "self",  # of a single stack: whether it is causal is read from the weights
}
ADVICE = (
    'call a model loaded with attn_implementation="eager" with output_attentions=True, or pass '
    "what regard.attention.record recorded"
)
"""How to get attention maps."""


class ExternalMaps(NamedTuple):
    """One sentence's maps (B = 1), and what else the output says.

    kind_unknown   whether the kind "self" may also be "causal", see `resolve_kinds`
    is_decoder     whether the output is that of a decoder
    generated      whether the maps are of generation steps
    num_sequences  how many sequences the output has; None if it does not say
    """

    maps: list[AttentionMap]
    kind_unknown: bool = False
    is_decoder: bool = False
    generated: bool = False
    num_sequences: int | None = None


def external_maps(maps: Any, row: int = 0) -> ExternalMaps:
    """Convert maps of any origin to the form of `record`, for one sentence of the batch."""
    _check_type(maps)
    if _has_names(maps):
        return _from_output(maps, row)
    parts = [maps] if _is_tensor(maps) or _is_map(maps) else list(maps)
    if parts and all(map(_is_map, parts)):
        return _from_record(parts, row)
    if not parts and hasattr(maps, "maps"):
        raise ValueError(
            "nothing was recorded: record cannot see attention written out as matrix products, as "
            'in transformers with attn_implementation="eager"; load the model with "sdpa", or call '
            "it with output_attentions=True and show its output."
        )
    steps = _steps(parts)
    selected = [_select(layer_map, row) for _, layer_map in _layers(steps, "self")]
    return ExternalMaps(selected, kind_unknown=True, generated=len(steps) > 1)


def resolve_kinds(external: ExternalMaps) -> list[AttentionMap]:
    """The maps with their kind: "causal" if no row attends beyond its own position, else "self".

    Padding must be cut off before. A single token is ambiguous: then it is what the output says,
    and an encoder if it says nothing.
    """
    if not external.kind_unknown:
        return external.maps
    looks_ahead = any(
        bool((part.weights[:, :, number, position + 1 :] != 0).any())
        for part in external.maps
        for number, position in enumerate(part.rows)
    )
    single = all(part.weights.shape[-1] <= 1 for part in external.maps)
    causal = not looks_ahead and (external.generated or external.is_decoder or not single)
    return [replace(part, kind="causal" if causal else "self") for part in external.maps]


def _check_type(maps: Any) -> None:
    """Raise an error for arguments that are not maps at all."""
    if hasattr(maps, "state_dict") and callable(maps):
        raise TypeError(f"maps must be the output of a model, got the model; {ADVICE}.")
    if hasattr(maps, "__enter__") and not hasattr(maps, "__iter__"):
        raise TypeError(
            "maps must be a recording, got record itself; run the model inside "
            "`with record(model) as recording:` and show `recording`."
        )
    listable = hasattr(maps, "__iter__") and not isinstance(maps, (str, bytes))
    if not (listable or _is_tensor(maps) or _is_map(maps) or _has_names(maps)):
        name = "None" if maps is None else type(maps).__name__
        raise TypeError(f"maps must be attention maps, got {name}; {ADVICE}.")


def _has_names(maps: Any) -> bool:
    return isinstance(maps, Mapping) or any(hasattr(maps, key) for key in _KINDS)


def _field(output: Any, name: str) -> Any:
    return output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)


def _is_filled(layers: Any) -> bool:
    """Whether there is any map: sdpa returns None for each layer, or nothing."""
    if layers is None or _is_tensor(layers):
        return layers is not None
    return any(layer is not None for layer in layers)


def _from_output(output: Any, row: int) -> ExternalMaps:
    """The maps of one sentence of a model's output."""
    attentions = {key: _field(output, key) for key in _KINDS if _is_filled(_field(output, key))}
    if not attentions:
        raise ValueError(f"the model's output has no attentions; {ADVICE}.")
    sequences, beams = _field(output, "sequences"), _field(output, "beam_indices")
    num_sequences = None if sequences is None else len(sequences)
    if num_sequences is not None:
        check_row(row, num_sequences)
    maps: list[AttentionMap] = []
    generated = False
    for key, layers in attentions.items():
        steps = _steps(layers)
        parts = list(_layers(steps, _KINDS[key]))
        if key == "encoder_attentions" or not isinstance(layers[0], (tuple, list)):
            maps += [_select(layer_map, row, num_sequences) for _, layer_map in parts]
            continue
        generated = True
        if beams is not None:
            origins = [int(beam) for beam in beams[row] if beam >= 0]  # below zero: it had ended
            maps += [_select(part, origins[step]) for step, part in parts if step < len(origins)]
            continue
        num_rows = len(parts[0][1].weights)
        if _field(output, "sequences_scores") is not None or num_sequences not in (None, num_rows):
            raise ValueError(
                f"the maps are of {num_rows} beams, and it is not known which of them became "
                f"sentence {row}; generate with output_scores=True and "
                "return_dict_in_generate=True, or with num_beams=1."
            )
        maps += [_select(layer_map, row) for _, layer_map in parts]
    name = type(output).__name__
    is_decoder = "Causal" in name or "DecoderOnly" in name
    is_decoder = is_decoder or _field(output, "past_key_values") is not None
    return ExternalMaps(maps, "attentions" in attentions, is_decoder, generated, num_sequences)


def _from_record(maps: list[AttentionMap], row: int) -> ExternalMaps:
    sizes = sorted({len(part.weights) for part in maps})
    if len(sizes) > 1:
        raise ValueError(
            f"maps must have one batch size, got {sizes[0]} and {sizes[-1]}, as from generation "
            "with beams, where it is not known which beam became the sentence; record with "
            "num_beams=1, or show the output of `generate` with output_attentions=True."
        )
    return ExternalMaps([_select(part, row) for part in _number_cross_rows(maps)])


def _number_cross_rows(maps: list[AttentionMap]) -> list[AttentionMap]:
    """Give the rows of step-by-step cross maps the positions of the causal maps.

    Cross-attention of a single step does not show how far decoding is, so `record` numbers each
    step as the first.
    """
    causal = [part.rows for part in maps if part.kind == "causal" and part.layer == 0]
    cross = [part.rows for part in maps if part.kind == "cross" and part.layer == 0]
    if len(causal) < 2 or causal == cross or list(map(len, causal)) != list(map(len, cross)):
        return maps
    rows = {part.layer: iter(causal) for part in maps if part.kind == "cross"}
    return [
        replace(part, rows=next(rows[part.layer], part.rows)) if part.kind == "cross" else part
        for part in maps
    ]


def _select(layer_map: AttentionMap, row: int, num_sequences: int | None = None) -> AttentionMap:
    """One sentence of a map; generation may have returned several sequences for each sentence."""
    num_sentences = len(layer_map.weights)
    if num_sequences and num_sentences and num_sequences % num_sentences == 0:
        row //= num_sequences // num_sentences
    check_row(row, num_sentences)
    return replace(layer_map, weights=layer_map.weights[row : row + 1])


def _steps(layers: Any) -> list[Any]:
    """The layers of each generation step; a single forward pass is one step."""
    parts = [layers] if _is_tensor(layers) else list(layers)
    stepwise = parts and all(isinstance(part, (tuple, list)) for part in parts)
    return parts if stepwise else [parts]


def _layers(steps: Sequence[Any], kind: str) -> Iterator[tuple[int, AttentionMap]]:
    """The step and the map of each layer of each step, rows numbered through all steps."""
    from regard.attention import AttentionMap

    first = 0
    for number, step in enumerate(steps):
        num_rows = 0
        for layer, values in enumerate(step):
            if values is None:
                continue
            weights = _as_weights(values, layer)
            _, num_heads, num_rows, _ = weights.shape
            heads, rows = tuple(range(num_heads)), tuple(range(first, first + num_rows))
            yield number, AttentionMap(weights, kind, layer, heads, rows, f"layer {layer}")
        first += num_rows


def _as_weights(values: Any, layer: int) -> Any:
    import torch

    try:
        weights = torch.as_tensor(values).detach()
    except (TypeError, ValueError, RuntimeError):
        name = type(values).__name__
        raise TypeError(
            f"the attention of layer {layer} must be a tensor, got {name}; {ADVICE}."
        ) from None
    if weights.ndim != 4:
        raise ValueError(
            f"the attention of layer {layer} must have shape (sentences, heads, queries, keys), "
            f"got {tuple(weights.shape)}."
        )
    return weights


def _is_tensor(values: Any) -> bool:
    return hasattr(values, "shape") and hasattr(values, "ndim")


def _is_map(values: Any) -> bool:
    return hasattr(values, "kind") and hasattr(values, "weights")
