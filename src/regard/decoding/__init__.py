"""Search over any model that has `start`, `step` and `select` (`StepModel`).

    request ◀─ search              the model and the input of a search; the entry point
    step_loop ◀─ sample, stream    the loop over rows that do not compete; greedy search
    beam ─▶ ranking                the loop over rows that do
    hypothesis ◀─ scoring, alternatives   the result, and questions about it

Search does not compute attention maps: those of a hypothesis come from one forward pass over its
tokens (the model's `maps(batch)`). `stream` returns each step's maps on request.
"""

from regard.decoding.alternatives import Alternative, alternatives
from regard.decoding.beam import beam_search
from regard.decoding.hypothesis import Hypothesis, word_confidence
from regard.decoding.request import SearchRequest, SourceBatch, StepModel, prepare_request
from regard.decoding.sample import sample
from regard.decoding.scoring import score
from regard.decoding.search import search
from regard.decoding.step_loop import greedy
from regard.decoding.stream import StreamedToken, stream

__all__ = [
    "Alternative", "Hypothesis", "SearchRequest", "SourceBatch", "StepModel", "StreamedToken",
    "alternatives", "beam_search", "greedy", "prepare_request", "sample", "score", "search",
    "stream", "word_confidence",
]  # fmt: skip
