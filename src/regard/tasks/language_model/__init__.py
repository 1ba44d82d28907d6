"""Language model: a decoder-only Transformer that continues text."""

from regard.config.kind import Kind, deferred
from regard.config.model import LanguageModelSettings

PRESETS = {
    "tiny": {"model": {"dim": 128, "num_heads": 4, "num_layers": 3, "ff": 512, "max_length": 256}},
    "small": {
        "model": {"dim": 256, "num_heads": 4, "num_layers": 4, "ff": 1024, "max_length": 512}
    },
    "base": {"model": {"dim": 512, "num_heads": 8, "num_layers": 8, "ff": 2048}},
}

KINDS = (
    Kind(
        "lm",
        LanguageModelSettings,
        deferred(f"{__name__}.task", "LanguageModelTask"),
        deferred(f"{__name__}.generator", "Generator"),
        command="generate",
        purpose="continues text",
        learns_from="plain text",
        title="language model",
        inspect=deferred(f"{__name__}.inspection", "inspect"),
        presets=PRESETS,
    ),
)
