"""The settings of a run that begins with a trained model: its own but for the training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from regard.config.kind import Kind
from regard.config.run import Run, TrainingSettings
from regard.config.settings import ENDS, Settings, merged, plain, resolved, run_from
from regard.config.stored import load_run
from regard.errors import InputError

RATE = 0.3  # of the learning rate that the model was trained with
EPOCHS = 3.0
DROPOUTS = ("dropout", "attention_dropout", "activation_dropout")
"""Settings of a model that its weights do not depend on."""
_DEFAULTS = (
    "schedule_steps",
    "restart_rate",
    "target_exact_match",
    "vectors",
    "vectors_source",
    "vectors_target",
    "guided_alignment",
    "guided_layer",
    "guide",
)
"""Settings of the first training that are not taken over."""


def new_run(given: Settings, preset: str | None, kinds: Mapping[str, Kind]) -> Run:
    """Return the settings of a new run: of a preset, or of the model that it starts from.

    Of that model all is kept but the end of the training, the height of the learning rate, and what
    is given; a given setting that its weights or its vocabulary do not fit is an error.
    """
    folder = (given.get("training") or {}).get("start_from")
    if not folder:
        return resolved(given, preset or "small", kinds)
    if preset:
        raise InputError(f"--preset is for a new model, and {folder} has its size; leave it out.")
    own = load_run(folder, kinds)
    settings = {n: v for n, v in plain(own).items() if n not in ("alignment", "format_version")}
    defaults = {f.name: f.default for f in fields(TrainingSettings) if f.name in _DEFAULTS}
    rate = round(RATE * own.training.learning_rate, 8)
    fresh = {**defaults, **dict.fromkeys(ENDS), "learning_rate": rate}
    if all((given.get("training") or {}).get(end) is None for end in ENDS):
        fresh["epochs"] = EPOCHS
    stated = dict(given)
    if len(own.directions) > 1 and given.get("languages"):  # it keeps those that it has
        both = dict.fromkeys([*own.languages.split(","), *given["languages"].split(",")])
        stated["languages"] = ",".join(both)
    run = run_from(merged(merged(settings, {"training": fresh}), stated), kinds)
    for section in ("model", "text"):
        _check_same(section, getattr(own, section), getattr(run, section), folder)
    return run


def _check_same(section: str, own: Any, wanted: Any, folder: str) -> None:
    """Raise an error for a setting that the weights or the vocabulary do not fit."""
    names = [field.name for field in fields(own)]
    if type(own) is not type(wanted):
        names = ["kind"]
    for name in names:
        old, new = getattr(own, name), getattr(wanted, name)
        if old != new and name not in DROPOUTS:
            raise InputError(
                f"{section}.{name} is {_shown(old)} in {folder}, and training from it keeps it, "
                f"got {_shown(new)}; leave it out, or train anew without --from."
            )


def _shown(value: Any) -> Any:
    return getattr(value, "name", value)
