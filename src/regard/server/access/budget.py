"""The numbers of maps and steps that requests may hold in memory at once, shared by clients."""

from __future__ import annotations

from collections import Counter

from starlette.types import Scope

from regard.server.http.errors import ApiError


class MemoryBudget:
    """Numbers that requests hold until their responses are sent; one client has at most half.

    A request takes what it is expected to need before anything is computed. Where nobody holds
    anything, it may take more than there is, up to the limit of one request.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held: Counter[str] = Counter()

    def take(self, scope: Scope, client: str, numbers: int) -> None:
        """Hold so many numbers for a client, until the request of a scope is answered."""
        total, own = self._held.total(), self._held[client]
        if (total and total + numbers > self.limit) or (own and own + numbers > self.limit // 2):
            raise ApiError(503, "the server is busy with other maps; try again later.", 1)
        self._held[client] += numbers
        scope["held"].append(lambda: self._give_back(client, numbers))

    def _give_back(self, client: str, numbers: int) -> None:
        self._held[client] -= numbers
        if not self._held[client]:
            del self._held[client]
