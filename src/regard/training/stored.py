"""The corpus of a run as ids on disk, so that the run can go on without its files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regard.config import Run
from regard.corpus.pairs import Pair
from regard.errors import InputError
from regard.folder import load_weights, save_weights
from regard.storage import replace_file
from regard.training.checkpoint import fitting, verify_checksums, write_checksums
from regard.training.dev import Dev
from regard.training.examples import Examples, is_paired

IDS, TEXTS = "corpus.safetensors", "dev.json"


def store(folder: Path, examples: Examples, dev: Dev) -> None:
    """Write `checkpoints/corpus.safetensors` and `checkpoints/dev.json`."""
    home = folder / "checkpoints"
    home.mkdir(exist_ok=True)
    tensors: dict[str, Tensor] = {}
    for name, part in (("train", examples), ("dev", dev.examples)):
        for side, rows in (("source", part.sources), ("target", part.targets)):
            if rows is not None:
                tensors |= _packed(f"{name}.{side}", rows)
    save_weights(home / IDS, tensors)
    replace_file(home / TEXTS, json.dumps(list(dev.pairs), ensure_ascii=False) + "\n")
    write_checksums(home, IDS, TEXTS)


def stored(folder: Path, run: Run) -> tuple[Examples, Dev]:
    """What `store` wrote."""
    home = folder / "checkpoints"
    if not (home / IDS).is_file():
        raise InputError(
            f"{folder}: what the run was learning from is not in it ({home / IDS}), so it cannot "
            "go on; `regard train` begins a new one."
        )
    verify_checksums(home, IDS, TEXTS)
    tensors = load_weights(home / IDS)

    def part(name: str) -> Examples:
        return Examples(
            _unpacked(tensors, f"{name}.source"),
            _unpacked(tensors, f"{name}.target") or [],
            run.training.batch_tokens,
            run.training.seed,
        )

    shown = run.training.validate_sentences if is_paired(run.model) else 0
    with fitting(home / IDS):
        pairs = [Pair(*pair) for pair in json.loads((home / TEXTS).read_text("utf-8"))]
        return part("train"), Dev(part("dev"), pairs, shown)


def _packed(name: str, rows: Sequence[np.ndarray]) -> dict[str, Tensor]:
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.int32)
    ids = np.concatenate([*rows, np.zeros(0, np.int32)])
    return {name: torch.from_numpy(ids), f"{name}.lengths": lengths}


def _unpacked(tensors: dict[str, Tensor], name: str) -> list[list[int]] | None:
    if name not in tensors:
        return None
    lengths = tensors[f"{name}.lengths"].tolist()
    return [row.tolist() for row in tensors[name].split(lengths)]
