"""The one exception that becomes an answer: a status and a sentence."""

from __future__ import annotations

import math

LEFT = 499
"""Nobody gets this status: who asked is gone. It stands in log and metrics only."""


class RefusalError(Exception):
    """A request is answered with `{"error": sentence}`.

    status       of the answer
    retry_after  seconds after which it may be asked again, if it may
    """

    def __init__(self, status: int, sentence: str, retry_after: float | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        """Retry-After, in whole seconds, where it applies.

        >>> RefusalError(503, "busy.", 0.2).headers
        {'Retry-After': '1'}
        """
        if self.retry_after is None:
            return {}
        return {"Retry-After": str(max(1, math.ceil(self.retry_after)))}
