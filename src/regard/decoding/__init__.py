"""Search over any model that has `start`, `step` and `select` (`StepModel`).

    torch_engine          the entry points: `search` of a batch, `TorchEngine` of many sentences
    ctranslate2_engine    the same of a model that was converted (`ctranslate2_folder`)
    request               the model and the input of a search by torch
    constraints, phrases  tokens that may come next; words that must not, or must, be written
    sampling              rows that do not compete: greedy search, sampling, streams
    beam ─▶ ranking       rows that do
    guide, coverage       a beam's hook: groups that differ, a coverage penalty, required phrases
    hypothesis            the result
    scoring               log-probabilities and alternatives of given outputs

Search does not compute attention maps: those of a hypothesis come from one forward pass over its
tokens (the model's `maps(batch)`). `stream` returns each step's maps on request.

Names that need torch are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from regard.decoding.hypothesis import Hypothesis, word_confidence
from regard.decoding.phrases import RequiredPhrase, TokenTexts, forbidden_phrases

if TYPE_CHECKING:
    from regard.decoding.beam import beam_search
    from regard.decoding.ranking import RankedToken, ranked_tokens
    from regard.decoding.request import SearchRequest, SourceBatch, StepModel, prepare_request
    from regard.decoding.sampling import StreamedToken, greedy, sample, stream
    from regard.decoding.scoring import Alternative, alternatives, score
    from regard.decoding.torch_engine import Constraints, TorchEngine, search

__all__ = [
    "Alternative",
    "Constraints",
    "Hypothesis",
    "RankedToken",
    "RequiredPhrase",
    "SearchRequest",
    "SourceBatch",
    "StepModel",
    "StreamedToken",
    "TokenTexts",
    "TorchEngine",
    "alternatives",
    "beam_search",
    "forbidden_phrases",
    "greedy",
    "prepare_request",
    "ranked_tokens",
    "sample",
    "score",
    "search",
    "stream",
    "word_confidence",
]

_NEED_TORCH = {
    "beam": ("beam_search",),
    "torch_engine": ("Constraints", "TorchEngine", "search"),
    "scoring": ("Alternative", "alternatives", "score"),
    "ranking": ("RankedToken", "ranked_tokens"),
    "request": ("SearchRequest", "SourceBatch", "StepModel", "prepare_request"),
    "sampling": ("StreamedToken", "greedy", "sample", "stream"),
}


def __getattr__(name: str) -> Any:
    for module, names in _NEED_TORCH.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
