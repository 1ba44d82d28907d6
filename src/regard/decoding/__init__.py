"""Search over any model that has `start`, `step` and `select` (`StepModel`).

    request ◀─ search     the model and the input of a search; the entry point
    constraints           tokens that must not come next
    step_loop             rows that do not compete: greedy search, sampling, streams
    beam ─▶ ranking       rows that do
    hypothesis            the result
    questions             log-probabilities and alternatives of given outputs

Search does not compute attention maps: those of a hypothesis come from one forward pass over its
tokens (the model's `maps(batch)`). `stream` returns each step's maps on request.
"""

from regard.decoding.beam import beam_search
from regard.decoding.hypothesis import Hypothesis, word_confidence
from regard.decoding.questions import Alternative, alternatives, score
from regard.decoding.request import SearchRequest, SourceBatch, StepModel, prepare_request
from regard.decoding.search import search
from regard.decoding.step_loop import StreamedToken, greedy, sample, stream

__all__ = [
    "Alternative", "Hypothesis", "SearchRequest", "SourceBatch", "StepModel", "StreamedToken",
    "alternatives", "beam_search", "greedy", "prepare_request", "sample", "score", "search",
    "stream", "word_confidence",
]  # fmt: skip
