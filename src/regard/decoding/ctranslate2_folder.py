"""A model that was converted for CTranslate2: what is kept of it, and how it is opened.

    engine/engine.json    checksums of the model and of all files, and the figures of the check
    engine/int8, fp32     model folders of CTranslate2

A folder's own proof is as easily made as its files: whoever hands over a folder may have put the
engine of another model into it. So the first time that a user has a folder's engine, it is compared
with a conversion made then (`regard.exchange.engine_conversion`); that it was the same is noted
outside of the folder, in the user's cache, by the checksums of the model and of all files of the
engine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, cast

from regard.config.search import EnginePrecision
from regard.decoding.ctranslate2_engine import CTranslate2Engine
from regard.storage import checksum, replace_file
from regard.text import Tokenizer

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


def verified_conversion(
    homes: Iterable[Path], model: str, precision: str = "auto"
) -> Conversion | None:
    """The first conversion of a model that is known to be right; None if there is none."""
    for home in homes:
        conversion = read_conversion(home, model, precision)
        if conversion is not None and _note(model, conversion.files).is_file():
            return conversion
    return None


def engine_cache() -> Path:
    """The folder of what is known of engines, in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "regard" / "engines"


def note_verified(model: str, files: Mapping[str, str]) -> None:
    """Note that files with these checksums are a conversion of a model.

    Without a cache to write to, they will be compared again.
    """
    note = _note(model, files)
    with suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        replace_file(note, json.dumps({"model": model, "files": files}, indent=1) + "\n")


def _note(model: str, files: Mapping[str, str]) -> Path:
    named = json.dumps([model, sorted(files.items())])
    return engine_cache() / "verified" / f"{sha256(named.encode()).hexdigest()}.json"


def open_engine(
    folder: Path,
    source: Tokenizer,
    target: Tokenizer,
    *,
    max_length: int,
    threads: int = 1,
    precision: EnginePrecision = "fp32",
    device: str = "cpu",
) -> CTranslate2Engine:
    """The engine in a folder of CTranslate2, which was converted with these tokenizers."""
    return CTranslate2Engine(
        folder,
        vocabulary(source),
        vocabulary(target),
        max_length=max_length,
        threads=threads,
        precision=precision,
        device=device.partition(":")[0],
    )
