"""The engine that searches: CTranslate2 wherever it can run the model, our own for all else.

A model is converted when it first translates. The result is kept in the model's folder with the
checksum of the files it was made from, and with its proof:

    engine/engine.json    checksums, precision, and the figures of the check
    engine/int8, fp32     model folders of CTranslate2

The check translates sentences of the development set: in full precision CTranslate2 must give the
log-probabilities of our own forward pass; int8 is used if its BLEU on at least a hundred sentences
is at most 0.1 lower.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch

from regard.config import SearchOptions
from regard.config.run import EnginePrecision
from regard.config.stored import model_checksum
from regard.decoding import score
from regard.decoding.ctranslate2_engine import CTranslate2Engine
from regard.errors import InputError
from regard.evaluation import corpus_bleu
from regard.exchange.ctranslate2_converter import convert, vocabulary
from regard.exchange.ctranslate2_support import (
    FOLDER,
    PROOF,
    EngineCheck,
    installed,
    missing,
    read_proof,
)
from regard.exchange.proof import development_pairs
from regard.folder import SavedModel
from regard.models.batch import source_of
from regard.models.ensemble import EnsembleModel
from regard.storage import atomic_folder, checksum, replace_file

ENGINES = ("auto", "ctranslate2", "torch")
PRECISIONS = ("auto", "int8", "fp32")

MAX_COMPARED = 32  # sentences of the development set whose log-probabilities are compared
MAX_SENTENCES = 500  # whose BLEU is measured
MAX_LOG_DIFFERENCE = 0.02

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
            return _open(saved, threads, precision)
        except (RuntimeError, OSError, ValueError) as error:
            reason = f"CTranslate2 cannot run it: {str(error).splitlines()[0]}"
            log.debug("no CTranslate2 engine", exc_info=True)
    if engine == "ctranslate2":
        raise InputError(f"{saved.path}: {reason}; use --engine torch or auto.")
    return EngineChoice(None, reason)


def _missing(saved: SavedModel) -> str:
    """Why CTranslate2 cannot be used at all; empty if it can."""
    device = next(saved.network.parameters()).device.type
    if device not in ("cpu", "cuda"):
        return f"CTranslate2 does not run on {device}"
    if isinstance(saved.network, EnsembleModel):
        return "CTranslate2 cannot run an ensemble"
    return missing(saved.run)


def _open(saved: SavedModel, threads: int, precision: str) -> EngineChoice:
    """The engine from the cache; converted and checked if there is none that fits."""
    model = f"{installed()}-{model_checksum(saved.path)}"
    home = _home(saved.path, model)
    check = _read_proof(home, model) or _convert(saved, home, model, threads)
    chosen = check.precision if precision == "auto" else cast(EnginePrecision, precision)
    return EngineChoice(_engine(saved, home / chosen, threads, chosen), "", check)


def _engine(
    saved: SavedModel, folder: Path, threads: int, precision: EnginePrecision
) -> CTranslate2Engine:
    source, target = map(vocabulary, (saved.tokenizers.source, saved.tokenizers.target))
    device = next(saved.network.parameters()).device.type
    room = cast(int, saved.network.max_length)
    return CTranslate2Engine(
        folder, source, target,
        max_length=room, threads=threads, precision=precision, device=device,
    )  # fmt: skip


def _convert(saved: SavedModel, home: Path, model: str, threads: int) -> EngineCheck:
    """Write both precisions and their proof, all or nothing."""
    home.parent.mkdir(parents=True, exist_ok=True)
    try:
        with atomic_folder(home) as draft:
            engines = {}
            precisions: tuple[EnginePrecision, ...] = ("fp32", "int8")
            for precision in precisions:
                convert(
                    saved.network, saved.run, saved.tokenizers,  # type: ignore[arg-type]  # a Transformer
                    draft / precision, int8=precision == "int8",
                )  # fmt: skip
                engines[precision] = _engine(saved, draft / precision, threads, precision)
            check = _check(saved, engines["fp32"], engines["int8"])
            files = [path for path in sorted(draft.rglob("*")) if path.is_file()]
            sums = {str(path.relative_to(draft)): checksum(path) for path in files}
            proof = {"model": model, "files": sums, "check": asdict(check)}
            replace_file(draft / PROOF, json.dumps(proof, indent=1) + "\n")
            shutil.rmtree(home, ignore_errors=True)
    except OSError:
        made = _read_proof(home, model)  # perhaps another process was faster
        if made is None:
            raise
        return made
    return check


def _check(saved: SavedModel, fp32: CTranslate2Engine, int8: CTranslate2Engine) -> EngineCheck:
    """Translate development sentences with both; wrong log-probabilities are an error."""
    pairs = development_pairs(saved.path)[:MAX_SENTENCES]
    encode, room = saved.tokenizers.source.encode, fp32.max_length - 1
    encoded = [(encode(source), target) for source, target in pairs]
    encoded = [(ids, target) for ids, target in encoded if 0 < len(ids) <= room]
    if not encoded:  # nothing is known of the language: compare on sentences of single tokens
        known = len(saved.tokenizers.source)
        encoded = [([number % known], "") for number in range(5, 5 + MAX_COMPARED)]
        pairs = []
    sources = [ids for ids, _ in encoded]
    options = replace(saved.run.decoding, sample=False, n_best=1)
    if not CTranslate2Engine.can_search(options):
        options = SearchOptions()
    difference = _log_difference(saved, fp32, sources[:MAX_COMPARED], options)
    if difference > MAX_LOG_DIFFERENCE:
        raise ValueError(
            f"its log-probabilities differ by up to {difference:.3f} from the model's own"
        )
    compared = min(MAX_COMPARED, len(sources))
    if not pairs:
        return EngineCheck(compared, difference)
    decode, language = saved.tokenizers.target.decode, saved.run.target_language
    references = [target for _, target in encoded]
    bleu = [
        corpus_bleu(
            [decode(r.hypotheses[0].tokens) if r else "" for r in engine.search(sources, options)],
            references,
            language,
        )
        for engine in (fp32, int8)
    ]
    return EngineCheck(compared, difference, len(sources), *bleu)


def _log_difference(
    saved: SavedModel, engine: CTranslate2Engine, sources: Sequence[list[int]], options: Any
) -> float:
    """The largest difference of a token's log-probability from our own forward pass."""
    found = [
        (ids, result.hypotheses[0])
        for ids, result in zip(sources, engine.search(sources, options), strict=True)
        if result is not None
    ]
    if not found:
        return 0.0
    ids = [source for source, _ in found]
    hypotheses = engine.token_log_probabilities(ids, [best for _, best in found], options)
    device = next(saved.network.parameters()).device
    with torch.inference_mode():
        own = score(
            saved.network,  # type: ignore[arg-type]  # a Transformer
            source_of(ids).to(device),
            [hypothesis.tokens for hypothesis in hypotheses],
        )
    return max(
        abs(a - b)
        for hypothesis, other in zip(hypotheses, own, strict=True)
        for a, b in zip(
            hypothesis.token_log_probabilities, other.token_log_probabilities, strict=False
        )
    )


def _home(folder: Path, model: str) -> Path:
    """The folder of the conversion: in the model's folder, or in the user's cache."""
    if os.access(folder, os.W_OK | os.X_OK):
        return folder / FOLDER
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "regard" / "engines" / model


def _read_proof(home: Path, model: str) -> EngineCheck | None:
    """The check of a conversion of this very model; None if there is none or it is damaged."""
    proof = read_proof(home)
    with suppress(OSError, TypeError, KeyError, AttributeError):
        files = proof["files"]
        whole = all(checksum(home / name) == files[name] for name in files)
        if proof["model"] == model and whole and files:
            return EngineCheck(**proof["check"])
    return None
