"""Masks of other libraries, to and from ours (True = attend).

torch MHA    boolean True = *ignore*; a float mask is added to the scores
torch SDPA   boolean True = attend; a float mask is added; `is_causal` is the top-left triangle
Keras        boolean True = attend: query_mask (B, Q), value_mask (B, K), attention_mask (B, Q, K)
ONNX         boolean True = attend; a float mask is added; nonpad_kv_seqlen (B,) counts valid keys

The functions `from_…` return `(mask, bias)`, each of which may be None.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention.masks.mask import Mask


class MaskAndBias(NamedTuple):
    """The mask and the bias that another library's mask arguments mean."""

    mask: Mask | None
    bias: Tensor | None


def from_torch_sdpa(attn_mask: Tensor | None, *, is_causal: bool = False) -> MaskAndBias:
    """The arguments of `torch.nn.functional.scaled_dot_product_attention`."""
    mask, bias = _mask_or_bias(attn_mask, "attn_mask")
    return MaskAndBias(_and(mask, Mask.causal() if is_causal else None), bias)


def to_torch_sdpa(
    mask: Mask, num_queries: int, num_keys: int, *, batch: tuple[int, ...] = ()
) -> Tensor:
    """`attn_mask` for `scaled_dot_product_attention`, broadcastable to (*batch, Q, K)."""
    return mask.tensor(num_queries, num_keys, batch=batch)


def from_torch_mha(
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    *,
    num_heads: int | None = None,
    extra_keys: int = 0,
) -> MaskAndBias:
    """The arguments of `nn.MultiheadAttention`: (B, K) and (Q, K) or (B · num_heads, Q, K).

    `extra_keys` visible keys are appended (its add_bias_kv and add_zero_attn).
    """
    if attn_mask is not None and attn_mask.ndim == 3:
        if num_heads is None:
            raise ValueError(
                "num_heads must be given to read an attn_mask of shape (B · num_heads, Q, K)."
            )
        attn_mask = attn_mask.unflatten(0, (-1, num_heads))
    if key_padding_mask is not None:
        key_padding_mask = key_padding_mask[:, None, None, :]
    mask = bias = None
    for name, given in (("key_padding_mask", key_padding_mask), ("attn_mask", attn_mask)):
        if given is None:
            continue
        if extra_keys:
            given = F.pad(given, (0, extra_keys), value=False if given.dtype == torch.bool else 0.0)
        hidden, added = _mask_or_bias(given, name, true_hides=True)
        mask = _and(mask, hidden)
        if added is not None:
            bias = added if bias is None else bias + added
    return MaskAndBias(mask, bias)


def to_torch_mha(
    mask: Mask, num_queries: int, num_keys: int, *, batch: tuple[int, ...] = (), num_heads: int = 1
) -> Tensor:
    """`attn_mask` for `nn.MultiheadAttention`, True = ignore: (Q, K), or (B · num_heads, Q, K)."""
    if not batch:
        hidden = ~mask.tensor(num_queries, num_keys)
        return hidden.expand(num_queries, num_keys)
    hidden = ~mask.tensor(num_queries, num_keys, batch=(*batch, num_heads))
    return hidden.expand(*batch, num_heads, num_queries, num_keys).flatten(0, -3)


def from_keras(
    query_mask: Tensor | None = None,
    value_mask: Tensor | None = None,
    key_mask: Tensor | None = None,
    attention_mask: Tensor | None = None,
    *,
    use_causal_mask: bool = False,
) -> Mask | None:
    """The arguments of `keras.layers.MultiHeadAttention`: (B, Q), (B, K), (B, K) and (B, Q, K).

    A query that `query_mask` masks attends to nothing. The mask is for scores (B, heads, Q, K).
    """
    mask = Mask.causal() if use_causal_mask else None
    for name, given, extra in (
        ("query_mask", query_mask, (1, 3)),
        ("value_mask", value_mask, (1, 2)),
        ("key_mask", key_mask, (1, 2)),
        ("attention_mask", attention_mask, (1,)),
    ):
        if given is not None:
            if given.dtype != torch.bool:
                raise TypeError(f"{name} must be boolean, got {given.dtype}.")
            for dim in extra if given.ndim < 4 else ():
                given = given.unsqueeze(dim)
            mask = _and(mask, Mask.keep(given))
    return mask


def to_keras(mask: Mask, num_queries: int, num_keys: int, *, batch: int) -> Tensor:
    """`attention_mask` (B, Q, K) for `keras.layers.MultiHeadAttention`; one for all heads."""
    keep = mask.tensor(num_queries, num_keys, batch=(batch, 1))
    return keep.expand(batch, 1, num_queries, num_keys)[:, 0]


def from_onnx(
    attn_mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    past_length: int = 0,
    nonpad_kv_seqlen: Tensor | None = None,
    num_keys: int | None = None,
) -> MaskAndBias:
    """The inputs of ONNX's Attention operator (opset 23 and 24).

    Its `attn_mask` may be shorter than the keys (`num_keys`): the keys beyond it are hidden.
    """
    if attn_mask is not None and attn_mask.ndim == 1:
        attn_mask = attn_mask[None]  # (K,): the same for every query
    if attn_mask is not None and num_keys is not None and attn_mask.shape[-1] < num_keys:
        short = num_keys - attn_mask.shape[-1]
        hide = False if attn_mask.dtype == torch.bool else float("-inf")
        attn_mask = F.pad(attn_mask, (0, short), value=hide)
    mask, bias = _mask_or_bias(attn_mask, "attn_mask")
    mask = _and(mask, Mask.causal(past_length) if is_causal else None)
    mask = _and(mask, None if nonpad_kv_seqlen is None else Mask.lengths(nonpad_kv_seqlen))
    return MaskAndBias(mask, bias)


def to_onnx(mask: Mask, num_queries: int, num_keys: int, *, batch: tuple[int, ...] = ()) -> Tensor:
    """`attn_mask` for ONNX's Attention operator, broadcastable to (*batch, Q, K)."""
    keep = mask.tensor(num_queries, num_keys, batch=batch)
    return keep.expand(*keep.shape[:-1], num_keys)  # ONNX hides the keys beyond a shorter mask


def _mask_or_bias(given: Tensor | None, name: str, *, true_hides: bool = False) -> MaskAndBias:
    """A boolean tensor is a mask, a floating one a bias; anything else is an error."""
    if given is None:
        return MaskAndBias(None, None)
    if given.dtype == torch.bool:
        return MaskAndBias(Mask.keep(~given if true_hides else given), None)
    if not given.is_floating_point():
        raise TypeError(f"{name} must be boolean or floating, got {given.dtype}.")
    return MaskAndBias(None, given)


def _and(a: Mask | None, b: Mask | None) -> Mask | None:
    return a & b if a is not None and b is not None else b if a is None else a
