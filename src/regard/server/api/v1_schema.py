"""What goes in and out of the API that shows a model's inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, FiniteFloat, NonNegativeInt

from regard.attention import AttentionMap
from regard.config import TransformerSettings
from regard.server.api.requests import MOST_ALTERNATIVES, BegunAsked, TextAsked
from regard.server.api.responses import Detected
from regard.server.http.errors import RefusalError
from regard.server.queue.batching import Answer
from regard.translator import Sentence, Translator

MOST_WEIGHTS = 1_000_000  # numbers in one answer
FAR_TOO_MANY = 50_000_000  # expected of a text: its maps are not even computed
Kind = Literal["self", "causal", "cross"]
Numbers = Annotated[list[NonNegativeInt], Field(min_length=1, max_length=1000)]
Row = Annotated[list[FiniteFloat], Field(min_length=1, max_length=5000)]


class Chosen(BaseModel):
    """Maps to be given: of a kind, a layer, some heads; what is not said is all."""

    kind: Kind | None = None
    layer: NonNegativeInt | None = None
    heads: Numbers | None = None

    def means(self, one: AttentionMap, head: int) -> bool:
        """Whether a map's head is chosen."""
        return (
            self.kind in (None, one.kind)
            and self.layer in (None, one.layer)
            and (self.heads is None or head in self.heads)
        )


class LookAsked(BegunAsked):
    """A text to translate, and what to tell of it."""

    alternatives: int = Field(0, ge=0, le=MOST_ALTERNATIVES)
    maps: list[Chosen] = Field(default_factory=list, max_length=100)


class SwitchedOff(BaseModel):
    """Heads whose output is scaled; the maps stay as they are."""

    type: Literal["switch_off"]
    kind: Kind | None = None
    layer: Numbers | None = None
    heads: Numbers | None = None
    scale: FiniteFloat = 0.0


class Overwritten(BaseModel):
    """Rows of weights that are replaced.

    One number for each source token, </s> included; in a decoder's own attention (causal) one for
    each token that it has read by then, the start first.
    """

    type: Literal["overwrite"]
    kind: Kind = "cross"
    layer: Numbers | None = None
    heads: Numbers | None = None
    rows: Numbers
    weights: Row | Annotated[list[Row], Field(max_length=1000)]
    renormalize: bool = True


Change = Annotated[SwitchedOff | Overwritten, Field(discriminator="type")]


class InterveneAsked(LookAsked):
    """A sentence to translate with other attention."""

    edits: list[Change] = Field(max_length=100)


class ViewAsked(BegunAsked):
    """A text to translate and to look at, perhaps with other attention."""

    maps: bool = Field(True, description="Whether the attention maps are given as well.")
    edits: list[Change] = Field(default_factory=list, max_length=100)


class AlternativesAsked(TextAsked):
    """A place in a translation where something else could stand."""

    translation: str = Field(min_length=1)
    word: NonNegativeInt = Field(description="Number of the translation's word, from 0.")
    count: int = Field(5, ge=1, le=20)

    @property
    def besides(self) -> str:
        return self.translation


class ModelSeen(BaseModel):
    """A model that is served."""

    name: str
    kind: str
    source: str
    target: str


class MapSeen(BaseModel):
    """One head's weights: a row for each query, a column for each key."""

    kind: str
    layer: int
    head: int
    weights: list[list[float]]


class Scored(BaseModel):
    """A text and its score or probability."""

    text: str
    score: float


class SentenceSeen(BaseModel):
    """One sentence; `alignment` links source words to words, `confidence` is of each word."""

    source: str
    text: str
    score: float
    source_tokens: list[str]
    tokens: list[str]
    source_words: list[str]
    words: list[str]
    alignment: list[tuple[int, int]]
    confidence: list[float]
    alternatives: list[Scored]
    finished: bool
    maps: list[MapSeen]


class Seen(BaseModel):
    """A translation and what explains it."""

    text: str
    model: str
    source: str
    target: str
    detectedLanguage: Detected | None = None
    alternatives: list[str]
    sentences: list[SentenceSeen]
    unused: int | None = Field(default=None, description="Edits that met no attention.")


class ViewSeen(BaseModel):
    """A translation as the browser's view shows it."""

    text: str
    model: str
    source: str
    target: str
    detectedLanguage: Detected | None = None
    sentences: list[dict[str, Any]] = Field(
        description="One object for each sentence: what `regard.view` of /page/view.js takes, and "
        "its source, whether it is finished, and how many characters the prefix makes."
    )
    maps: Literal["all", "cross", "none"] = Field(description="Fewer where a text is very long.")
    unused: int | None = Field(default=None, description="Edits that met no attention.")
    seconds: float = Field(description="From the question to the translation.")


def expected_weights(translator: Translator, text: str) -> int:
    """About how many weights all maps of a text have, if its translation is as long as it is."""
    model = translator.run.model
    length = len(translator.tokenizers.source.encode(text)) + 1
    at_once = min(length, translator.network.max_length)
    if not isinstance(model, TransformerSettings):
        return length * at_once
    return model.heads * (model.encoder_layers + 2 * model.decoder_layers) * length * at_once


def sentences_seen(answer: Answer, chosen: Sequence[Chosen]) -> list[SentenceSeen]:
    """What is told of an answer's sentences."""
    sentences = answer.translation.sentences
    size = sum(
        one.weights[0, 0].numel()
        for sentence in sentences
        for one, _, _ in _chosen(sentence, chosen)
    )
    if size > MOST_WEIGHTS:
        raise RefusalError(400, f"the maps have {size} weights; choose fewer, or send less text.")
    return [_sentence(one, chosen) for one in sentences]


def _sentence(sentence: Sentence, chosen: Sequence[Chosen]) -> SentenceSeen:
    maps = [
        MapSeen(
            kind=one.kind,
            layer=one.layer,
            head=head,
            weights=one.weights[0, place].double().cpu().numpy().round(5).tolist(),
        )
        for one, place, head in _chosen(sentence, chosen)
    ]
    return SentenceSeen(
        source=sentence.source,
        text=sentence.text,
        score=sentence.score,
        source_tokens=list(sentence.source_tokens),
        tokens=list(sentence.tokens),
        source_words=list(sentence.source_words),
        words=list(sentence.words),
        alignment=list(sentence.alignment),
        confidence=[round(share, 4) for share in sentence.confidence],
        alternatives=[Scored(text=text, score=score) for text, score in sentence.alternatives],
        finished=sentence.finished,
        maps=maps,
    )


def _chosen(sentence: Sentence, chosen: Sequence[Chosen]) -> list[tuple[AttentionMap, int, int]]:
    """Maps, with the place and the number of each chosen head."""
    return [
        (one, place, head)
        for one in sentence.attention
        for place, head in enumerate(one.heads)
        if any(wish.means(one, head) for wish in chosen)
    ]
