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

KeysValues = tuple[Tensor, ...]
"""The keys and the values of one layer, (B, H, N or S, D)."""


class SlotCache:
    """Keys and values of all layers, and which of them each row attends to.

    sentence     R numbers: the sentence of each row
    slot         R numbers: its slot there
    cache        (L, B, C, K, W)  keys and values of the generated tokens
    ancestors    (B, K, C, K)  0 where an ancestor of a slot's row was, else -inf; None if K is 1
    memory       (L, B, S, W)  keys and values of the source; None for a language model
    memory_mask  (B, 1, 1, S)  0 at source tokens, -inf at padding; None without padding
    length                     number of tokens generated
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
        self.sentence, self.slot = list(range(num_sentences)), [0] * num_sentences
        # zeros: a weight of 0 times whatever memory holds would be NaN if it holds one
        self.cache = torch.zeros(num_layers, num_sentences, ROOM, 1, 2 * self.num_heads * head_dim)
        self.ancestors: Tensor | None = None
        self.length = 0
        self._index()
        self._make_views()

    def _index(self) -> None:
        """Compute what the rows' slots imply for every step until the next `select`.

        grid    (R,)  each row's index among all slots; None if the rows are all slots in order
        places  (R,)  where position 0 of each row's slot is in the cache
        """
        _, size, room, width, _ = self.cache.shape
        self.num_slots = size * width
        pairs = list(zip(self.sentence, self.slot, strict=True))
        grid = [sentence * width + slot for sentence, slot in pairs]
        complete = grid == list(range(self.num_slots))
        self.grid = None if complete else torch.tensor(grid)
        self.places = torch.tensor([number * room * width + slot for number, slot in pairs])

    def _make_views(self) -> None:
        """Make views of the caches, whenever these are new tensors."""
        self.flat = self.cache.flatten(1, 3).unbind(0)
        self.memory_heads = [] if self.memory is None else split(self.memory, self.num_heads)

    def next_position(self) -> tuple[Tensor, list[KeysValues], Tensor | None]:
        """Make room for a token of each row.

        Returns the places (R,) in each layer's `flat` cache (B · C · K, W) to write it to, the keys
        and values including these, and the mask (B, 1, K, N) that is added to the scores.
        """
        if self.length == self.cache.shape[2]:
            self._resize(2 * self.length, self.cache.shape[3])
            self._index()
        width, position = self.cache.shape[3], self.length
        self.length += 1
        mask = None
        if self.ancestors is not None:
            self.ancestors[:, :, position] = self.own_slot
            mask = self.ancestors[:, :, : self.length].flatten(2)[:, None]
        written = self.cache[:, :, : self.length].flatten(2, 3)
        return self.places + position * width, split(written, self.num_heads), mask

    def select(self, rows: Tensor) -> None:
        """Go on with the given rows, in that order; a row may occur twice.

        Plain Python, which is faster than tensors for some hundred rows.
        """
        chosen, size = rows.tolist(), self.cache.shape[1]
        sentence = [self.sentence[row] for row in chosen]
        counts = [0] * size
        slot = []
        for number in sentence:
            slot.append(counts[number])
            counts[number] += 1
        if (needed := max(counts)) > self.cache.shape[3]:
            self._resize(self.cache.shape[2], needed)
        width = self.cache.shape[3]
        if self.ancestors is not None:
            parents = [0] * (size * width)
            for row, number, place in zip(chosen, sentence, slot, strict=True):
                parents[number * width + place] = number * width + self.slot[row]
            picked = self.ancestors.flatten(0, 1).index_select(0, torch.tensor(parents))
            self.ancestors = picked.unflatten(0, (size, width))
        self.sentence, self.slot = sentence, slot
        live = [number for number, count in enumerate(counts) if count]
        if len(live) <= REMOVE_BELOW * size:
            self._remove_sentences(live)
        self._index()

    def _resize(self, room: int, width: int) -> None:
        """Give every sentence more positions or more slots."""
        num_layers, size, old_room, old_width, features = self.cache.shape
        cache = self.cache.new_zeros(num_layers, size, room, width, features)
        cache[:, :, :old_room, :old_width] = self.cache
        if width > 1:
            self.own_slot = cache.new_full((width, width), HIDDEN).fill_diagonal_(0.0)
            ancestors = self.cache.new_full((size, width, room, width), HIDDEN)
            if self.ancestors is None:
                ancestors[:, :, : self.length, 0] = 0.0
            else:
                ancestors[:, :old_width, :old_room, :old_width] = self.ancestors
            self.ancestors = ancestors
        self.cache = cache
        self._make_views()

    def _remove_sentences(self, live: list[int]) -> None:
        """Keep the given sentences only; in the cache, they move to the front."""
        number_of = {sentence: number for number, sentence in enumerate(live)}
        self.sentence = [number_of[sentence] for sentence in self.sentence]
        keep = torch.tensor(live)
        for layer in self.cache:
            layer[: len(live), : self.length] = layer[:, : self.length].index_select(0, keep)
        self.cache = self.cache[:, : len(live)]
        if self.ancestors is not None:
            self.ancestors = self.ancestors.index_select(0, keep)
        if self.memory is not None:
            self.memory = self.memory.index_select(1, keep)
        if self.memory_mask is not None:
            self.memory_mask = self.memory_mask.index_select(0, keep)
        self._make_views()


def split(cache: Tensor, num_heads: int) -> list[KeysValues]:
    """Views of keys and values (L, B, N, W) for each layer and head."""
    num_layers, size, length, width = cache.shape
    heads = cache.view(num_layers, size, length, 2, num_heads, width // (2 * num_heads))
    return [layer.unbind(0) for layer in heads.permute(0, 3, 1, 4, 2, 5).unbind(0)]
