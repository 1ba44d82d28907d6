"""The façade of a masked language model: predictions for `[MASK]`."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from regard.attention import AttentionMap, record
from regard.errors import InputError
from regard.folder import LoadedModel
from regard.models.lm import MaskedLanguageModel
from regard.text import BOS, MASK


@dataclass(frozen=True)
class MaskPrediction:
    """A token for a `[MASK]`, its probability, and the text with it."""

    token: str
    probability: float
    text: str


class MaskFiller(LoadedModel):
    """Predicts masked tokens, with the model of a folder."""

    network: MaskedLanguageModel

    def fill(self, text: str, count: int = 5) -> list[list[MaskPrediction]]:
        """The `count` best predictions for each `[MASK]` of the text, the best first.

        In a prediction's text the other masks have their best token.
        """
        ids = self.ids(text)
        masks = [position for position, token in enumerate(ids) if token == MASK]
        if not masks:
            raise InputError(f"there is no [MASK] in {text!r}; write one in place of a word.")
        probabilities = self.network.fill(torch.tensor([ids], device=self.device))[0]
        probabilities[:, : MASK + 1] = 0.0  # special tokens are never predicted
        best = list(ids)
        for mask in masks:
            best[mask] = int(probabilities[mask].argmax())
        predictions = []
        for mask in masks:
            top = probabilities[mask].topk(min(count, probabilities.shape[1]))
            options = []
            for probability, token in zip(top.values.tolist(), top.indices.tolist(), strict=True):
                filled = [*best[:mask], token, *best[mask + 1 :]]
                piece = self.tokenizer.pieces([token])[0]
                options.append(
                    MaskPrediction(piece, probability, self.tokenizer.decode(filled[1:]))
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
