"""How texts are translated: the search, and what is returned with the translation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from regard.attention import Edit
from regard.config import SearchOptions


class SearchKeywords(TypedDict, total=False):
    """Settings of the search that replace the model's own; see `SearchOptions`."""

    beam: int
    length_penalty: float
    n_best: int
    max_length: int | None
    sample: bool
    temperature: float
    top_k: int
    top_p: float
    seed: int
    batch_tokens: int


class TranslateKeywords(SearchKeywords, total=False):
    """What `Translator.translate` takes besides the text; see `TranslateOptions`."""

    settings: SearchOptions | None
    prefix: str
    split: bool
    alignment: bool
    attention: bool
    edits: Sequence[Edit]


@dataclass(frozen=True)
class TranslateOptions:
    """How texts are translated; segments of equal options can share a batch.

    settings   the search
    prefix     text that the translation of a single sentence begins with
    split      whether a text is cut into sentences; what exceeds the model's input always is
    alignment  whether words, their links and their confidence are returned
    attention  whether the attention maps of all layers and heads are returned
    edits      changes of the attention (`regard.attention.intervene`)
    """

    settings: SearchOptions
    prefix: str = ""
    split: bool = True
    alignment: bool = True
    attention: bool = False
    edits: tuple[Edit, ...] = ()
