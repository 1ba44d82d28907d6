"""Requests and responses of the API that explains translations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, FiniteFloat, NonNegativeInt

from regard.attention import AttentionMap, Edit, Overwrite, SwitchOff
from regard.config import ModelSettings, TransformerSettings
from regard.config.search import MAX_OUTPUTS
from regard.server.api.requests import ModelRequest, PrefixRequest
from regard.server.api.responses import DetectedLanguage
from regard.server.http.errors import ApiError
from regard.tasks.translation.translation import Sentence

MAX_WEIGHTS = 1_000_000  # in one response
Maps = Literal["all", "cross", "none"]
Kind = Literal["self", "causal", "cross"]
Numbers = Annotated[list[NonNegativeInt], Field(min_length=1, max_length=1000)]
SelectedHead = tuple[AttentionMap, int, int]  # a map, the index and the number of one of its heads
Row = Annotated[list[FiniteFloat], Field(min_length=1, max_length=5000)]


class MapSelection(BaseModel):
    """Maps to return: of a kind, a layer, some heads; without a field, all."""

    kind: Kind | None = None
    layer: NonNegativeInt | None = None
    heads: Numbers | None = None

    def selects(self, kind: str, layer: int, head: int) -> bool:
        """Whether a head of a layer is selected."""
        return (
            self.kind in (None, kind)
            and self.layer in (None, layer)
            and (self.heads is None or head in self.heads)
        )


def selected_share(selections: Sequence[MapSelection], model: ModelSettings) -> float:
    """The share of a model's heads whose maps are selected; 1 where it is not known."""
    if not isinstance(model, TransformerSettings):
        return 1.0
    num_layers = {
        "self": model.num_encoder_layers,
        "causal": model.num_decoder_layers,
        "cross": model.num_decoder_layers,
    }
    heads = [
        (kind, layer, head)
        for kind, count in num_layers.items()
        for layer in range(count)
        for head in range(model.num_heads)
    ]
    return sum(any(one.selects(*head) for one in selections) for head in heads) / len(heads)


class ExplainRequest(PrefixRequest):
    """A text to translate, and what to return besides the translation."""

    alternatives: int = Field(0, ge=0, le=MAX_OUTPUTS)
    maps: list[MapSelection] = Field(default_factory=list, max_length=100)


class SwitchOffRequest(BaseModel):
    """Heads whose output is scaled; the maps stay as they are."""

    type: Literal["switch_off"]
    kind: Kind | None = None
    layer: Numbers | None = None
    heads: Numbers | None = None
    scale: FiniteFloat = 0.0


class OverwriteRequest(BaseModel):
    """Rows of weights that are replaced.

    One number for each source token, </s> included; in a decoder's self-attention (causal) one
    for each token read so far, <s> first.
    """

    type: Literal["overwrite"]
    kind: Kind = "cross"
    layer: Numbers | None = None
    heads: Numbers | None = None
    rows: Numbers
    weights: Row | Annotated[list[Row], Field(max_length=1000)]
    renormalize: bool = True


EditRequest = Annotated[SwitchOffRequest | OverwriteRequest, Field(discriminator="type")]


class InterveneRequest(ExplainRequest):
    """A sentence to translate with changed attention."""

    edits: list[EditRequest] = Field(max_length=100)


class ViewRequest(PrefixRequest):
    """A text to translate and to show, perhaps with changed attention."""

    maps: bool = Field(True, description="Whether the attention maps are returned.")
    protect: bool = Field(False, description="As in /v1/translate; a view with maps has it never.")
    edits: list[EditRequest] = Field(default_factory=list, max_length=100)


class AlternativesRequest(ModelRequest):
    """A word of a translation for which alternatives are wanted."""

    translation: str = Field(min_length=1)
    word: NonNegativeInt = Field(description="Number of the translation's word, from 0.")
    count: int = Field(5, ge=1, le=20)

    @property
    def other_text(self) -> str:
        return self.translation


class ModelResponse(BaseModel):
    """A model that is served."""

    name: str
    kind: str
    source: str
    target: str


class MapResponse(BaseModel):
    """One head's weights: a row for each query, a column for each key."""

    kind: str
    layer: int
    head: int
    weights: list[list[float]]


class ScoredText(BaseModel):
    """A text and its score or probability."""

    text: str
    score: float


class FlagResponse(BaseModel):
    """What may be wrong: untranslated, retranslated, repeated or length; numbers of words."""

    kind: str
    source_words: list[int]
    words: list[int]


class WarningResponse(BaseModel):
    """What must be checked: inserted, missing, extra, order, number, term or memory."""

    kind: str
    parts: list[str]
    message: str


class MatchResponse(BaseModel):
    """A sentence of the server's translation memory; it is the translation if it is exact."""

    score: float
    source: str
    translation: str
    adapted: bool
    usable: bool


class SentenceResponse(BaseModel):
    """One sentence; `alignment` links source words to words, `confidence` is per word."""

    source: str
    text: str
    score: float
    source_tokens: list[str]
    tokens: list[str]
    source_words: list[str]
    words: list[str]
    alignment: list[tuple[int, int]]
    confidence: list[float]
    alternatives: list[ScoredText]
    finished: bool
    flags: list[FlagResponse]
    missing_terms: list[tuple[str, str]]
    warnings: list[WarningResponse]
    matches: list[MatchResponse]
    maps: list[MapResponse]


class TranslationResponse(BaseModel):
    """A translation, by which model, and how many edits changed nothing."""

    text: str
    model: str
    source: str
    target: str
    detectedLanguage: DetectedLanguage | None = None
    unused: int | None = Field(default=None, description="Edits that changed no attention.")


class ExplainResponse(TranslationResponse):
    """A translation and what explains it."""

    alternatives: list[str]
    sentences: list[SentenceResponse]


class ViewResponse(TranslationResponse):
    """A translation as the browser's view shows it."""

    sentences: list[dict[str, Any]] = Field(
        description="One object for each sentence: what `regard.view` of /page/view.js takes, and "
        "its source, whether it is finished, and how many characters the prefix makes."
    )
    maps: Maps = Field(description="Fewer where a text is very long.")
    seconds: float = Field(description="From the request to the translation.")


def attention_edits(edits: Sequence[EditRequest]) -> list[Edit]:
    """The edits of the attention; an error if one is not valid."""
    kinds: dict[str, type[Edit]] = {"switch_off": SwitchOff, "overwrite": Overwrite}
    try:
        return [kinds[edit.type](**edit.model_dump(exclude={"type"})) for edit in edits]
    except (ValueError, TypeError) as error:
        raise ApiError(400, str(error)) from None


def sentence_responses(
    sentences: Sequence[Sentence], selections: Sequence[MapSelection]
) -> list[SentenceResponse]:
    """The responses for sentences with the selected maps; an error if these are too large."""
    selected = [_selected(sentence, selections) for sentence in sentences]
    size = sum(layer_map.weights[0, 0].numel() for maps in selected for layer_map, _, _ in maps)
    if size > MAX_WEIGHTS:
        raise ApiError(400, f"the maps have {size} weights; choose fewer, or send less text.")
    return list(map(_sentence_response, sentences, selected))


def _sentence_response(sentence: Sentence, selected: Sequence[SelectedHead]) -> SentenceResponse:
    maps = [
        MapResponse(
            kind=layer_map.kind,
            layer=layer_map.layer,
            head=head,
            weights=layer_map.weights[0, index].double().cpu().numpy().round(5).tolist(),
        )
        for layer_map, index, head in selected
    ]
    fields = {**sentence.as_dict(), "source_tokens": list(sentence.source_tokens), "maps": maps}
    return SentenceResponse.model_validate(fields)


def _selected(sentence: Sentence, selections: Sequence[MapSelection]) -> list[SelectedHead]:
    return [
        (layer_map, index, head)
        for layer_map in sentence.attention
        for index, head in enumerate(layer_map.heads)
        if any(selection.selects(layer_map.kind, layer_map.layer, head) for selection in selections)
    ]
