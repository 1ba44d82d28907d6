"""The façade of a masked language model: predictions for `[MASK]`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from regard.attention import AttentionMap, record
from regard.config import SearchOptions
from regard.decoding import ranked_tokens
from regard.errors import InputError
from regard.folder import LoadedModel
from regard.models.lm import MaskedLanguageModel
from regard.text import BOS, MASK


@dataclass(frozen=True)
class MaskPrediction:
    """A token for a `[MASK]`, its probability, and the text with it.

    `logit` is the network's number, `sampled` the probability after temperature, top-k and top-p.
    """

    token: str
    probability: float
    text: str
    logit: float
    sampled: float


class MaskFiller(LoadedModel):
    """Predicts masked tokens, with the model of a folder."""

    network: MaskedLanguageModel

    def fill(
        self, text: str, count: int = 5, *, settings: SearchOptions | None = None
    ) -> list[list[MaskPrediction]]:
        """The `count` best predictions for each `[MASK]` of the text, the best first.

        In a prediction's text the other masks have their best token. `settings` say how tokens
        would be sampled: temperature, top-k and top-p.
        """
        settings = settings or SearchOptions()
        ids = self.ids(text)
        masks = [position for position, token in enumerate(ids) if token == MASK]
        if not masks:
            raise InputError(f"there is no [MASK] in {text!r}; write one in place of a word.")
        logits_TV = self.network.predict(torch.tensor([ids], device=self.device))[0]
        logits_TV[:, : MASK + 1] = -math.inf  # special tokens are never predicted
        best = list(ids)
        for mask in masks:
            best[mask] = int(logits_TV[mask].argmax())
        predictions = []
        for mask in masks:
            ranked = ranked_tokens(
                logits_TV[mask], count, settings.temperature, settings.top_k, settings.top_p
            )
            options = []
            for each in ranked:
                filled = self.tokenizer.decode([*best[1:mask], each.token, *best[mask + 1 :]])
                piece = self.tokenizer.pieces([each.token])[0]
                options.append(
                    MaskPrediction(piece, each.probability, filled, each.logit, each.sampled)
                )
            predictions.append(options)
        return predictions

    def attention(self, text: str) -> tuple[AttentionMap, ...]:
        """Every layer's and head's map over the text, whose first token is BOS."""
        with record(self.network) as recording:
            self.network.fill(torch.tensor([self.ids(text)], device=self.device))
        return tuple(recording.maps)

    def ids(self, text: str) -> list[int]:
        """A text's ids as the model's input, BOS first; a text that does not fit is an error."""
        ids = [BOS, *self.tokenizer.encode_masked(text)]
        if len(ids) > self.network.max_length:
            raise InputError(
                f"the text has {len(ids)} tokens, but the model holds {self.network.max_length}; "
                "give a shorter one."
            )
        return ids
