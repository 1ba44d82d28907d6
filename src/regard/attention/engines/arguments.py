"""Checks of arguments; an error is one sentence: what is expected and what was given."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from regard.attention.engines.precision import HALF


def shape(x: Tensor) -> str:
    """A tensor's shape as a tuple, e.g. `(2, 5, 16)`."""
    return str(tuple(x.shape))


def positive(name: str, value: int) -> int:
    """`value`, if it is a whole number above zero."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    if value <= 0:
        raise ValueError(f"{name} must be above zero, got {value}.")
    return value


KINDS = ("self", "causal", "cross", "channel", "spatial")


def known_kind(name: str, kind: str | None) -> None:
    """Check a kind of attention."""
    if kind is not None and kind not in KINDS:
        raise ValueError(
            f'{name} must be "self", "causal" or "cross", or "channel" or "spatial" of a feature '
            f"map, got {kind!r}."
        )


def whole_numbers(name: str, choice: object) -> list[int]:
    """One whole number, or several, as a list; also numbers of numpy and torch."""
    several = choice.tolist() if isinstance(choice, Tensor) else choice
    if isinstance(several, str | bool):
        raise TypeError(f"{name} must be whole numbers, got {choice!r}.")
    try:
        listed: list[Any] = list(several) if isinstance(several, Iterable) else [several]
        return [operator.index(n) for n in listed]
    except TypeError:
        raise TypeError(f"{name} must be whole numbers, got {choice!r}.") from None


def real(name: str, value: object) -> float:
    """`value`, if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value}.")
    return float(value)


def same_dtype(name: str, x: Tensor, weight: Tensor) -> None:
    """Check an input against the dtype of the parameters; under autocast they may differ."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a tensor, got a {type(x).__name__}.")
    if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
        raise TypeError(f"{name} must be of the parameters' dtype {weight.dtype}, got {x.dtype}.")


def probability(name: str, value: float) -> float:
    """`value`, if it lies in [0, 1)."""
    real(name, value)
    if not 0.0 <= value < 1.0:
        raise ValueError(f"{name} must be at least 0 and below 1, got {value}.")
    return value


def width(name: str, x: Tensor, expected: int) -> None:
    """Check the last dimension of `x`."""
    if x.shape[-1] != expected:
        raise ValueError(
            f"{name} must have width {expected}, got shape {shape(x)} (width {x.shape[-1]})."
        )


def plainly_fit(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether dtypes, devices and shapes are equal, so that no further check is needed."""
    tensors = isinstance(query, Tensor) and isinstance(key, Tensor) and isinstance(value, Tensor)
    return (
        tensors
        and query.dtype == key.dtype == value.dtype
        and query.device == key.device == value.device
        and query.is_floating_point()
        and query.ndim > 1
        and query.shape[:-2] == key.shape[:-2]
        and key.shape[:-1] == value.shape[:-1]
    )


def common_dtype(**tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, on one device and of one floating dtype.

    Under autocast mixed dtypes are cast to the autocast dtype; elsewhere they are an error.
    """
    for name, x in tensors.items():
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} must be a tensor, got a {type(x).__name__}.")
        if not x.is_floating_point():
            raise TypeError(f"{name} must be of a floating dtype, got {x.dtype}.")
    first = next(iter(tensors.values()))
    if all((x.dtype, x.device) == (first.dtype, first.device) for x in tensors.values()):
        return tuple(tensors.values())
    devices = {x.device for x in tensors.values()}
    if len(devices) > 1:
        given = ", ".join(f"{name} on {x.device}" for name, x in tensors.items())
        raise ValueError(f"{_names(tensors)} must be on one device, got {given}.")
    dtypes = {x.dtype for x in tensors.values()}
    device = first.device.type
    if torch.is_autocast_enabled(device) and dtypes <= {torch.float32, *HALF}:
        dtype = torch.get_autocast_dtype(device)
        return tuple(x.to(dtype) for x in tensors.values())
    given = ", ".join(f"{name} of {x.dtype}" for name, x in tensors.items())
    raise TypeError(f"{_names(tensors)} must be of one dtype, got {given}.")


def attention_shapes(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Check that the leading dimensions of query (…,Q,·), key (…,K,·) and value (…,K,·) fit.

    They are equal or broadcast; the dimension before the last two (the heads) of key and value may
    also divide the query's: grouped heads.
    """
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.ndim < 2:
            raise ValueError(
                f"{name} must have at least 2 dimensions (…, length, width), got shape {shape(x)}."
            )
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            "key and value must have the same length (second-last dimension), "
            f"got key of shape {shape(key)} and value of shape {shape(value)}."
        )
    if (
        not _leading_fit(query, key)
        or not _leading_fit(query, value)
        or not _same_heads(key, value)
    ):
        raise ValueError(
            "query, key and value must have the same leading dimensions (or key and value fewer "
            f"heads that divide the query's), got query of shape {shape(query)}, "
            f"key of shape {shape(key)} and value of shape {shape(value)}."
        )


def _leading_fit(query: Tensor, key: Tensor) -> bool:
    ours, theirs = query.shape[:-2], key.shape[:-2]
    if len(theirs) > len(ours):
        return False
    pairs = list(zip(reversed(ours), reversed(theirs), strict=False))
    if not pairs:
        return True
    num_heads, num_kv_heads = pairs[0]
    grouped = len(ours) > 1 and num_kv_heads > 0 and num_heads % num_kv_heads == 0
    if num_kv_heads not in (1, num_heads) and not grouped:
        return False
    return all(theirs in (1, ours) for ours, theirs in pairs[1:])


def _same_heads(key: Tensor, value: Tensor) -> bool:
    return key.ndim == value.ndim and (key.ndim < 3 or key.shape[-3] == value.shape[-3])


def _names(tensors: dict[str, Tensor]) -> str:
    names = list(tensors)
    return ", ".join(names[:-1]) + " and " + names[-1]
