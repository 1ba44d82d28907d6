"""Classification: a label for a text or a numeric series."""

from regard.config.kind import Kind, deferred
from regard.config.model import ClassifierSettings

KINDS = (
    Kind(
        "classifier",
        ClassifierSettings,
        deferred(f"{__name__}.task", "ClassificationTask"),
        deferred(f"{__name__}.classifier", "Classifier"),
        command="classify",
        purpose="labels texts or series",
        learns_from="label, tab and text in a .tsv; or series in .npz or .jsonl",
        title="classifier",
        inspect=deferred(f"{__name__}.inspection", "inspect"),
        speed_unit="examples",
        presets={
            "tiny": {
                "model": {"dim": 64, "num_heads": 4, "num_layers": 2, "ff": 256, "max_length": 256},
            },
            "small": {
                "model": {
                    "dim": 128,
                    "num_heads": 4,
                    "num_layers": 2,
                    "ff": 512,
                    "max_length": 512,
                    "dropout": 0.2,
                },
            },
            "base": {"model": {"dim": 512, "num_heads": 8, "num_layers": 6, "ff": 2048}},
        },
    ),
)
