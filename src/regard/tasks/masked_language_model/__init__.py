"""Masked language model: an encoder-only Transformer that predicts masked tokens."""

from regard.config.kind import Kind, deferred
from regard.config.model import MaskedLanguageModelSettings
from regard.tasks.language_model import PRESETS

KINDS = (
    Kind(
        "mlm",
        MaskedLanguageModelSettings,
        deferred(f"{__name__}.task", "MaskedLanguageModelTask"),
        deferred(f"{__name__}.mask_filler", "MaskFiller"),
        command="fill",
        purpose="predicts masked words",
        learns_from="plain text",
        title="masked language model",
        inspect=deferred(f"{__name__}.inspection", "inspect"),
        speed_unit="masked tokens",
        presets=PRESETS,
    ),
)
