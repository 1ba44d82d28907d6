"""The size of a model folder on disk, and removing what only training needs.

Only files that training is known to write are counted as its own, and only these are removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from regard.config.stored import CONFIG, METRICS, load_metrics
from regard.errors import InputError
from regard.write_lock import LOCK

WEIGHTS, CHECKPOINTS = "model.safetensors", "checkpoints"
KEPT = (WEIGHTS, CONFIG, METRICS, "README.md", "tokenizer*.model", "tokenizer*.json")
"""Files that are needed to use a model, and that describe it."""

TRAINING = {
    "checkpoints": (
        f"{CHECKPOINTS}/step-*/tensors.safetensors",
        f"{CHECKPOINTS}/step-*/state.json",
        f"{CHECKPOINTS}/.step-*/**/*",
        f"{CHECKPOINTS}/corpus.safetensors",
        f"{CHECKPOINTS}/dev.json",
        f"{CHECKPOINTS}/checksums.json",
        "latest",
    ),
    "logs": (
        "metrics.jsonl",
        "samples.jsonl",
        "status.json",
        "tensorboard/events.out.tfevents.*",
    ),
}
"""Files that only training needs."""


def usage(folder: Path) -> dict[str, int]:
    """Return the bytes of a folder's files: model, engine, checkpoints, logs, others, total."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != LOCK)
    sizes = {path: path.stat().st_size for path in files}
    groups = {"model": KEPT, "engine": ("engine/**/*",), **TRAINING}
    parts = {name: sum(map(_size, _files(folder, patterns))) for name, patterns in groups.items()}
    total = sum(sizes.values())
    return {**parts, "other": total - sum(parts.values()), "total": total}


def unfinished(folder: Path) -> bool:
    """Whether there is a checkpoint after the update at which the model's figures were taken."""
    newest, steps = checkpoint(folder), load_metrics(folder).get("steps")
    return newest is not None and not (isinstance(steps, int) and steps >= newest)


def checkpoint(folder: Path) -> int | None:
    """Return the update of the newest checkpoint; None if there is none."""
    paths = (folder / CHECKPOINTS).glob("step-*/state.json")
    numbers = [path.parent.name.removeprefix("step-") for path in paths]
    # an ASCII number of a length that a count of updates can have
    return max((int(n) for n in numbers if n.isdecimal() and len(n) < 19), default=None)


def check_prunable(folder: Path, *, force: bool = False) -> None:
    """Raise an error if nothing would be left to use, or, unless forced, a run is not finished."""
    if not (folder / WEIGHTS).is_file():
        raise InputError(
            f"{folder}: there is no {WEIGHTS} yet, so there would be nothing left to use; "
            f"continue with `regard train --resume {folder}`."
        )
    if unfinished(folder) and not force:
        raise InputError(
            f"{folder}: its training is not finished, and pruning removes its "
            f"checkpoints; finish it with `regard train --resume {folder}`, or give --force."
        )


def prune(folder: Path) -> list[Path]:
    """Remove checkpoints and logs; return the files that were removed."""
    removed = [path for patterns in TRAINING.values() for path in _files(folder, patterns)]
    for path in removed:
        path.unlink()
    emptied = {parent for path in removed for parent in path.parents if folder in parent.parents}
    for parent in sorted(emptied, key=lambda path: -len(path.parts)):
        if not parent.is_symlink() and not any(parent.iterdir()):
            parent.rmdir()
    return removed


def _files(folder: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        yield from (path for path in sorted(folder.glob(pattern)) if path.is_file())


def _size(path: Path) -> int:
    return path.stat().st_size
