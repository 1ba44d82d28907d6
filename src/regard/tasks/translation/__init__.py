"""Translation: an encoder–decoder, a Transformer or a recurrent network, from pairs."""

from typing import Any

from regard.config.kind import Kind, SizeOption, deferred
from regard.config.model import RnnSettings, TransformerSettings

_COMMON: dict[str, Any] = {
    "facade": deferred(f"{__name__}.translator", "Translator"),
    "inspect": deferred(f"{__name__}.inspection", "inspect"),
    "command": "translate",
    "purpose": "translates",
    "learns_from": "pairs of sentences, in one file or two aligned ones",
    "speed_unit": "target tokens",
}

_MUON = {"optimizer": "muon"}
_DEEPER = {
    "model": {"num_encoder_layers": 4, "num_decoder_layers": 4},
    "text": {"vocab_size": 8000},
    "training": {**_MUON, "muon_period": 2, "batch_tokens": 4096, "learning_rate": 4e-3},
}
SIZES = (
    SizeOption("tiny", "tiny", {"training": _MUON}),
    SizeOption(
        "tiny with {num_encoder_layers}+{num_decoder_layers} layers",
        "tiny",
        _DEEPER,
        sentences=10_000,
        updates=3_000,
    ),
    SizeOption(
        "small", "small", {"training": _MUON}, sentences=100_000, updates=2_000, per_weight=3
    ),
    SizeOption("base", "base", sentences=1_000_000, updates=10_000),
)
"""Of the Transformer. Up to 100,000 sentences get a narrow, deeper model, as of Wu, Kong, Bi, Li
and Kao (2021): in the time there is, a wider one sees few tokens for each of its weights. What was
measured is in docs/log.md."""

KINDS = (
    Kind(
        "transformer",
        TransformerSettings,
        deferred(f"{__name__}.task", "TranslationTask"),
        title="Transformer",
        presets={
            "tiny": {
                "model": {
                    "dim": 128,
                    "num_heads": 4,
                    "num_encoder_layers": 2,
                    "num_decoder_layers": 2,
                    "ff": 512,
                    "dropout": 0.1,
                },
            },
            "small": {
                "model": {
                    "dim": 256,
                    "num_heads": 4,
                    "num_encoder_layers": 3,
                    "num_decoder_layers": 3,
                    "ff": 1024,
                    "dropout": 0.3,
                    "activation_dropout": 0.1,
                },
            },
            "base": {
                "model": {
                    "dim": 512,
                    "num_heads": 8,
                    "num_encoder_layers": 6,
                    "num_decoder_layers": 6,
                    "ff": 2048,
                    "dropout": 0.1,
                },
            },
        },
        sizes=SIZES,
        **_COMMON,
    ),
    Kind(
        "rnn",
        RnnSettings,
        deferred(f"{__name__}.task", "RecurrentTranslationTask"),
        title="recurrent network",
        presets={
            "tiny": {
                "model": {"embedding": 128, "dim": 256, "attention_dim": 128, "dropout": 0.1},
            },
            "small": {
                "model": {"embedding": 256, "dim": 512, "attention_dim": 256, "dropout": 0.3},
            },
            "base": {
                "model": {
                    "embedding": 512,
                    "dim": 1024,
                    "num_encoder_layers": 2,
                    "num_decoder_layers": 2,
                    "attention_dim": 512,
                    "dropout": 0.2,
                },
            },
        },
        **_COMMON,
    ),
)
