"""Attention maps of models that are not ours, as `record` would give them.

A model of transformers answers with a tensor (B, H, Q, K) for each layer, or, of a generation, with
such a tuple for each step; an encoder–decoder with three of them by name. A generation with beams
has a row for each beam, and says in `beam_indices` (B, steps) which of them each step went on from.

Shapes: B sentences, H heads, Q queries, K keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from regard.attention import AttentionMap

_KEYS = {
    "encoder_attentions": "self",
    "decoder_attentions": "causal",
    "cross_attentions": "cross",
    "attentions": "",  # of one stack: whether it is causal is read from the weights
}
ASK = (
    'ask for output_attentions=True of a model loaded with attn_implementation="eager", or take '
    "what regard.attention.record saw"
)
"""What to do where there are none."""


class Foreign(NamedTuple):
    """One sentence's maps, B = 1, and what else the answer tells.

    undecided  whether the maps' kind "self" stands for "self" or "causal", see `decided`
    says       "causal" if the answer is that of a decoder
    generated  whether the maps came step by step
    sequences  how many there are in the answer: `row` is among them; None if it does not tell
    """

    maps: list[AttentionMap]
    undecided: bool = False
    says: str = ""
    generated: bool = False
    sequences: int | None = None


def foreign_maps(maps: Any, row: int = 0) -> Foreign:
    """Maps of whatever origin, as `record` gives them, of one sentence."""
    _refuse(maps)
    named = _named(maps)
    if named is not None:
        return _answered(named, maps, row)
    listed = [maps] if _is_tensor(maps) or _is_map(maps) else list(maps)
    if listed and all(map(_is_map, listed)):
        return _recorded(listed, row)
    if not listed and hasattr(maps, "maps"):
        raise ValueError(
            "record saw no attention: a model that writes it out in matrix products, as one of "
            'transformers with attn_implementation="eager" does, cannot be recorded; load it with '
            '"sdpa", or call it with output_attentions=True and show what it answers.'
        )
    steps = _steps(listed)
    found = [replace(one, weights=_of(one.weights, row)) for one in _layers(steps, "")]
    return Foreign(found, undecided=True, generated=len(steps) > 1)


def decided(found: Foreign) -> list[AttentionMap]:
    """The maps with their kind: "causal" if no row looks beyond its own place, else "self".

    Padding must be cut away before. Of a single token nothing can be told: then it is what the
    answer says, and an encoder if it says nothing.
    """
    if not found.undecided:
        return found.maps
    ahead = any(
        bool((one.weights[:, :, place, position + 1 :] != 0).any())
        for one in found.maps
        for place, position in enumerate(one.rows)
    )
    single = all(one.weights.shape[-1] <= 1 for one in found.maps)
    causal = not ahead and (found.generated or (found.says == "causal" if single else True))
    return [replace(one, kind="causal" if causal else "self") for one in found.maps]


def _refuse(maps: Any) -> None:
    """An error for what is no maps at all."""
    if maps is None or isinstance(maps, (str, bytes, int, float)):
        came = "None" if maps is None else type(maps).__name__
        raise TypeError(f"maps must be attention maps, but {came} came; {ASK}.")
    if hasattr(maps, "state_dict") and callable(maps):
        raise TypeError(f"maps must be what a model answered, but the model came; {ASK}.")
    if hasattr(maps, "__enter__") and not hasattr(maps, "__iter__"):
        raise TypeError(
            "maps must be what was recorded, but record itself came; run the model inside "
            "`with record(model) as recording:` and show `recording`."
        )
    if not (_is_tensor(maps) or _is_map(maps) or hasattr(maps, "__iter__") or _has_names(maps)):
        raise TypeError(f"maps must be attention maps, but {type(maps).__name__} came; {ASK}.")


def _has_names(maps: Any) -> bool:
    return isinstance(maps, Mapping) or any(hasattr(maps, key) for key in _KEYS)


def _named(maps: Any) -> Mapping[str, Any] | None:
    """An output or a dict with attentions, as a mapping of those it has."""
    if not _has_names(maps):
        return None
    given = maps if isinstance(maps, Mapping) else {k: getattr(maps, k, None) for k in _KEYS}
    known = {key: given[key] for key in _KEYS if key in given and _is_there(given[key])}
    if not known:
        raise ValueError(f"there are no attentions in what the model answered; {ASK}.")
    return known


def _is_there(layers: Any) -> bool:
    """Whether there is any map: sdpa answers with None for each layer, or with none."""
    if layers is None or _is_tensor(layers):
        return layers is not None
    return any(one is not None for one in layers)


def _answered(named: Mapping[str, Any], answer: Any, row: int) -> Foreign:
    """The maps of one sentence of a model's answer."""
    sequences, beams, searched = (_field(answer, name) for name in _GENERATED)
    count = None if sequences is None else len(sequences)
    if count is not None and not 0 <= row < count:
        raise ValueError(f"row must be below {count}, the sentences there are, but {row} came.")
    found: list[AttentionMap] = []
    generated = False
    for key, kind in _KEYS.items():
        if key not in named:
            continue
        steps = _steps(named[key])
        if key == "encoder_attentions" or not isinstance(named[key][0], (tuple, list)):
            found += [replace(one, weights=_of(one.weights, row, count))
                      for one in _layers(steps, kind)]  # fmt: skip
            continue
        generated = True
        rows = len(next(one.weights for one in _layers(steps[:1], kind)))
        if beams is None and (searched is not None or count not in (None, rows)):
            raise ValueError(
                f"the maps are of {rows} beams, and nothing tells which of them became sentence "
                f"{row}; generate with output_scores=True and return_dict_in_generate=True, or "
                "with num_beams=1."
            )
        found += _followed(steps, kind, row, beams)
    name = type(answer).__name__
    decoder = "Causal" in name or "DecoderOnly" in name
    decoder = decoder or _field(answer, "past_key_values") is not None
    return Foreign(found, "attentions" in named, "causal" if decoder else "", generated, count)


_GENERATED = ("sequences", "beam_indices", "sequences_scores")


def _field(answer: Any, name: str) -> Any:
    if isinstance(answer, Mapping):
        return answer.get(name)
    return getattr(answer, name, None)


def _followed(
    steps: Sequence[Sequence[Any]], kind: str, row: int, beams: Any
) -> Iterator[AttentionMap]:
    """The maps of one sentence, each step's from the beam that it went on from."""
    if beams is None:
        for one in _layers(steps, kind):
            yield replace(one, weights=_of(one.weights, row))
        return
    origins = [int(beam) for beam in beams[row]]
    kept = [beam for beam in origins if beam >= 0][: len(steps)]  # below zero: it had ended
    numbers: dict[int, int] = {}  # of the step that each layer is at
    for one in _layers(steps[: len(kept)], kind):
        step = numbers.get(one.layer, 0)
        numbers[one.layer] = step + 1
        yield replace(one, weights=one.weights[kept[step] : kept[step] + 1])


def _recorded(maps: list[AttentionMap], row: int) -> Foreign:
    sizes = sorted({len(one.weights) for one in maps})
    if len(sizes) > 1:
        raise ValueError(
            f"some maps are of {sizes[0]} and some of {sizes[-1]} sentences, as of a generation "
            "with beams, and nothing tells which beam became the sentence; record one with "
            "num_beams=1, or show what `generate` answers with output_attentions=True."
        )
    return Foreign([replace(one, weights=_of(one.weights, row)) for one in _in_turn(maps)])


def _in_turn(maps: list[AttentionMap]) -> list[AttentionMap]:
    """Maps whose rows between two texts are numbered as those within the target are.

    Where a foreign decoder goes step by step, only its own keys tell how far it is: each step's
    look at the source is seen as the first. They came one after the other.
    """
    own = [one.rows for one in maps if one.kind == "causal" and one.layer == 0]
    steps = [one.rows for one in maps if one.kind == "cross" and one.layer == 0]
    if len(own) < 2 or own == steps or list(map(len, own)) != list(map(len, steps)):
        return maps
    left = {one.layer: iter(own) for one in maps if one.kind == "cross"}
    return [replace(one, rows=next(left[one.layer], one.rows)) if one.kind == "cross" else one
            for one in maps]  # fmt: skip


def _of(weights_BHQK: Any, row: int, sequences: int | None = None) -> Any:
    """One sentence's weights; several sequences may have been written for each sentence."""
    sentences = len(weights_BHQK)
    if sequences and sentences and sequences % sentences == 0:
        row, sequences = row // (sequences // sentences), None
    if not 0 <= row < sentences:
        raise ValueError(f"row must be below {sentences}, the sentences there are, but {row} came.")
    return weights_BHQK[row : row + 1]


def _steps(layers: Any) -> list[Any]:
    """Each step's layers; a single pass is one step."""
    listed = [layers] if _is_tensor(layers) else list(layers)
    stepwise = listed and all(isinstance(one, (tuple, list)) for one in listed)
    return listed if stepwise else [listed]


def _layers(steps: Sequence[Any], kind: str) -> Iterator[AttentionMap]:
    """One map for each layer of each step, its rows behind those of the steps before."""
    done = 0
    for step in steps:
        rows = 0
        for layer, weights in enumerate(step):
            if weights is None:
                continue
            found = _weights(weights, layer)
            rows = found.shape[2]
            yield _map(found, kind or "self", layer, done)
        done += rows


def _map(weights: Any, kind: str, layer: int, first: int) -> AttentionMap:
    from regard.attention import AttentionMap

    rows = tuple(range(first, first + weights.shape[2]))
    return AttentionMap(
        weights, kind, layer, tuple(range(weights.shape[1])), rows, f"layer {layer}"
    )


def _weights(given: Any, layer: int) -> Any:
    import torch

    try:
        found = torch.as_tensor(given).detach()
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(
            f"the attention of layer {layer} must be a tensor, but {type(given).__name__} came; "
            f"{ASK}."
        ) from None
    if found.ndim != 4:
        raise ValueError(
            f"the attention of layer {layer} must be of shape (sentences, heads, queries, keys), "
            f"but {tuple(found.shape)} came."
        )
    return found


def _is_tensor(given: Any) -> bool:
    return hasattr(given, "shape") and hasattr(given, "ndim")


def _is_map(given: Any) -> bool:
    return hasattr(given, "kind") and hasattr(given, "weights")
