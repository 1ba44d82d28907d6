"""The folder of a MarianMT model as `transformers` saves it: its settings and weights."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from regard.config import SearchOptions, TransformerSettings
from regard.config.schema import options_of
from regard.config.settings import coerce, value_of
from regard.errors import InputError
from regard.folder import load_weights

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu", "silu": "silu", "tanh": "tanh"}
"""Their names of activations ▶ torch's."""

NORMS = {"marian": "post", "pegasus": "pre"}


@dataclass(frozen=True)
class MarianFolder:
    """The settings in a folder: config.json, generation_config.json, tokenizer_config.json."""

    path: Path
    config: dict[str, Any]
    generation: dict[str, Any]
    tokenizer: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> MarianFolder:
        """Read the settings; a folder of something else is an error."""
        if not (path / "config.json").is_file():
            raise InputError(
                f"{path}: there is no config.json in it; give the folder of a MarianMT model, with "
                "its weights, vocab.json, source.spm and target.spm."
            )
        config = read_json(path / "config.json")
        if config.get("model_type") not in tuple(NORMS):
            raise InputError(
                f"{path / 'config.json'}: model_type must be marian, got "
                f"{config.get('model_type')!r}; only MarianMT models can be imported."
            )
        others = (
            read_json(path / f"{name}.json") if (path / f"{name}.json").is_file() else {}
            for name in ("generation_config", "tokenizer_config")
        )
        return cls(path, config, *others)

    def value(self, name: str) -> Any:
        """A setting of generation, which older folders have in config.json."""
        return self.generation.get(name, self.config.get(name))

    def model(self, weights: Mapping[str, Tensor]) -> TransformerSettings:
        """The settings of the network; the weights must have as many layers of that width."""
        for side in ("attention_heads", "ffn_dim"):
            encoder, decoder = (self._known(f"{name}_{side}") for name in ("encoder", "decoder"))
            if encoder != decoder:
                raise InputError(
                    f"{self.path}: encoder_{side} and decoder_{side} must be equal, got "
                    f"{encoder!r} and {decoder!r}."
                )
        activation = self._known("activation_function")
        if activation not in tuple(ACTIVATIONS):
            raise self._wrong("activation_function", "is not known")
        settings = TransformerSettings(
            dim=self._number("d_model", "dim"),
            num_heads=self._number("encoder_attention_heads", "num_heads"),
            num_encoder_layers=self._number("encoder_layers", "num_encoder_layers"),
            num_decoder_layers=self._number("decoder_layers", "num_decoder_layers"),
            ff=self._number("encoder_ffn_dim", "ff"),
            activation=ACTIVATIONS[activation],
            norm=NORMS[self.config["model_type"]],  # type: ignore[arg-type]  # one of both
            tied=self._tied(weights),  # type: ignore[arg-type]  # one of three
            dropout=self._number("dropout", "dropout", 0.1),
            attention_dropout=self._number("attention_dropout", "attention_dropout", 0.0),
            activation_dropout=self._number("activation_dropout", "activation_dropout", 0.0),
            max_length=self._number("max_position_embeddings", "max_length"),
        )
        self._check_size(settings, weights)
        return settings

    def _known(self, name: str) -> Any:
        """A setting that config.json must have."""
        if name not in self.config:
            raise self._wrong(name, "is missing")
        return self.config[name]

    def _number(self, name: str, ours: str, default: Any = None) -> Any:
        """A setting of the network that has the type and the range of ours."""
        value = self._known(name) if default is None else self.config.get(name, default)
        option = options_of(TransformerSettings)[ours]
        return value_of(option, value, f"{self.path / 'config.json'}: {name}")

    def _wrong(self, name: str, problem: str) -> InputError:
        return InputError(
            f"{self.path / 'config.json'}: {name} {problem}, so the model cannot be imported."
        )

    def _check_size(self, settings: TransformerSettings, weights: Mapping[str, Tensor]) -> None:
        """Raise an error if the weights are of a smaller network, before a large one is built."""
        for name, number in (
            ("encoder", settings.num_encoder_layers),
            ("decoder", settings.num_decoder_layers),
        ):
            layers = {
                key.split(".")[3] for key in weights if key.startswith(f"model.{name}.layers.")
            }
            inner = weights.get(f"model.{name}.layers.0.fc1.weight")
            shape = (settings.ff, settings.dim)
            if len(layers) != number or inner is None or tuple(inner.shape) != shape:
                found = "none" if inner is None else " × ".join(map(str, inner.shape))
                raise InputError(
                    f"{self.path}: the weights do not fit config.json (the {name} must have "
                    f"{number} layers of {settings.ff} × {settings.dim}, and has {len(layers)} of "
                    f"{found}); download the folder again."
                )

    def _tied(self, weights: Mapping[str, Tensor]) -> str:
        """What is shared; √D cannot be left out of ours where input and output are one table."""
        if not self.config.get("scale_embedding"):
            return "none"
        if not self.config.get("tie_word_embeddings", True):
            tables = [
                weights.get(n) for n in ("model.decoder.embed_tokens.weight", "lm_head.weight")
            ]
            found = [table for table in tables if table is not None]
            return "output" if len(found) == 2 and torch.equal(*found) else "none"
        return "all" if self.config.get("share_encoder_decoder_embeddings", True) else "output"

    def num_rows(self, *, target: bool) -> int:
        """The rows of an embedding; those that export added to a Pegasus' are left out."""
        if self.config["model_type"] == "pegasus":
            return 0
        name = "decoder_vocab_size" if target and self.config.get("decoder_vocab_size") else ""
        name = name or "vocab_size"
        return int(coerce(self._known(name), int, f"{self.path / 'config.json'}: {name}"))

    def languages(self) -> str:
        """Source and target language, as far as they are known."""
        codes = (self.tokenizer.get("source_lang"), self.tokenizer.get("target_lang"))
        known = [re.split(r"[-+_]", code)[0] for code in codes if isinstance(code, str)]
        named = len(known) == 2 and all(re.fullmatch("[A-Za-z]{2,8}", code) for code in known)
        return "-".join(known) if named else ""

    def search(self) -> SearchOptions:
        """How its authors search."""
        penalty = self.value("length_penalty")
        found = {
            "beam": self.value("num_beams") or 1,
            "length_penalty": 1.0 if penalty is None else penalty,
        }
        options = options_of(SearchOptions)
        theirs = {"beam": "num_beams", "length_penalty": "length_penalty"}
        return SearchOptions(
            **{
                name: value_of(options[name], value, f"{self.path}: {theirs[name]}")
                for name, value in found.items()
            }
        )


def load_marian_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a folder, of safetensors or of a checkpoint of torch (read without code)."""
    files = sorted(folder.glob("model*.safetensors"))
    if files:
        return {name: tensor for file in files for name, tensor in load_weights(file).items()}
    files = sorted(folder.glob("pytorch_model*.bin"))
    if not files:
        raise InputError(
            f"{folder}: there is neither model.safetensors nor pytorch_model.bin in it; download "
            "the weights too."
        )
    weights: dict[str, Tensor] = {}
    for file in files:
        try:
            loaded = torch.load(file, map_location="cpu", weights_only=True)
            if not all(isinstance(tensor, Tensor) for tensor in loaded.values()):
                raise TypeError("something in it is no tensor")
            weights |= loaded
        except (
            OSError,
            RuntimeError,
            UnpicklingError,
            EOFError,
            TypeError,
            ValueError,
            AttributeError,
            LookupError,
        ) as error:
            raise InputError(
                f"{file}: the weights cannot be read as tensors; download the file again."
            ) from error
    return weights


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: this is not JSON ({error}); download it again.") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: an object is expected, got {type(content).__name__}.")
    return content
