"""The engine that searches: CTranslate2 wherever it can run the model, our own for all else.

A model is converted when it first translates. The result is kept in the model's folder with the
checksum of the files it was made from, and with its proof (`regard.decoding.ctranslate2_folder`).

A model that was converted before is opened without torch. One that was converted elsewhere is
first compared with its weights.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path

from regard.decoding.ctranslate2_engine import CTranslate2Engine
from regard.decoding.ctranslate2_folder import (
    FOLDER,
    Conversion,
    EngineCheck,
    engine_cache,
    installed,
    open_engine,
    read_conversion,
    verified_conversion,
)
from regard.errors import BusyError, InputError
from regard.exchange.requirements import ctranslate2_obstacle
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
    """The engine of a model whose conversion is known to be right; None if there is none."""
    if _missing(saved):
        return None
    try:
        model = _name(saved)
        conversion = verified_conversion(_homes(saved.path, model), model, precision)
        if conversion is not None:
            return _choice(saved, conversion, threads)
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
    return ctranslate2_obstacle(saved.run)


def _converted(saved: SavedModel, threads: int, precision: str) -> EngineChoice:
    """The engine of a model that is converted now, if only to compare an earlier conversion."""
    from tempfile import TemporaryDirectory

    from regard.exchange.engine_conversion import verify_conversion

    model = _name(saved)
    homes = _homes(saved.path, model)
    for home in homes:
        conversion = read_conversion(home, model, precision)
        if conversion is not None and verify_conversion(saved, conversion, model):
            return _choice(saved, conversion, threads)
    writable = homes[0] if os.access(saved.path, os.W_OK | os.X_OK) else homes[1]
    try:
        return _newly_converted(saved, writable, model, threads, precision)
    except (OSError, BusyError):  # the disk is full, or another process converts it
        with TemporaryDirectory(prefix="regard-engine-") as folder:
            return _newly_converted(saved, Path(folder) / FOLDER, model, threads, precision)


def _newly_converted(
    saved: SavedModel, home: Path, model: str, threads: int, precision: str
) -> EngineChoice:
    """The engine of a model that is converted now, into the folder `home`."""
    from regard.exchange.engine_conversion import convert_engine

    convert_engine(saved, home, model, threads)
    made = read_conversion(home, model, precision)
    if made is None:
        raise OSError(f"{home}: the conversion was changed while it was written.")
    return _choice(saved, made, threads)


def _choice(saved: SavedModel, conversion: Conversion, threads: int) -> EngineChoice:
    engine = open_engine(
        conversion.folder,
        saved.tokenizers.source,
        saved.tokenizers.target,
        max_length=saved.run.model.max_length,
        threads=threads,
        precision=conversion.precision,
        device=saved.device,
    )
    return EngineChoice(engine, "", conversion.check)


def _name(saved: SavedModel) -> str:
    """What a conversion depends on."""
    return f"{installed()}-{saved.checksum}"


def _homes(folder: Path, model: str) -> tuple[Path, Path]:
    """Where a conversion may be: in the model's folder, or in the user's cache."""
    return folder / FOLDER, engine_cache() / model
