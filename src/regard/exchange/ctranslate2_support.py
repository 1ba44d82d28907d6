"""Which models CTranslate2 can run, by their settings, and what is kept of a conversion."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, cast

from regard.config import Run
from regard.config.search import EnginePrecision
from regard.decoding.ctranslate2_engine import CTranslate2Engine
from regard.exchange.requirements import unsupported
from regard.folder import SavedModel
from regard.storage import checksum
from regard.text import Tokenizer

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH", "tanh": "Tanh"}
POSITIONS = ("sinusoidal", "learned", "none")


FOLDER, PROOF = "engine", "engine.json"
MIN_SENTENCES, MAX_BLEU_LOSS = 100, 0.1


@dataclass(frozen=True)
class EngineCheck:
    """What was measured when a model was converted.

    compared        sentences whose log-probabilities were compared with our own forward pass
    log_difference  the largest difference of a token's log-probability, in full precision
    sentences       sentences whose BLEU was measured
    bleu_fp32, bleu_int8  of the development set, by the model's own search settings
    """

    compared: int = 0
    log_difference: float = 0.0
    sentences: int = 0
    bleu_fp32: float = 0.0
    bleu_int8: float = 0.0

    @property
    def precision(self) -> EnginePrecision:
        """int8 where it was measured to be as good."""
        measured = self.sentences >= MIN_SENTENCES
        good = self.bleu_int8 >= self.bleu_fp32 - MAX_BLEU_LOSS
        return "int8" if measured and good else "fp32"


def installed() -> str | None:
    """The version of CTranslate2, or None."""
    try:
        return version("ctranslate2")
    except PackageNotFoundError:
        return None


def missing(run: Run) -> str:
    """Why CTranslate2 cannot be used for a model; empty if it can."""
    if installed() is None:
        return "CTranslate2 is not installed (pip install 'regard[fast]')"
    setting = unsupported(run, positions=POSITIONS, activations=ACTIVATIONS)
    return f"CTranslate2 cannot run a model with {setting}" if setting else ""


def vocabulary(tokenizer: Tokenizer) -> list[str]:
    """The tokens of a vocabulary as text, all different, in the order of their ids."""
    seen: set[str] = set()
    tokens = []
    for number, piece in enumerate(tokenizer.pieces(range(len(tokenizer)))):
        token = piece if piece not in seen and "\n" not in piece else f"<{number}>"
        seen.add(token)
        tokens.append(token)
    return tokens


def read_proof(home: Path) -> dict[str, Any]:
    """What is noted beside a conversion; empty if there is none, or if the file is damaged."""
    try:
        proof = json.loads((home / PROOF).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return proof if isinstance(proof, dict) else {}


class Conversion(NamedTuple):
    """A conversion in one precision.

    folder  of CTranslate2
    files   checksums of all files in it
    check   what was measured when it was made
    """

    folder: Path
    files: Mapping[str, str]
    precision: EnginePrecision
    check: EngineCheck


def read_conversion(home: Path, model: str, precision: str = "auto") -> Conversion | None:
    """The conversion that is said to be of this model; None if there is none or it is damaged.

    Only the files of the precision that is used are read.
    """
    proof = read_proof(home)
    with suppress(OSError, TypeError, LookupError, AttributeError, ValueError):
        check = EngineCheck(**proof["check"])
        used = check.precision if precision == "auto" else cast(EnginePrecision, precision)
        files = file_checksums(home / used)
        noted = {
            str(Path(name).relative_to(used)): value
            for name, value in proof["files"].items()
            if Path(name).parts[0] == used
        }
        if proof["model"] == model and files == noted and files:
            return Conversion(home / used, files, used, check)
    return None


def file_checksums(folder: Path) -> dict[str, str]:
    """The checksum of every file in a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): checksum(path) for path in files}


def open_engine(
    saved: SavedModel, folder: Path, threads: int, precision: EnginePrecision
) -> CTranslate2Engine:
    """The engine in a folder of CTranslate2."""
    source, target = map(vocabulary, (saved.tokenizers.source, saved.tokenizers.target))
    return CTranslate2Engine(
        folder,
        source,
        target,
        max_length=saved.run.model.max_length,
        threads=threads,
        precision=precision,
        device=saved.device.partition(":")[0],
    )
