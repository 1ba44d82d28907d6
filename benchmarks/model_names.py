"""How rows name a model: by its size, as "Transformer 4+4, dim 128"."""

from __future__ import annotations

from pathlib import Path

from regard.config import TransformerSettings
from regard.tasks import load_run


def row_prefix(folder: str | Path | None) -> str:
    """The model and a colon, before a row's name; nothing without a model."""
    if folder is None:
        return ""
    model = load_run(folder).model
    if not isinstance(model, TransformerSettings):
        return f"{model.kind}: "
    layers = f"{model.num_encoder_layers}+{model.num_decoder_layers}"
    return f"Transformer {layers}, dim {model.dim}: "
