"""Search that knows no model: whatever can start, step and select can be searched.

    writer ◀─ ensemble         what search needs of a model; several models as one
    request ◀─ search          what is asked for, and the front door
    walk ◀─ greedy, sample, stream   the loop of rows that do not compete
    beam ─▶ ranking            the loop of rows that do
    hypothesis ◀─ scoring, alternatives, confidence   what is found, and what is asked about it

Search leaves attention alone: the maps of a hypothesis are those of one pass with its tokens
given (the model's `maps(batch)`). A stream hands out each step's maps on request.
"""

from regard.decoding.alternatives import Alternative, alternatives
from regard.decoding.beam import beam
from regard.decoding.confidence import token_confidence, word_confidence
from regard.decoding.ensemble import Ensemble
from regard.decoding.greedy import greedy
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.request import Request, request
from regard.decoding.sample import sample
from regard.decoding.scoring import score
from regard.decoding.search import search
from regard.decoding.stream import Step, stream
from regard.decoding.writer import Reading, Writer

__all__ = [
    "Alternative", "Ensemble", "Hypothesis", "Reading", "Request", "Step", "Writer",
    "alternatives", "beam", "greedy", "request", "sample", "score", "search", "stream",
    "token_confidence", "word_confidence",
]  # fmt: skip
