"""Which conversions in model folders were made, or compared with the weights, on this computer.

A folder's own proof is as easily made as its files: whoever hands over a folder may have put the
engine of another model into it. So the first time that a user has a folder's engine, it is compared
with a conversion made then; that it was the same is noted outside of the folder, in the user's
cache, by the checksums of the model and of all files of the engine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from regard.storage import replace_file


def engine_cache() -> Path:
    """The folder of what is known of engines, in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "regard" / "engines"


def is_verified(model: str, files: Mapping[str, str]) -> bool:
    """Whether files with these checksums are known to be a conversion of a model."""
    return _note(model, files).is_file()


def note_verified(model: str, files: Mapping[str, str]) -> None:
    """Note that they are; without a cache to write to, they will be compared again."""
    note = _note(model, files)
    with suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        replace_file(note, json.dumps({"model": model, "files": files}, indent=1) + "\n")


def _note(model: str, files: Mapping[str, str]) -> Path:
    named = json.dumps([model, sorted(files.items())])
    return engine_cache() / "verified" / f"{sha256(named.encode()).hexdigest()}.json"
