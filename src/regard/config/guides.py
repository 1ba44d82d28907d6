"""Which heads are trained to attend along links, and which links these are.

training.guided_alignment=LINKS              a head of cross-attention, read as the word alignment
training.guide=ATTENTION:LAYER:HEAD=LINKS    any head; several with commas between

LINKS are a file (Pharaoh, `0-0 1-2`, a line for each pair), a name for the files that
`regard corpus write` puts beside its corpus (grammar, antecedents, modifiers), and for
cross-attention also `auto` (a statistical aligner) or the folder of a model that aligns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from regard.errors import InputError

GUIDED_HEAD = 0
"""The head of cross-attention that `guided_alignment` trains."""
AUTO = "auto"
WRITTEN = {"grammar": ".align", "antecedents": ".antecedents", "modifiers": ".modifiers"}
"""Links that `regard corpus write` writes, and the suffix of their files."""
FULL = ("full", "blockwise")
"""Self-attention that has a weight for every key."""

_GUIDE = re.compile(r"(encoder|decoder|cross):(\d+):(\d+)=(.+)")


@dataclass(frozen=True)
class Guide:
    """A head, layers and heads counted from 0, and the links that it learns to attend along."""

    attention: Literal["encoder", "decoder", "cross"]
    layer: int
    head: int
    links: str

    @property
    def name(self) -> str:
        """The guide as it is written."""
        return f"{self.attention}:{self.layer}:{self.head}={self.links}"


def guides_of(model: Any, training: Any) -> tuple[Guide, ...]:
    """Return the guides of a run, that of the alignment first; a wrong one is an error."""
    guides = list(map(_parsed, (training.guide or "").split(","))) if training.guide else []
    alignment = alignment_guide(model, training)
    guides = [alignment, *guides] if alignment else guides
    if guides and getattr(model, "kind", "") != "transformer":
        raise InputError(
            "training.guided_alignment and training.guide are for --model.kind transformer, "
            f"got {model.kind}; leave them out."
        )
    for guide in guides:
        _check(guide, model)
    heads = [(guide.attention, guide.layer, guide.head) for guide in guides]
    for guide, head in zip(guides, heads, strict=True):
        if heads.count(head) > 1:
            raise InputError(
                f"training.guide: {guide.name.partition('=')[0]} is guided twice (a head of "
                "training.guided_alignment is one of them); choose another head."
            )
    return tuple(guides)


def alignment_guide(model: Any, training: Any) -> Guide | None:
    """Return the guide of the head that is read as the alignment, if there is one."""
    if not training.guided_alignment:
        if training.guided_layer is not None:
            raise InputError(
                "training.guided_layer is for training.guided_alignment, which is not given; "
                "give both, or neither."
            )
        return None
    layer, num_layers = training.guided_layer, getattr(model, "num_decoder_layers", 1)
    if layer is None:
        layer = max(num_layers // 2, num_layers - 2)
    return Guide("cross", layer, GUIDED_HEAD, training.guided_alignment)


def _parsed(text: str) -> Guide:
    match = _GUIDE.fullmatch(text.strip())
    if not match:
        raise InputError(
            "training.guide must be ATTENTION:LAYER:HEAD=LINKS with encoder, decoder or cross, as "
            f"in encoder:1:0=antecedents, got {text.strip()!r}."
        )
    return Guide(cast(Any, match[1]), int(match[2]), int(match[3]), match[4])


def _check(guide: Guide, model: Any) -> None:
    """Raise an error if the model has no such head, or one without plain weights."""
    encodes = guide.attention == "encoder"
    num_layers = model.num_encoder_layers if encodes else model.num_decoder_layers
    limits: Mapping[str, tuple[int, int]] = {
        "layer": (guide.layer, num_layers),
        "head": (guide.head, model.num_heads),
    }
    for what, (number, count) in limits.items():
        if number >= count:
            raise InputError(
                f"training.guide {guide.name}: {what}s are counted from 0 to {count - 1}, "
                f"got {number}."
            )
    same = encodes or model.decoder_attention == "same"
    mechanism = model.attention if same else model.decoder_attention
    if guide.attention != "cross" and mechanism.name not in FULL:
        raise InputError(
            f"training.guide {guide.name}: only full attention is guided, got {mechanism.name}; "
            "guide another head."
        )
    if "ring" in (model.attention.name, getattr(model.decoder_attention, "name", "")):
        raise InputError(
            "training.guided_alignment and training.guide do not go with ring attention, whose "
            "processes hold parts of a sentence; leave them out."
        )
    if model.normalizer != "softmax":
        raise InputError(
            f"training.guide {guide.name}: weights of zero cannot be learned from, so "
            f"model.normalizer must be softmax, got {model.normalizer}."
        )
    if guide.links == AUTO and guide.attention != "cross":
        raise InputError(
            f"training.guide {guide.name}: auto aligns source and target, for cross-attention; "
            "give a file of links."
        )
