"""Tensors that are cut along their first dimension over the processes of a run (DTensor).

The module of torch that has them takes long to import, and most runs have none.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor


def is_cut(tensor: Tensor) -> bool:
    """Whether a tensor is cut over processes, so that this one holds a part."""
    return hasattr(tensor, "full_tensor")


def own_part(tensor: Tensor) -> Tensor:
    """Return the part of a tensor that this process holds, in the same memory; else the tensor."""
    cut: Any = tensor
    return cut.detach().to_local() if is_cut(tensor) else tensor


def as_part_of(part: Tensor, whole: Tensor) -> Tensor:
    """Return a tensor cut as `whole` is, of which this process holds `part`."""
    if not is_cut(whole) or not part.ndim:
        return part
    from torch.distributed.tensor import DTensor

    cut: Any = whole
    return DTensor.from_local(
        part,
        cut.device_mesh,
        cut.placements,
        run_check=False,
        shape=whole.shape,
        stride=whole.stride(),
    )


def gathered(tensor: Tensor) -> Tensor:
    """Return a tensor with the parts of all processes, which call this together."""
    cut: Any = tensor
    return cut.full_tensor() if is_cut(tensor) else tensor


def own_rows(tensor: Tensor, whole: Tensor) -> Tensor:
    """Return this process' rows of a tensor of the shape of `whole`, if that is cut."""
    if not is_cut(whole):
        return tensor
    cut: Any = whole
    rows = tensor.chunk(cut.device_mesh.size())
    rank = cut.device_mesh.get_local_rank()
    return rows[rank] if rank < len(rows) else tensor[:0]
