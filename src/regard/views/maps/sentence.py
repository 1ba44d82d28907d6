"""What there is to see of one text: its words, their links, and every head's map.

Three axes carry tokens: "source", "target" (what the decoder wrote) and "inputs" (what the decoder
read: the start, then the target without its last token). A text alone, as an encoder or a language
model reads it, has "source" only.

Shapes: weights_HRC: H heads, R rows (who looks), C columns (what is looked at).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from regard.views.maps.pieces import plain, readable, words_of, written
from regard.views.maps.spelling import Groups, spelled, word_groups

if TYPE_CHECKING:
    from regard.attention import AttentionMap

Link = tuple[int, int]
Tokens = tuple[str, ...]

AXES = {"cross": ("target", "source"), "encoder": ("source", "source"), "decoder": ("inputs",) * 2}
"""The kinds of maps of a translation, each with the axis of its rows and that of its columns."""

_KIND_OF = {"self": "encoder", "causal": "decoder", "cross": "cross"}


class Axis(NamedTuple):
    """Tokens along one side of a map, and for each word of that side the tokens that spell it."""

    tokens: tuple[str, ...]
    groups: Groups


@dataclass(frozen=True, eq=False)
class HeadMaps:
    """All heads of one layer.

    kind     "cross", "encoder" or "decoder"
    heads    the heads' numbers
    weights  (heads, rows, columns)
    rows     the tokens that look
    columns  the tokens that are looked at
    """

    kind: str
    layer: int
    heads: tuple[int, ...]
    weights: NDArray[np.float32]
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.kind not in AXES:
            raise ValueError(f"kind must be one of {', '.join(AXES)}, but {self.kind!r} came.")
        expected = len(self.heads), len(self.rows), len(self.columns)
        if self.weights.shape != expected:
            raise ValueError(f"weights must be of shape {expected}, not {self.weights.shape}.")

    def plane(self, head: int | None = None) -> NDArray[np.float32]:
        """The map (rows, columns) of the head of that number, or the mean of all heads."""
        if head is None:
            return np.asarray(self.weights.mean(axis=0), np.float32)
        return np.asarray(self.weights[self.heads.index(head)], np.float32)


@dataclass(frozen=True, eq=False)
class Viewed:
    """One translated sentence, or a text alone (no target), and what is to be shown of it.

    source_tokens, target_tokens  readable pieces with </s>; ▁ stands for a space
    links          (source word, target word)
    maps           one for each kind and layer
    aligned_by     layer and head of the cross map that the links were read from
    confidence     of each target word, from 0 to 1, NaN of one that was not written; of a text
                   alone: of each of its words
    source_groups, target_groups  for each word its tokens; found by spelling unless given
    source_text, target_text      as people write it; the tokens joined unless given
    start          what the decoder reads before its first word
    wrote          what the target is: a "translation", or the "label" of a classifier
    """

    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    links: tuple[Link, ...] = ()
    maps: tuple[HeadMaps, ...] = ()
    aligned_by: tuple[int, int] | None = None
    confidence: tuple[float, ...] | None = None
    reference: str | None = None
    title: str = ""
    model: str = ""
    source_language: str = ""
    target_language: str = ""
    source_groups: Groups | None = None
    target_groups: Groups | None = None
    source_text: str = ""
    target_text: str = ""
    start: str = "<s>"
    wrote: Literal["translation", "label"] = "translation"

    def __post_init__(self) -> None:
        num_src, num_tgt = len(self.source_words), len(self.target_words)
        for source, target in self.links:
            if not (0 <= source < num_src and 0 <= target < num_tgt):
                raise ValueError(
                    f"The link ({source}, {target}) leaves {num_src} source and {num_tgt} "
                    "target words."
                )
        num_written = num_src if self.is_alone else num_tgt
        if self.confidence is not None and len(self.confidence) != num_written:
            raise ValueError(
                f"confidence has {len(self.confidence)} values for {num_written} words."
            )
        for side, words, groups in (
            ("source", self.source_words, self.source_groups),
            ("target", self.target_words, self.target_groups),
        ):
            if groups is not None and len(groups) != len(words):
                raise ValueError(f"{side}_groups has {len(groups)} for {len(words)} words.")
        for one in self.maps:
            rows, columns = (self._length(name) for name in self.axes_of(one.kind))
            if one.weights.shape[1:] != (rows, columns):
                raise ValueError(
                    f"The {one.kind} map of layer {one.layer} is {one.weights.shape[1:]}, "
                    f"but the sentence has {(rows, columns)} tokens."
                )

    @classmethod
    def from_maps(
        cls,
        maps: Iterable[AttentionMap],
        row: int = 0,
        *,
        source_tokens: Sequence[str],
        target_tokens: Sequence[str],
        start: str = "<s>",
        **shown: Any,
    ) -> Self:
        """The sentence in one row of a batch; `shown` are the other fields.

        Padding (behind the tokens) is cut away. Maps may come whole, as from training, or row by
        row, as from decoding step by step.
        """
        source, target = tuple(source_tokens), tuple(target_tokens)
        tokens = {"source": source, "target": target, "inputs": (start, *target[:-1])}
        axes = {kind: (tokens[rows], tokens[columns]) for kind, (rows, columns) in AXES.items()}
        return cls(source, target, maps=_gathered(maps, row, axes), start=start, **shown)

    @classmethod
    def alone(
        cls,
        maps: Iterable[AttentionMap],
        row: int = 0,
        *,
        tokens: Sequence[str],
        words: Sequence[str] | None = None,
        language: str = "",
        model: str = "",
        title: str = "",
        text: str = "",
    ) -> Self:
        """A text that an encoder or a language model read: the row of a batch, without padding.

        Tokens may carry the marks of any tokeniser (▁, Ġ, ##, bytes); words are found by them
        unless given.
        """
        shown = readable(tokens)
        if words is None:
            words, groups = words_of(shown)
        else:
            groups = word_groups(plain(shown), words)
        axes = {"encoder": (shown, shown), "decoder": (shown, shown)}
        return cls(
            shown,
            (),
            tuple(words),
            (),
            maps=_gathered(maps, row, axes),
            title=title,
            model=model,
            source_language=language,
            source_groups=groups,
            source_text=text or written(words),
        )

    @property
    def is_alone(self) -> bool:
        """Whether this is a text alone, without a translation."""
        return not self.target_tokens

    def axes_of(self, kind: str) -> tuple[str, str]:
        """The axis of the rows and that of the columns of a kind of map."""
        rows, columns = AXES[kind]
        return ("source", "source") if self.is_alone and kind != "cross" else (rows, columns)

    @property
    def source(self) -> str:
        """The source as people write it."""
        return self.source_text or spelled(self.source_tokens)

    @property
    def translation(self) -> str:
        """The translation as people write it."""
        return self.target_text or spelled(self.target_tokens)

    def axis(self, name: str) -> Axis:
        """The tokens and words of the axis "source", "target" or "inputs"."""
        if name == "source":
            found = self.source_groups or word_groups(self.source_tokens, self.source_words)
            return Axis(self.source_tokens, found)
        groups = self.target_groups or word_groups(self.target_tokens, self.target_words)
        if name == "target":
            return Axis(self.target_tokens, groups)
        tokens = (self.start, *self.target_tokens[:-1])  # each token is read one step after
        later = (tuple(t + 1 for t in group if t + 1 < len(tokens)) for group in groups)
        return Axis(tokens, tuple(later))

    def _length(self, name: str) -> int:
        return len(self.source_tokens if name == "source" else self.target_tokens)

    def find(self, kind: str, layer: int) -> HeadMaps | None:
        """The heads of one kind and layer; layer -1 is the last one there is."""
        of_kind = [one for one in self.maps if one.kind == kind]
        if layer < 0:
            return of_kind[layer] if len(of_kind) >= -layer else None
        return next((one for one in of_kind if one.layer == layer), None)

    def alignment_weights(self) -> NDArray[np.float32] | None:
        """Weights (target words, source words) of the head that the links were read from.

        Without such a head: the mean of the last layer's heads. None without a cross map.
        """
        layer, head = self.aligned_by or (-1, None)
        maps = self.find("cross", layer)
        if maps is None:
            return None
        return word_weights(maps.plane(head), self.axis("target"), self.axis("source"))


def word_weights(plane: NDArray[np.float32], rows: Axis, columns: Axis) -> NDArray[np.float32]:
    """Weights between words (R words, C words) of weights between tokens (rows, columns).

    A word looks as its tokens do on average, and is looked at as much as its tokens together; a
    token that spells several words shares its weight among them.
    """
    share = np.zeros(plane.shape[1], np.float32)
    for group in columns.groups:
        share[list(group)] += 1
    gather = np.zeros((plane.shape[1], len(columns.groups)), np.float32)
    for word, group in enumerate(columns.groups):
        gather[list(group), word] = 1 / share[list(group)]
    mean = np.zeros((len(rows.groups), plane.shape[0]), np.float32)
    for word, group in enumerate(rows.groups):
        mean[word, list(group)] = 1 / max(len(group), 1)
    return np.asarray(mean @ plane @ gather, np.float32)


def _gathered(
    maps: Iterable[AttentionMap], row: int, axes: dict[str, tuple[Tokens, Tokens]]
) -> tuple[HeadMaps, ...]:
    """Maps by kind and layer; `axes` has the tokens of rows and columns of every kind there is."""
    pieces: dict[tuple[str, int], list[AttentionMap]] = {}
    for one in maps:
        kind = _KIND_OF.get(one.kind)
        if kind not in axes:
            raise ValueError(f"A map of kind {one.kind!r} has no place here; drop it from maps.")
        pieces.setdefault((kind, one.layer), []).append(one)
    order = list(AXES)
    return tuple(
        _joined(kind, layer, pieces[kind, layer], row, *axes[kind])
        for kind, layer in sorted(pieces, key=lambda key: (order.index(key[0]), key[1]))
    )


def _joined(
    kind: str, layer: int, pieces: list[AttentionMap], row: int, rows: Tokens, columns: Tokens
) -> HeadMaps:
    """The rows of one layer's maps, put in their places, without padding."""
    heads = pieces[0].heads
    weights_HRC = np.zeros((len(heads), len(rows), len(columns)), np.float32)
    seen: set[int] = set()
    for piece in pieces:
        if piece.heads != heads:
            raise ValueError(f"The {kind} maps of layer {layer} are of different heads.")
        found_HrK = piece.weights[row].detach().float().cpu().numpy()
        width = min(found_HrK.shape[-1], len(columns))
        if kind != "decoder" and width < len(columns):  # a decoder's step sees the words so far
            raise ValueError(
                f"The {kind} map of layer {layer} has {width} columns for {len(columns)} tokens."
            )
        for place, position in enumerate(piece.rows):
            if position >= len(rows):
                continue
            if position in seen:
                raise ValueError(
                    f"Row {position} of the {kind} maps of layer {layer} came twice; take the "
                    "maps of one sentence's decoding at a time."
                )
            seen.add(position)
            weights_HRC[:, position, :width] = found_HrK[:, place, :width]
    if len(seen) < len(rows):
        missing = min(set(range(len(rows))) - seen)
        raise ValueError(f"Row {missing} of the {kind} maps of layer {layer} is missing.")
    return HeadMaps(kind, layer, heads, weights_HRC, rows, columns)
