"""A model on disk: a folder that holds everything needed to rebuild it, and never a pickle.

    config.yaml          settings: format_version, languages, model, text, training, …
    model.safetensors    weights
    tokenizer.*          one tokeniser, or tokenizer.source.* and tokenizer.target.*
    metrics.json         what was measured
    README.md            the model card
    checkpoints/, latest a run in progress

Every file is written as a whole or not at all.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from regard.config import Run
from regard.config.settings import plain
from regard.config.stored import CONFIG, METRICS, model_checksum, model_identity
from regard.cores import cores
from regard.errors import InputError, StorageError
from regard.storage import atomic_path, default_mode, replace_file
from regard.text import Tokenizer, load
from regard.text.sentencepiece_tokenizer import SentencePieceTokenizer
from regard.text.tokenizer import NullTokenizer
from regard.version import __version__

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch import device as Device

WEIGHTS, CARD = "model.safetensors", "README.md"


@dataclass(frozen=True)
class Tokenizers:
    """The tokenisers of both sides; one and the same if they are shared."""

    source: Tokenizer
    target: Tokenizer

    @property
    def shared(self) -> bool:
        """Whether both sides have one."""
        return self.source is self.target


@dataclass(frozen=True)
class SavedModel:
    """What a folder holds; the network is built, and torch imported, when it is first used.

    num_networks  more than one in an ensemble
    identity      of the files that were read (`model_identity`)
    """

    path: Path
    run: Run
    tokenizers: Tokenizers
    build_network: Callable[[], nn.Module]
    metrics: Mapping[str, Any]
    device: str = "cpu"
    num_networks: int = 1
    identity: Sequence[object] | None = None

    @cached_property
    def network(self) -> nn.Module:
        """The network with its weights, as in use."""
        return self.build_network().eval()

    @cached_property
    def checksum(self) -> str:
        """The checksum of the files that were read."""
        checksum = model_checksum(self.path)
        if self.identity not in (None, model_identity(self.path)):
            raise self._changed()
        return checksum

    def check_unchanged(self) -> None:
        """Raise an error if other files have taken the place of those that were read."""
        with suppress(OSError):
            if self.identity in (None, model_identity(self.path)):
                return
            if model_checksum(self.path) == vars(self).get("checksum"):
                return  # the same again, or a file system whose numbers of files change
        raise self._changed()

    def _changed(self) -> InputError:
        return InputError(f"{self.path}: the model was changed since it was opened; open it again.")


class LoadedModel:
    """Base of the façades: the model of a folder; `threads` are the cores it may use, 0 for all."""

    tokenizer: Tokenizer
    """The tokenizer of a model of one language."""

    def __init__(self, saved: SavedModel, threads: int = 0) -> None:
        self.saved, self.run, self.path = saved, saved.run, saved.path
        self.tokenizers, self.tokenizer = saved.tokenizers, saved.tokenizers.target
        self.threads = cores(threads) if saved.device == "cpu" else 1

    @cached_property
    def network(self) -> Any:
        """The network, which is built on first use."""
        return self.saved.network

    @cached_property
    def device(self) -> Device:
        """The device of the network."""
        return next(self.saved.network.parameters()).device

    def use_engine(self, engine: str = "auto", precision: str = "auto") -> None:
        """Choose the engine; most kinds of model have our own only.

        Whatever is wrong with the model is an error now.
        """
        _ = self.network
        if engine not in ("auto", "torch") or precision not in ("auto", "fp32"):
            raise InputError(
                f"{self.path}: a model of the kind {self.run.model.kind} has the engine torch in "
                f"fp32 only, got {engine} in {precision}."
            )


def save_run(folder: Path, run: Run) -> None:
    """Write config.yaml."""
    settings = {**plain(run), "regard": __version__}
    replace_file(folder / CONFIG, yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))


def save_tokenizers(folder: Path, tokenizers: Tokenizers) -> None:
    """Write the tokeniser of each side, or the one of both."""
    suffix = "model" if isinstance(tokenizers.source, SentencePieceTokenizer) else "json"
    if tokenizers.shared:
        tokenizers.source.save(folder / f"tokenizer.{suffix}")
        return
    tokenizers.source.save(folder / f"tokenizer.source.{suffix}")
    tokenizers.target.save(folder / f"tokenizer.target.{suffix}")


def load_tokenizers(folder: Path) -> Tokenizers:
    """The tokenisers in a folder."""
    for suffix in ("model", "json"):
        if (folder / f"tokenizer.{suffix}").is_file():
            both = load(folder / f"tokenizer.{suffix}")
            return Tokenizers(both, both)
        if (folder / f"tokenizer.source.{suffix}").is_file():
            return Tokenizers(
                load(folder / f"tokenizer.source.{suffix}"),
                load(folder / f"tokenizer.target.{suffix}"),
            )
    raise InputError(f"{folder}: no tokeniser is in it; copy the whole folder of the model.")


def no_tokenizers() -> Tokenizers:
    """Those of a model that reads no text."""
    none = NullTokenizer()
    return Tokenizers(none, none)


def save_weights(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Write tensors; what is shared under several names is written under the first."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        with atomic_path(path) as draft, default_mode(draft):
            save_file(_once(weights), draft, metadata={"format": "pt"})
    except SafetensorError as error:  # this library's error for a full disk
        reason = str(error).removeprefix("Error while serializing: ").removeprefix("I/O error: ")
        raise StorageError(f"{path}: the weights cannot be written ({reason}).") from error


def load_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: the weights cannot be read ({error}).") from error


def hold_weights(path: Path) -> Callable[[], dict[str, Tensor]]:
    """Copy a file of weights to a temporary one; return what loads them, whatever becomes of it.

    The copy has no name and takes no memory; its space is freed with the function.
    """
    from tempfile import TemporaryFile, gettempdir

    copy = TemporaryFile(prefix="regard-weights-")  # noqa: SIM115  # open as long as the function
    try:
        with path.open("rb") as file:
            shutil.copyfileobj(file, copy, 1 << 20)
    except OSError as error:
        raise InputError(
            f"{path}: the weights cannot be copied to {gettempdir()} ({error.strerror}); make room "
            "there, or set TMPDIR to another folder."
        ) from error

    def load() -> dict[str, Tensor]:
        from safetensors import SafetensorError
        from safetensors.torch import load as load_bytes

        copy.seek(0)
        try:
            return load_bytes(copy.read())
        except SafetensorError as error:
            raise InputError(f"{path}: the weights cannot be read ({error}).") from error

    return load


def put_weights(network: nn.Module, weights: Mapping[str, Tensor], place: str) -> None:
    """Give a network its weights; any that is missing, unknown or of another shape is an error."""
    expected = _once(network.state_dict())
    wrong = sorted(set(expected) ^ set(weights)) or [
        name for name in expected if expected[name].shape != weights[name].shape
    ]
    if wrong:
        raise InputError(
            f"{place}: the weights do not fit the settings beside them (first: {wrong[0]}); "
            "the files are of different models."
        )
    network.load_state_dict(dict(weights), strict=False)


def save_metrics(folder: Path, metrics: Mapping[str, Any]) -> None:
    """Write metrics.json."""
    replace_file(folder / METRICS, json.dumps(metrics, indent=2, ensure_ascii=False) + "\n")


def _once(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Each tensor under its first name only."""
    seen: dict[int, str] = {}
    for name, tensor in weights.items():
        seen.setdefault(tensor.data_ptr(), name)
    return {name: weights[name].detach().contiguous() for name in seen.values()}


def model_names(folders: Sequence[str | PathLike[str]]) -> list[str]:
    """The names of models: their folders' names, with the parent folder where they are ambiguous.

    >>> model_names(["runs/small/model", "a/rnn", "b/rnn", "b/rnn", "base"])
    ['small/model', 'a/rnn', 'b/rnn', 'b/rnn-2', 'base']
    """
    paths = [Path(folder).resolve() for folder in folders]
    alike = Counter(path.name for path in paths)
    names: list[str] = []
    for path in paths:
        ambiguous = path.name == "model" or alike[path.name] > 1
        name = f"{path.parent.name}/{path.name}" if ambiguous else path.name
        numbered = (f"{name}-{number}" for number in range(2, len(paths) + 2))
        names.append(next(candidate for candidate in (name, *numbered) if candidate not in names))
    return names
