"""The fields of `SearchOptions` as keywords, which a type checker reads.

Made of them by `python tests/config/write_keywords.py`; a test compares.
"""

from typing import TypedDict


class SearchKeywords(TypedDict, total=False):
    """Options of the search that replace the model's own; see `SearchOptions`."""

    beam: int
    length_penalty: float
    n_best: int
    max_length: int | None
    min_length: int
    no_repeat_ngram: int
    beam_groups: int
    diversity_penalty: float
    coverage_penalty: float
    sample: bool
    temperature: float
    top_k: int
    top_p: float
    seed: int
    batch_tokens: int
    deterministic: bool
