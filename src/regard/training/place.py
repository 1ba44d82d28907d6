"""Where in a corpus a run stands."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """Where the next batch stands: its epoch, and its number within it."""

    epoch: int = 0
    number: int = 0
