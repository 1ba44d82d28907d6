"""Translation: an encoder–decoder, a Transformer or a recurrent network, from pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.config.kind import Kind
from regard.config.model import RnnSettings, TransformerSettings

if TYPE_CHECKING:
    from regard.folder import SavedModel
    from regard.training.task import Task


def _transformer(kind: Kind) -> Task:
    from regard.models.transformer import TransformerModel
    from regard.tasks.translation.task import TranslationTask

    return TranslationTask(kind, TransformerModel)


def _rnn(kind: Kind) -> Task:
    from regard.models.rnn.model import RnnModel
    from regard.tasks.translation.task import TranslationTask

    return TranslationTask(kind, RnnModel)


def _facade(saved: SavedModel, threads: int) -> Any:
    from regard.tasks.translation.translator import Translator

    return Translator(saved, threads=threads)


def _inspect(model: Any, texts: Any, options: Any) -> Any:
    from regard.tasks.translation.inspection import inspect

    return inspect(model, texts, options)


_COMMON: dict[str, Any] = {
    "facade": _facade,
    "inspect": _inspect,
    "command": "translate",
    "purpose": "translates",
    "learns_from": "pairs of sentences, in one file or two aligned ones",
    "speed_unit": "target tokens",
}

KINDS = (
    Kind(
        "transformer",
        TransformerSettings,
        _transformer,
        title="Transformer",
        presets={
            "tiny": {
                "model": {
                    "dim": 128, "num_heads": 4, "num_encoder_layers": 2, "num_decoder_layers": 2,
                    "ff": 512, "dropout": 0.1,
                },
            },
            "small": {
                "model": {
                    "dim": 256, "num_heads": 4, "num_encoder_layers": 3, "num_decoder_layers": 3,
                    "ff": 1024, "dropout": 0.3, "activation_dropout": 0.1,
                },
            },
            "base": {
                "model": {
                    "dim": 512, "num_heads": 8, "num_encoder_layers": 6, "num_decoder_layers": 6,
                    "ff": 2048, "dropout": 0.1,
                },
            },
        },
        **_COMMON,
    ),
    Kind(
        "rnn",
        RnnSettings,
        _rnn,
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
                    "embedding": 512, "dim": 1024, "num_encoder_layers": 2, "num_decoder_layers": 2,
                    "attention_dim": 512, "dropout": 0.2,
                },
            },
        },
        **_COMMON,
    ),
)  # fmt: skip
