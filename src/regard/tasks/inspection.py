"""What `regard inspect` shows of texts: attention maps of any kind of model, ready to be viewed.

The maps of 4,000 tokens take 64 MB a head. So those of a long text are recorded again for each
layer when it is shown, and only the layer that was shown last stays in memory.

Shapes: H heads, R rows, C columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakSet

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.attention import AttentionMap, Edit, record
from regard.config import Run, SearchOptions
from regard.errors import InputError
from regard.tasks import KINDS
from regard.views import HeadMaps, SentenceView
from regard.views.maps.arrays import KIND_NAMES
from regard.views.maps.pieces import readable, words_of

MAX_TEXTS = 300  # on one page


@dataclass(frozen=True)
class InspectOptions:
    """How texts are read.

    settings  search of a translator or language model; the model's own by default
    prefix    beginning of a translation, as text or as the ids of its tokens
    edits     changes of the attention of a translator
    split     whether a translator reads sentence by sentence
    generate  number of tokens by which a language model continues the text
    name      name of the model on the page
    """

    settings: SearchOptions | None = None
    prefix: str | tuple[int, ...] = ""
    edits: tuple[Edit, ...] = ()
    split: bool = True
    generate: int = 0
    name: str = ""


@dataclass(frozen=True, eq=False)
class Inspection:
    """A text as a model read it.

    view   its tokens, words and attention maps
    batch  input of the network
    score  log-probability of the output, from the network's logits; None without an output
    """

    view: SentenceView
    batch: Any
    score: Callable[[Tensor], Tensor] | None


def inspect(
    model: Any, texts: Sequence[str], options: InspectOptions | None = None
) -> list[Inspection]:
    """Inspect each text with a model of any kind; with a translator, each of its sentences."""
    options = options or InspectOptions()
    if options.generate and not hasattr(model, "generate"):
        raise InputError("only a language model can continue a text; leave --generate out.")
    if options.prefix and not hasattr(model, "translate"):
        raise InputError("a prefix is how a translation begins; this model does not translate.")
    check_inspectable(model.run, model.path)
    inspect_texts = KINDS[model.run.model.kind].inspect
    assert inspect_texts is not None
    inspections: list[Inspection] = inspect_texts(model, texts, options)
    return inspections


def check_inspectable(run: Run, folder: object) -> None:
    """Check that `regard inspect` can show a model of this kind."""
    kind = KINDS[run.model.kind]
    if kind.inspect is None:
        raise InputError(
            f"{folder}: this model {kind.purpose}; it is looked at with `regard {kind.command}`."
        )


def each_text(
    inspect_text: Callable[[Any, str, InspectOptions], Inspection],
) -> Callable[[Any, Sequence[str], InspectOptions], list[Inspection]]:
    """Inspect texts one by one; errors name the number of the text if there are several."""

    def inspect_texts(
        model: Any, texts: Sequence[str], options: InspectOptions
    ) -> list[Inspection]:
        if len(texts) > MAX_TEXTS:
            raise InputError(
                f"a page holds at most {MAX_TEXTS} texts, got {len(texts):,}; choose some, or "
                "take them as one with --no-split."
            )
        inspections = []
        for number, text in enumerate(texts, start=1):
            try:
                inspections.append(inspect_text(model, text, options))
            except InputError as error:
                place = f"text {number}: " if len(texts) > 1 else ""
                raise InputError(f"{place}{error}") from None
        return inspections

    return inspect_texts


def side_by_side(
    first: Sequence[SentenceView], second: Sequence[SentenceView]
) -> list[tuple[SentenceView, SentenceView]]:
    """Two models' views of the same texts, as pairs."""
    if [view.source for view in first] != [view.source for view in second]:
        raise InputError(
            "the two models cut the text into different pieces, as they hold texts of different "
            "lengths; give shorter sentences."
        )
    return list(zip(first, second, strict=True))


def check_pair(model: Any, other: Any) -> None:
    """Check that two models can be compared: they do the same and read the same language."""
    if type(model) is not type(other):
        purposes = [KINDS[each.run.model.kind].purpose for each in (model, other)]
        raise InputError(
            f"{model.path} {purposes[0]} and {other.path} {purposes[1]}; "
            "two models of one kind can be compared."
        )
    ours, theirs = model.run.source_language, other.run.source_language
    if ours and theirs and ours != theirs:
        raise InputError(
            f"{model.path} reads {ours} and {other.path} reads {theirs}; two models that read the "
            "same language can be compared."
        )


def describe_kind(run: Run) -> str:
    """The kind of a model and its attention.

    >>> from regard.config import RnnSettings
    >>> describe_kind(Run(model=RnnSettings())), describe_kind(Run())
    ('recurrent network, bahdanau attention', 'Transformer')
    """
    known = {"full": "", "none": " without attention"}
    attention = _attention_name(run)
    suffix = known.get(attention, f", {attention} attention")
    kind = KINDS[run.model.kind]
    return (kind.title or kind.name) + suffix


def describe_model(model: Any, name: str, views: Sequence[SentenceView]) -> dict[str, str]:
    """Facts of a model for the page."""
    facts = {"model": name, "kind": describe_kind(model.run)}
    if model.run.languages:
        facts["languages"] = model.run.languages.replace("-", " → ")
    reason = without_maps(model, views)
    return {**facts, "maps": f"none: {reason}" if reason else _describe_maps(views)}


def without_maps(model: Any, views: Sequence[SentenceView]) -> str:
    """Why there are no attention maps; empty if there are some."""
    if any(view.maps for view in views):
        return ""
    if _attention_name(model.run) == "none":
        return f"this {KINDS[model.run.model.kind].title} was trained without attention"
    return "this model's attention has no weights over words"


def view_alone(
    source: RepeatedForward, tokens: tuple[str, ...], language: str, text: str
) -> SentenceView:
    """View of a text without output; the maps of a long one are recorded when they are shown."""
    if len(tokens) <= LONG:
        return SentenceView.from_text(source.maps(), tokens=tokens, language=language, text=text)
    shown = readable(tokens)
    words, groups = words_of(shown)
    both = shown, shown
    return SentenceView(
        shown,
        (),
        words,
        (),
        maps=lazy_maps(source, {"encoder": both, "decoder": both}),
        source_language=language,
        source_groups=groups,
        source_text=text,
    )


def _attention_name(run: Run) -> str:
    """Name of a model's attention: of a mechanism's settings, or of a recurrent network's."""
    attention = getattr(run.model, "attention", "full")
    return str(getattr(attention, "name", attention))


def _describe_maps(views: Sequence[SentenceView]) -> str:
    """Number of layers and heads of each kind of attention, equal ones together."""
    maps = max((view.maps for view in views), key=len)
    kinds: dict[str, list[str]] = {}
    for kind in dict.fromkeys(layer.kind for layer in maps):
        num_heads = [len(layer.heads) for layer in maps if layer.kind == kind]
        size = f"{_counted(len(num_heads), 'layer')} of {_counted(num_heads[0], 'head')}"
        kinds.setdefault(size, []).append(kind)
    return "; ".join(f"{', '.join(names)}: {size}" for size, names in kinds.items())


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


LONG = 1024
"""Tokens from which on layers are recorded one at a time."""


Weights = NDArray[np.float32]
Tokens = tuple[str, ...]


_CACHING: WeakSet[RepeatedForward] = WeakSet()


class RepeatedForward:
    """A network and a forward pass over one text, which gives the same maps each time."""

    def __init__(self, network: nn.Module, forward: Callable[[], object]) -> None:
        self.network = network
        self._forward = forward
        self._cached: tuple[tuple[str, int], Weights] | None = None

    def maps(self, rows: int | None = None) -> list[AttentionMap]:
        """Every map over tokens, whole or of one row (which tells kinds, layers and heads)."""
        with torch.no_grad(), _ignore_missing(), record(self.network, rows=rows) as recording:
            self._forward()
        return [layer_map for layer_map in recording if layer_map.over == "keys"]

    def weights(self, kind: str, layer: int) -> Weights:
        """The weights (H, R, C) of one layer; those of the layer before, of any text, are freed."""
        if self._cached is None or self._cached[0] != (kind, layer):
            for other in list(_CACHING):  # before the next ones are made
                other._cached = None
            with torch.no_grad(), record(self.network, kinds=kind, layers=layer) as recording:
                self._forward()
            self._cached = (kind, layer), recording[0].weights[0].float().cpu().numpy()
            _CACHING.add(self)
        return self._cached[1]


@contextmanager
def _ignore_missing() -> Iterator[None]:
    """Do not warn of a model whose attention has no weights to show."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "record saw")
        yield


class LazyWeights:
    """An array (H, R, C) of weights that is recorded when its values are first needed."""

    def __init__(
        self, source: RepeatedForward, kind: str, layer: int, shape: tuple[int, int, int]
    ) -> None:
        self._source, self._key = source, (kind, layer)
        self.shape, self.ndim, self.dtype = shape, len(shape), np.dtype(np.float32)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        weights = np.asarray(self._source.weights(*self._key), dtype)
        return weights.copy() if copy else weights

    def __getitem__(self, index: Any) -> Any:
        return self._source.weights(*self._key)[index]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._source.weights(*self._key), name)


def lazy_maps(
    source: RepeatedForward, axes: Mapping[str, tuple[Tokens, Tokens]]
) -> tuple[HeadMaps, ...]:
    """The maps of every layer, each recorded when it is shown.

    `axes` has the tokens of the rows and of the columns of each kind, by the page's names.
    """
    maps = []
    for layer_map in source.maps(rows=0):
        kind = KIND_NAMES.get(layer_map.kind, layer_map.kind)
        rows, columns = axes[kind]
        shape = len(layer_map.heads), len(rows), len(columns)
        weights = cast("Weights", LazyWeights(source, layer_map.kind, layer_map.layer, shape))
        maps.append(HeadMaps(kind, layer_map.layer, layer_map.heads, weights, rows, columns))
    order = ("cross", "encoder", "decoder")
    return tuple(sorted(maps, key=lambda maps: (order.index(maps.kind), maps.layer)))
