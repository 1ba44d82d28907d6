"""One folder per kind of model, and the registry through which every command finds its kind.

A folder registers its kinds in `KINDS`, in a module without torch. A kind from outside is an entry
point of the group `regard.tasks` that names such a `KINDS`:

    [project.entry-points."regard.tasks"]
    toy = "toy_package:KINDS"

>>> regard.load("model").translate("The cat sleeps.").text  # doctest: +SKIP
'Le chat dort.'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.command import command
from regard.config.kind import Command, Kind, ModelSettings
from regard.config.run import Run
from regard.errors import InputError

if TYPE_CHECKING:
    from torch import device as Device

    from regard.folder import SavedModel
    from regard.training.task import Task

GROUP = "regard.tasks"


class Registry(Mapping[str, Kind]):
    """All kinds of model by name: the built-in ones, then those of installed packages."""

    def __getitem__(self, name: str) -> Kind:
        return self._built_in[name] if name in self._built_in else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def commands(self) -> dict[str, Command]:
        """Return the commands that kinds add to the command line."""
        return {name: added for kind in self.values() for name, added in kind.commands.items()}

    @cached_property
    def _built_in(self) -> dict[str, Kind]:
        from regard.tasks import (
            classification,
            handwriting,
            language_model,
            masked_language_model,
            translation,
        )

        folders = (
            translation,
            language_model,
            masked_language_model,
            classification,
            handwriting,
        )
        return {kind.name: kind for folder in folders for kind in folder.KINDS}

    @cached_property
    def _all(self) -> dict[str, Kind]:
        from importlib.metadata import entry_points

        kinds = dict(self._built_in)
        for point in entry_points(group=GROUP):
            try:
                registered: Iterable[Kind] = point.load()
                kinds |= {kind.name: kind for kind in registered if kind.name not in kinds}
            except Exception as error:
                raise InputError(
                    f"the kind of model {point.name} ({point.value}) cannot be loaded: {error}; "
                    "reinstall or remove its package."
                ) from error
        return kinds


KINDS = Registry()


def find_task(name: str) -> Task:
    """Return the task that trains a kind of model."""
    kind = KINDS[name]
    task: Task = kind.task(kind)
    return task


def build(settings: ModelSettings, source_vocab: int, target_vocab: int) -> Any:
    """Return a network for the settings of any kind, with random weights."""
    from regard.models.build import build_network

    return build_network(find_task(settings.kind).build, settings, source_vocab, target_vocab)


def load_run(folder: str | PathLike[str]) -> Run:
    """Return the settings in a model folder."""
    from regard.config import stored

    return stored.load_run(folder, KINDS)


def load(
    folder: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    device: str = "cpu",
    threads: int = 0,
    run: Run | None = None,
    engine: str = "auto",
    precision: str = "auto",
    hold: bool = False,
) -> Any:
    """Load the model in a folder: a `Translator`, or whatever its kind of model gives.

    folder     several make an ensemble: the mean of the models' probabilities
    threads    how many cores it may use, 0 for all
    run        its settings, if they are known
    engine     what searches for translations: auto, ctranslate2 or torch
    precision  of CTranslate2: auto, int8 or fp32
    hold       keep a copy of weights that are read later, in case that the folder is changed then
    """
    if isinstance(folder, str | PathLike):
        saved = open_folder(folder, device, run, hold=hold)
    else:
        from regard.tasks.ensemble import combine

        saved = combine([load_folder(each, device) for each in folder])
    model = KINDS[saved.run.model.kind].facade(saved, threads)
    if hasattr(model, "use_engine") or (engine, precision) != ("auto", "auto"):
        model.use_engine(engine, precision)
    return model


def load_folder(
    folder: str | PathLike[str], device: str | Device = "cpu", run: Run | None = None
) -> SavedModel:
    """Rebuild the network that a folder holds."""
    saved = open_folder(folder, device, run)
    _ = saved.network
    return saved


def open_folder(
    folder: str | PathLike[str],
    device: str | Device = "cpu",
    run: Run | None = None,
    *,
    hold: bool = False,
) -> SavedModel:
    """Read a folder without torch; the network is rebuilt when it is first used.

    Its weights must be the same then, unless a copy is held.
    """
    from regard.config.stored import load_metrics, model_identity
    from regard.folder import WEIGHTS, SavedModel, hold_weights, load_tokenizers, no_tokenizers

    path = Path(folder)
    identity = model_identity(path) if path.is_dir() else None
    settings = run or load_run(path)
    if not (path / WEIGHTS).is_file():
        raise InputError(
            f"{path}: there is no {WEIGHTS} yet; its training was stopped before the first "
            f"validation: continue with `{command('train', '--resume', path)}`."
        )
    kind = settings.model.kind
    reads_text = any(path.glob("tokenizer.*")) or find_task(kind).reads_text(settings)
    tokenizers = load_tokenizers(path) if reads_text else no_tokenizers()
    held = hold_weights(path / WEIGHTS) if hold else None

    def build_network() -> Any:
        import torch

        from regard.folder import load_weights, put_weights

        with torch.device(device):
            network = build(settings.model, len(tokenizers.source), len(tokenizers.target))
        weights = held() if held else load_weights(path / WEIGHTS)
        put_weights(network, weights, str(path / WEIGHTS))
        if not held:
            saved.check_unchanged()
        return network

    metrics = load_metrics(path)
    saved = SavedModel(
        path, settings, tokenizers, build_network, metrics, device=str(device), identity=identity
    )
    return saved
