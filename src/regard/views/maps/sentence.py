"""One text with its attention: tokens, words, word links, and the maps of every layer.

Tokens lie on three axes: "source", "target" (the decoder's output) and "inputs" (the decoder's
input: the start token, then the target without its last token). A single text, as an encoder or a
language model reads it, has "source" only.

Shapes: H heads, R rows (queries), C columns (keys).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from regard.views.maps.arrays import KIND_NAMES, check_links, join_rows
from regard.views.maps.pieces import group_words, join_words, readable
from regard.views.maps.token_groups import Groups, join_tokens, word_groups

if TYPE_CHECKING:
    from regard.attention import AttentionMap

Tokens = tuple[str, ...]

AXES = {"cross": ("target", "source"), "encoder": ("source", "source"), "decoder": ("inputs",) * 2}
"""The kinds of maps of a translation, each with the axis of its rows and that of its columns."""


class Axis(NamedTuple):
    """Tokens along one side of a map, and for each word of that side the tokens that spell it."""

    tokens: Tokens
    groups: Groups


@dataclass(frozen=True, eq=False)
class HeadMaps:
    """All heads of one layer.

    kind     "cross", "encoder" or "decoder"
    heads    the heads' numbers
    weights  (H, R, C)
    rows     the tokens of the queries
    columns  the tokens of the keys
    """

    kind: str
    layer: int
    heads: tuple[int, ...]
    weights: NDArray[np.float32]
    rows: Tokens
    columns: Tokens

    def __post_init__(self) -> None:
        if self.kind not in AXES:
            raise ValueError(f"kind must be one of {', '.join(AXES)}, got {self.kind!r}.")
        expected = len(self.heads), len(self.rows), len(self.columns)
        if self.weights.shape != expected:
            raise ValueError(f"weights must have shape {expected}, got {self.weights.shape}.")

    def matrix(self, head: int | None = None) -> NDArray[np.float32]:
        """The weights (R, C) of the head of that number, or the mean of all heads."""
        if head is None:
            return np.asarray(self.weights.mean(axis=0), np.float32)
        return np.asarray(self.weights[self.heads.index(head)], np.float32)


@dataclass(frozen=True, eq=False)
class SentenceView:
    """One translated sentence, or a single text (no target), with everything to show of it.

    source_tokens, target_tokens  readable pieces with </s>; ▁ stands for a space
    links           (source word, target word)
    maps            one for each kind and layer
    alignment_head  layer and head of the cross map that the links were extracted from
    confidence      of each target word from 0 to 1, NaN for a word the model did not write; of a
                    single text, of each of its words
    source_groups, target_groups  for each word its tokens; found by spelling by default
    source_text, target_text      detokenized text; the tokens joined by default
    start_token     the decoder's first input
    target_kind     what the target is: a "translation", or the "label" of a classifier
    """

    source_tokens: Tokens
    target_tokens: Tokens
    source_words: Tokens
    target_words: Tokens
    links: tuple[tuple[int, int], ...] = ()
    maps: tuple[HeadMaps, ...] = ()
    alignment_head: tuple[int, int] | None = None
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
    start_token: str = "<s>"
    target_kind: Literal["translation", "label"] = "translation"

    def __post_init__(self) -> None:
        num_src, num_tgt = len(self.source_words), len(self.target_words)
        check_links(self.links, num_src, num_tgt)
        for name, values, num_words in (
            ("confidence", self.confidence, num_tgt if self.has_target else num_src),
            ("source_groups", self.source_groups, num_src),
            ("target_groups", self.target_groups, num_tgt),
        ):
            if values is not None and len(values) != num_words:
                raise ValueError(f"{name} must have {num_words} values, got {len(values)}.")
        for maps in self.maps:
            shape = tuple(
                len(self.source_tokens if axis == "source" else self.target_tokens)
                for axis in self.axes_of(maps.kind)
            )
            if maps.weights.shape[1:] != shape:
                raise ValueError(
                    f"the {maps.kind} map of layer {maps.layer} must have shape {shape}, one row "
                    f"and column per token, got {maps.weights.shape[1:]}."
                )

    @classmethod
    def from_maps(
        cls,
        maps: Iterable[AttentionMap],
        row: int = 0,
        *,
        source_tokens: Sequence[str],
        target_tokens: Sequence[str],
        start_token: str = "<s>",
        **fields: Any,
    ) -> Self:
        """Build the view of one sentence of a recorded batch; `fields` are the other fields.

        Padding behind the tokens is cut off. Maps may be whole, as from a training pass, or row by
        row, as from decoding step by step.
        """
        source, target = tuple(source_tokens), tuple(target_tokens)
        tokens = {"source": source, "target": target, "inputs": (start_token, *target[:-1])}
        axes = {kind: (tokens[rows], tokens[columns]) for kind, (rows, columns) in AXES.items()}
        joined = _join_layers(maps, row, axes)
        return cls(source, target, maps=joined, start_token=start_token, **fields)

    @classmethod
    def from_text(
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
        """Build the view of a single text that an encoder or a language model read.

        Tokens may carry the marks of any tokenizer (▁, Ġ, ##, bytes); words are grouped by them
        unless given.
        """
        tokens = readable(tokens)
        words, groups = group_words(tokens, words)
        axes = {"encoder": (tokens, tokens), "decoder": (tokens, tokens)}
        return cls(
            tokens,
            (),
            words,
            (),
            maps=_join_layers(maps, row, axes),
            title=title,
            model=model,
            source_language=language,
            source_groups=groups,
            source_text=text or join_words(words),
        )

    @property
    def has_target(self) -> bool:
        """Whether there is a translation or a label, not only a single text."""
        return bool(self.target_tokens)

    def axes_of(self, kind: str) -> tuple[str, str]:
        """The axis of the rows and that of the columns of a kind of map."""
        rows, columns = AXES[kind]
        return (rows, columns) if self.has_target or kind == "cross" else ("source", "source")

    @property
    def source(self) -> str:
        """The source as detokenized text."""
        return self.source_text or join_tokens(self.source_tokens)

    @property
    def translation(self) -> str:
        """The translation as detokenized text."""
        return self.target_text or join_tokens(self.target_tokens)

    def axis(self, name: str) -> Axis:
        """The tokens and words of the axis "source", "target" or "inputs"."""
        if name == "source":
            groups = self.source_groups or word_groups(self.source_tokens, self.source_words)
            return Axis(self.source_tokens, groups)
        groups = self.target_groups or word_groups(self.target_tokens, self.target_words)
        if name == "target":
            return Axis(self.target_tokens, groups)
        tokens = (self.start_token, *self.target_tokens[:-1])  # shifted right by one
        shifted = (tuple(t + 1 for t in group if t + 1 < len(tokens)) for group in groups)
        return Axis(tokens, tuple(shifted))

    def find(self, kind: str, layer: int) -> HeadMaps | None:
        """The heads of one kind and layer; layer -1 is the last one present."""
        of_kind = [maps for maps in self.maps if maps.kind == kind]
        if layer < 0:
            return of_kind[layer] if len(of_kind) >= -layer else None
        return next((maps for maps in of_kind if maps.layer == layer), None)

    def alignment_weights(self) -> NDArray[np.float32] | None:
        """Weights (target words, source words) of the head that the links were extracted from.

        Without such a head: the mean of the last layer's heads. None without a cross map.
        """
        layer, head = self.alignment_head or (-1, None)
        maps = self.find("cross", layer)
        if maps is None:
            return None
        return word_weights(maps.matrix(head), self.axis("target"), self.axis("source"))


def word_weights(matrix: NDArray[np.float32], rows: Axis, columns: Axis) -> NDArray[np.float32]:
    """Word-to-word weights (row words, column words) from token weights (R, C).

    The mean over the tokens of a row word and the sum over those of a column word; a token that
    spells several words splits its weight among them.
    """
    num_words = np.zeros(matrix.shape[1], np.float32)  # that each column token spells
    for group in columns.groups:
        num_words[list(group)] += 1
    sums = np.zeros((matrix.shape[1], len(columns.groups)), np.float32)
    for word, group in enumerate(columns.groups):
        sums[list(group), word] = 1 / num_words[list(group)]
    means = np.zeros((len(rows.groups), matrix.shape[0]), np.float32)
    for word, group in enumerate(rows.groups):
        means[word, list(group)] = 1 / max(len(group), 1)
    return np.asarray(means @ matrix @ sums, np.float32)


def _join_layers(
    maps: Iterable[AttentionMap], row: int, axes: dict[str, tuple[Tokens, Tokens]]
) -> tuple[HeadMaps, ...]:
    """Join maps by kind and layer; `axes` has the row and column tokens of every allowed kind."""
    parts: dict[tuple[str, int], list[AttentionMap]] = {}
    for part in maps:
        kind = KIND_NAMES.get(part.kind, part.kind)
        if kind not in axes:
            raise ValueError(f"maps must be of kind {' or '.join(axes)}, got kind {part.kind!r}.")
        parts.setdefault((kind, part.layer), []).append(part)
    order = list(AXES)
    return tuple(
        _join_layer(kind, layer, parts[kind, layer], row, *axes[kind])
        for kind, layer in sorted(parts, key=lambda key: (order.index(key[0]), key[1]))
    )


def _join_layer(
    kind: str, layer: int, parts: list[AttentionMap], row: int, rows: Tokens, columns: Tokens
) -> HeadMaps:
    """Join the rows of one layer's maps, without padding."""
    weights_HRC, positions = join_rows(parts, row, single=True)
    missing = set(range(len(rows))) - set(positions.tolist())
    if missing:
        raise ValueError(f"row {min(missing)} of the {kind} maps of layer {layer} is missing.")
    width = weights_HRC.shape[-1]
    if width < len(columns) and kind != "decoder":  # a decoding step has the columns so far
        raise ValueError(
            f"the {kind} map of layer {layer} must have {len(columns)} columns, one per token, "
            f"got {width}."
        )
    weights = np.zeros((len(weights_HRC), len(rows), len(columns)), np.float32)
    weights[..., :width] = weights_HRC[:, : len(rows), : len(columns)]
    return HeadMaps(kind, layer, parts[0].heads, weights, rows, columns)
