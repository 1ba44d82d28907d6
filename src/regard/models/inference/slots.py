"""Caches of a search whose hypotheses share the source of their sentence, written in place.

A row is one hypothesis, at one of the slots of its sentence. What its token adds to the cache is
written at (sentence, position, slot) and never moves: a hypothesis that continues another one
attends to the slots where its ancestors were. Finished sentences are removed once there are many.

R rows, L layers, B sentences, C positions that there is room for, K slots of a sentence, N = n · K
keys of n positions, S source tokens, H heads, D features of a head, W = 2 · H · D.
"""

from __future__ import annotations

import torch
from torch import Tensor

HIDDEN = float("-inf")
REMOVE_BELOW = 0.75  # share of unfinished sentences from which on finished ones are removed
ROOM = 32  # positions that there is room for at first

KeysValues = tuple[Tensor, Tensor]
"""Keys and values of one layer, (B, H, N or S, D)."""


class SlotCache:
    """Keys and values of all layers, and which of them each row attends to.

    sentence     (R,)          sentence of each row
    slot         (R,)          its slot there
    cache        (L, B, C, K, W)  keys and values of the generated tokens
    ancestors    (B, K, C, K)  0 where an ancestor of a slot's row was, else -inf; None if K is 1
    memory       (L, B, S, W)  keys and values of the source; None for a language model
    memory_mask  (B, 1, 1, S)  0 at source tokens, -inf at padding; None without padding
    length                     number of tokens generated
    in_order                   whether the rows are in the order of their sentences
    """

    def __init__(
        self,
        sizes: tuple[int, int, int],
        num_sentences: int,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> None:
        num_layers, self.num_heads, head_dim = sizes
        self.memory, self.memory_mask = memory, memory_mask
        self.sentence = torch.arange(num_sentences)
        self.slot = torch.zeros_like(self.sentence)
        # zeros: a weight of 0 times whatever memory holds would be NaN if it holds one
        self.cache = torch.zeros(num_layers, num_sentences, ROOM, 1, 2 * self.num_heads * head_dim)
        self.ancestors: Tensor | None = None
        self.length = 0
        self.in_order = True

    @property
    def num_slots(self) -> int:
        """B · K."""
        return self.cache.shape[1] * self.cache.shape[3]

    def grid(self) -> Tensor | None:
        """(R,): each row's index among all slots; None if the rows are all slots in order."""
        if len(self.slot) == self.num_slots and self.in_order:
            return None
        return self.sentence * self.cache.shape[3] + self.slot

    def next_position(self) -> tuple[Tensor, list[Tensor], list[KeysValues], Tensor | None]:
        """Make room for a token of each row.

        Returns the places (R,) to write to, each layer's cache (B · C · K, W) to write into, the
        keys and values including these places, and the mask (B, 1, K, N) added to the scores.
        """
        _, _, room, width, _ = self.cache.shape
        if self.length == room:
            self._resize(2 * room, width)
            room *= 2
        places = self.sentence * room if width == 1 else self.sentence * (room * width) + self.slot
        places = places + self.length * width
        self.length += 1
        mask = None
        if self.ancestors is not None:
            own = torch.full((width, width), HIDDEN).fill_diagonal_(0.0)
            self.ancestors[:, :, self.length - 1] = own
            mask = self.ancestors[:, :, : self.length].flatten(2)[:, None]
        written = self.cache[:, :, : self.length].flatten(2, 3)
        return places, list(self.cache.flatten(1, 3)), split_layers(written, self.num_heads), mask

    def memory_heads(self) -> list[KeysValues]:
        """Each layer's keys and values of the source."""
        assert self.memory is not None
        return split_layers(self.memory, self.num_heads)

    def select(self, rows: Tensor) -> None:
        """Go on with the given rows, in that order; a row may occur twice."""
        before, sentence, size = self.slot[rows], self.sentence[rows], self.cache.shape[1]
        counts = torch.bincount(sentence, minlength=size)
        if (needed := int(counts.max())) > self.cache.shape[3]:
            self._resize(self.cache.shape[2], needed)
        width = self.cache.shape[3]
        self.sentence, self.slot = sentence, before
        self.in_order = bool((sentence[1:] >= sentence[:-1]).all())
        if self.ancestors is not None:
            order = sentence.argsort(stable=True)
            first = counts.cumsum(0) - counts
            self.slot = torch.empty_like(before)
            self.slot[order] = torch.arange(len(rows)) - first[sentence[order]]
            parents = torch.zeros(size * width, dtype=torch.int64)
            parents[sentence * width + self.slot] = sentence * width + before
            picked = self.ancestors.flatten(0, 1).index_select(0, parents)
            self.ancestors = picked.unflatten(0, (size, width))
        if int((counts > 0).sum()) <= REMOVE_BELOW * size:
            self._remove_sentences(counts > 0)

    def _resize(self, room: int, width: int) -> None:
        """Give every sentence more positions or more slots."""
        num_layers, size, old_room, old_width, features = self.cache.shape
        cache = self.cache.new_zeros(num_layers, size, room, width, features)
        cache[:, :, :old_room, :old_width] = self.cache
        if width > 1:
            ancestors = self.cache.new_full((size, width, room, width), HIDDEN)
            if self.ancestors is None:
                ancestors[:, :, : self.length, 0] = 0.0
            else:
                ancestors[:, :old_width, :old_room, :old_width] = self.ancestors
            self.ancestors = ancestors
        self.cache = cache

    def _remove_sentences(self, live: Tensor) -> None:
        keep = live.nonzero()[:, 0]
        self.sentence = (live.cumsum(0) - 1)[self.sentence]
        self.cache = self.cache.index_select(1, keep)
        if self.ancestors is not None:
            self.ancestors = self.ancestors.index_select(0, keep)
        if self.memory is not None:
            self.memory = self.memory.index_select(1, keep)
        if self.memory_mask is not None:
            self.memory_mask = self.memory_mask.index_select(0, keep)


def split_layers(cache: Tensor, num_heads: int) -> list[KeysValues]:
    """Views of keys and values (L, B, N, W) for each layer and head."""
    heads = cache.unflatten(3, (2, num_heads, -1)).permute(0, 3, 1, 4, 2, 5)
    return [(keys, values) for keys, values in heads]
