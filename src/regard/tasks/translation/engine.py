"""The engine that searches: CTranslate2 wherever it can run the model, our own for all else.

A model is converted when it first translates. The result is kept in the model's folder with the
checksum of the files it was made from, and with its proof:

    engine/engine.json    checksums, precision, and the figures of the check
    engine/int8, fp32     model folders of CTranslate2

A model that was converted before is opened without torch.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from regard.config.run import EnginePrecision
from regard.config.stored import model_checksum
from regard.decoding.ctranslate2_engine import CTranslate2Engine
from regard.errors import InputError
from regard.exchange.ctranslate2_support import (
    FOLDER,
    EngineCheck,
    checked,
    installed,
    missing,
    open_engine,
)
from regard.folder import SavedModel

ENGINES = ("auto", "ctranslate2", "torch")
PRECISIONS = ("auto", "int8", "fp32")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineChoice:
    """What searches: CTranslate2 with its check, or our own engine (None) and the reason."""

    engine: CTranslate2Engine | None
    reason: str = ""
    check: EngineCheck | None = None


def check_names(engine: str, precision: str) -> None:
    """Raise an error for names that are not known, or that do not go together."""
    for name, value, known in (
        ("engine", engine, ENGINES),
        ("precision", precision, PRECISIONS),
    ):
        if value not in known:
            raise InputError(f"{name} must be {', '.join(known)}, got {value!r}.")
    if engine == "torch" and precision == "int8":
        raise InputError("precision int8 is CTranslate2's; leave --engine torch out.")


def choose_engine(
    saved: SavedModel, threads: int, engine: str = "auto", precision: str = "auto"
) -> EngineChoice:
    """Convert the model if need be, and open it; with "auto", our own engine where that fails."""
    check_names(engine, precision)
    reason = "engine torch was chosen" if engine == "torch" else _missing(saved)
    if not reason:
        try:
            opened = open_converted(saved, threads, precision)
            return opened or _converted(saved, threads, precision)
        except (RuntimeError, OSError, ValueError) as error:
            reason = f"CTranslate2 cannot run it: {str(error).splitlines()[0]}"
            log.debug("no CTranslate2 engine", exc_info=True)
    if engine == "ctranslate2":
        raise InputError(f"{saved.path}: {reason}; use --engine torch or auto.")
    return EngineChoice(None, reason)


def open_converted(saved: SavedModel, threads: int, precision: str) -> EngineChoice | None:
    """The engine of a model that was converted before; None if it was not."""
    if _missing(saved):
        return None
    try:
        model = _name(saved)
        home = _home(saved.path, model)
        check = checked(home, model, precision)
        return _choice(saved, home, threads, precision, check) if check else None
    except (RuntimeError, OSError, ValueError):
        log.debug("the CTranslate2 engine cannot be opened", exc_info=True)
        return None


def _missing(saved: SavedModel) -> str:
    """Why CTranslate2 cannot be used at all; empty if it can."""
    device = saved.device.partition(":")[0]
    if device not in ("cpu", "cuda"):
        return f"CTranslate2 does not run on {device}"
    if saved.num_networks > 1:
        return "CTranslate2 cannot run an ensemble"
    return missing(saved.run)


def _converted(saved: SavedModel, threads: int, precision: str) -> EngineChoice:
    """The engine of a model that is converted now."""
    from regard.exchange.engine_conversion import convert_engine

    model = _name(saved)
    home = _home(saved.path, model)
    check = convert_engine(saved, home, model, threads)
    return _choice(saved, home, threads, precision, check)


def _choice(
    saved: SavedModel, home: Path, threads: int, precision: str, check: EngineCheck
) -> EngineChoice:
    chosen = check.precision if precision == "auto" else cast(EnginePrecision, precision)
    return EngineChoice(open_engine(saved, home / chosen, threads, chosen), "", check)


def _name(saved: SavedModel) -> str:
    """What a conversion depends on."""
    return f"{installed()}-{model_checksum(saved.path)}"


def _home(folder: Path, model: str) -> Path:
    """The folder of the conversion: in the model's folder, or in the user's cache."""
    if os.access(folder, os.W_OK | os.X_OK):
        return folder / FOLDER
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "regard" / "engines" / model
