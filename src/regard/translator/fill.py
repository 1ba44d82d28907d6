"""Guessing hidden words, by a masked model."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from regard.attention import AttentionMap, record
from regard.config import Run
from regard.errors import InputError
from regard.folder import SavedModel
from regard.models.lm import MaskedLanguageModel
from regard.text import BOS, MASK, UNK


@dataclass(frozen=True)
class Guess:
    """What may stand at a hidden place: the token, its probability, and the text with it."""

    token: str
    probability: float
    text: str


class Filler:
    """Guesses what `[MASK]` hides, with the model of a folder."""

    def __init__(self, saved: SavedModel) -> None:
        assert isinstance(saved.network, MaskedLanguageModel)
        self.run: Run = saved.run
        self.path = saved.path
        self.network = saved.network
        self.tokenizer = saved.tokenizers.target
        self.device = next(saved.network.parameters()).device

    def fill(self, text: str, count: int = 5) -> list[list[Guess]]:
        """For each `[MASK]` of the text its `count` best guesses, the best first.

        In a guess's text the other hidden places have their best guess.
        """
        ids = self.ids(text)
        places = [place for place, token in enumerate(ids) if token == MASK]
        if not places:
            raise InputError(f"there is no [MASK] in {text!r}; write one where a word is hidden.")
        shares = self.network.fill(torch.tensor([ids], device=self.device))[0]
        shares[:, : MASK + 1] = 0.0  # specials are never the answer
        shares[:, UNK] = 0.0
        best = list(ids)
        for place in places:
            best[place] = int(shares[place].argmax())
        guesses = []
        for place in places:
            top = shares[place].topk(min(count, shares.shape[1]))
            found = []
            for share, token in zip(top.values.tolist(), top.indices.tolist(), strict=True):
                whole = [*best[:place], token, *best[place + 1 :]]
                spelled = self.tokenizer.pieces([token])[0]
                found.append(Guess(spelled, share, self.tokenizer.decode(whole[1:])))
            guesses.append(found)
        return guesses

    def attention(self, text: str) -> tuple[AttentionMap, ...]:
        """Every layer's and head's map over the text, its first token BOS."""
        with record(self.network) as recording:
            self.network.fill(torch.tensor([self.ids(text)], device=self.device))
        return tuple(recording.maps)

    def ids(self, text: str) -> list[int]:
        """The ids of a text as the model reads it, BOS in front; one too long is an error."""
        ids = [BOS, *self.tokenizer.encode_masked(text)]
        if len(ids) > self.network.max_length:
            raise InputError(
                f"the text has {len(ids)} tokens, but the model holds {self.network.max_length}; "
                "give a shorter one."
            )
        return ids
