"""Inspection of a masked language model: views of texts, with predictions for their masks."""

from __future__ import annotations

from dataclasses import replace

import torch

from regard.models.batch import Batch
from regard.tasks.inspection import (
    Inspection,
    InspectOptions,
    RepeatedForward,
    each_text,
    view_alone,
)
from regard.tasks.masked_language_model.mask_filler import MaskFiller
from regard.text import MASK, PAD
from regard.text.tokenizer import SPECIALS
from regard.views import label_score

NUM_PREDICTIONS = 3  # of each mask


@each_text
def inspect(filler: MaskFiller, text: str, options: InspectOptions) -> Inspection:
    """View a text, with the best predictions for its masks."""
    ids = torch.tensor([filler.ids(text)], device=filler.device)
    labels = torch.full_like(ids, PAD)
    masks = []
    if bool((ids == MASK).any()):
        for number, predictions in enumerate(filler.fill(text, NUM_PREDICTIONS), start=1):
            listed = ", ".join(f"“{_word(p.token)}” {p.probability:.0%}" for p in predictions)
            masks.append(f"{SPECIALS[MASK]} {number}: {listed}")
        labels = torch.where(ids == MASK, filler.network.fill(ids).argmax(-1), labels)
    batch = Batch(None, ids, labels)
    source = RepeatedForward(filler.network, lambda: filler.network.features(batch))
    tokens = tuple(filler.tokenizer.pieces(ids[0].tolist()))
    view = view_alone(source, tokens, filler.run.source_language, text.strip())
    view = replace(view, title="; ".join(masks), model=options.name)
    return Inspection(view, batch, label_score(batch) if masks else None)


def _word(token: str) -> str:
    return token.replace("▁", " ").strip() or token
