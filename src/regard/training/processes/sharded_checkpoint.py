"""Checkpoints of which every process writes and reads its part, by torch's DCP, as safetensors.

Any number of processes can read them, one alone included; and several can read the parts that they
need of a checkpoint in one file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor
from torch import distributed as dist
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from regard.errors import InputError
from regard.storage import checksum
from regard.training.processes.ranks import Ranks

try:
    from torch.distributed.checkpoint.hf_storage import (
        HuggingFaceStorageReader,
        HuggingFaceStorageWriter,
    )
except ImportError as error:
    raise InputError(
        f"checkpoints in parts need torch 2.8 or newer, got {torch.__version__}; "
        "set training.shard to none."
    ) from error

PARTS = "*.safetensors"


def write_parts(folder: Path | None, tensors: Mapping[str, Tensor], ranks: Ranks) -> dict[str, str]:
    """Write the parts of all processes, which call this together, into the leader's folder.

    Returns the checksum of each file.
    """
    sent = [folder]
    dist.broadcast_object_list(sent, 0)
    home = Path(sent[0] or "")
    save(
        {name: tensor.detach() for name, tensor in tensors.items()},
        storage_writer=HuggingFaceStorageWriter(str(home), save_distributed=True),
    )
    names = sorted(path.name for path in home.glob(PARTS))
    own = {name: checksum(home / name) for name in names[ranks.rank :: ranks.number]}
    every: list[dict[str, str]] = [{}] * ranks.number
    dist.all_gather_object(every, own)
    return {name: value for part in every for name, value in part.items()}


def read_parts(folder: Path, tensors: Mapping[str, Tensor]) -> set[str]:
    """Fill tensors, of which each process may hold a part, as far as they were saved.

    All processes call this together. Returns the names of all that was saved.
    """
    reader = HuggingFaceStorageReader(str(folder))
    saved = set(reader.read_metadata().state_dict_metadata)
    load({n: t.detach() for n, t in tensors.items() if n in saved}, storage_reader=reader)
    return saved


def read_all_parts(folder: Path) -> dict[str, Tensor]:
    """Return all tensors whole, in one process."""
    reader = HuggingFaceStorageReader(str(folder))
    found = reader.read_metadata().state_dict_metadata
    tensors = {
        name: torch.empty(saved.size, dtype=saved.properties.dtype)  # type: ignore[union-attr]
        for name, saved in found.items()
    }
    load(dict(tensors), storage_reader=reader, no_dist=True)
    return tensors
