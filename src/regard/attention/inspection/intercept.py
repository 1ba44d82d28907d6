"""Observe the attention of models that are not ours, without changing them.

While there are observers, calls of torch's `scaled_dot_product_attention` and of
`multi_head_attention_forward` (which `nn.MultiheadAttention` runs) are intercepted: the call itself
is unchanged, and its arguments are passed to the observers like one of ours.

Shapes: query (B, H, Q, D), key (B, G, K, D), value (B, G, K, Dv).
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from regard.attention.engines.call import AttentionCall
from regard.attention.inspection import observe
from regard.attention.layers.multi_head import split
from regard.attention.masks.bias import as_bias
from regard.attention.masks.conventions import from_torch_mha, from_torch_sdpa
from regard.attention.normalizers.normalizer import Softmax
from regard.attention.scores.prepared import PreparedDot

_MHA_SIGNATURE = inspect.signature(F.multi_head_attention_forward)


class Interception(TorchFunctionMode):
    """Passes this thread's calls of torch's attention functions to the observers."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if observe.is_inside_regard():
            return result
        if func is F.scaled_dot_product_attention:
            return _observe(_sdpa_call(*args, **(kwargs or {})), result)
        if func is F.multi_head_attention_forward:
            bound = _MHA_SIGNATURE.bind(*args, **(kwargs or {}))
            bound.apply_defaults()
            _observe(_mha_call(**bound.arguments), result[0], read_only=True)
        return result


@contextmanager
def intercepted() -> Iterator[None]:
    """Observe torch's own attention inside; compiled code runs eagerly."""
    with ExitStack() as stack:
        if "torch._dynamo" in sys.modules:  # else nothing is compiled, and importing it is slow
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        stack.enter_context(Interception())
        yield


def _observe(
    call_and_kind: tuple[AttentionCall, str], context: Tensor, read_only: bool = False
) -> Tensor:
    call, kind = call_and_kind
    info = observe.CallInfo(kind, guessed=not read_only)
    observed = observe.ObservedCall(call, context, info, read_only=read_only)
    with observe.inside_regard():
        return observe.notify(observe.observers(), observed).context


def _sdpa_call(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[AttentionCall, str]:
    attn_mask = None if attn_mask is None else torch.atleast_2d(attn_mask)
    mask, bias = from_torch_sdpa(attn_mask, is_causal=is_causal)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    prepared = PreparedDot(query, key, scale)
    additive = None if bias is None else as_bias(bias)
    call = AttentionCall(prepared, value, additive, mask, Softmax(), dropout_p)
    causal = is_causal or (attn_mask is not None and _is_causal(call))
    same = query.shape[-2] == key.shape[-2]
    return call, "causal" if causal else "self" if same else "cross"


def _is_causal(call: AttentionCall) -> bool:
    """Whether a mask given as a tensor hides later keys from every query."""
    if call.num_queries != call.num_keys or call.num_keys < 2:
        return False
    tile = call.whole()
    visible = torch.ones((call.num_queries, call.num_keys), dtype=torch.bool, device=tile.device)
    if call.mask is not None:
        visible = visible & call.mask.tile(tile)
    if call.bias is not None:  # additive masks may have large negative numbers for −inf
        visible = visible & (call.bias.tile(tile) > -1e4)
    return not bool(visible.triu(1).any()) and bool(visible[..., -1, 1:].any())


def _mha_call(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    training: bool,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    use_separate_proj_weight: bool,
    q_proj_weight: Tensor | None,
    k_proj_weight: Tensor | None,
    v_proj_weight: Tensor | None,
    **_: Any,
) -> tuple[AttentionCall, str]:
    """Return the call inside `multi_head_attention_forward`, of inputs (T, B, dim) or (T, dim)."""
    packed: tuple[Tensor | None, ...] = (q_proj_weight, k_proj_weight, v_proj_weight)
    if not use_separate_proj_weight:
        assert in_proj_weight is not None
        packed = in_proj_weight.chunk(3)
    weights = [w for w in packed if w is not None]
    biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
    inputs = ((x if x.ndim == 3 else x[:, None]) for x in (query, key, value))
    q, k, v = (
        F.linear(x.transpose(0, 1), w, b) for x, w, b in zip(inputs, weights, biases, strict=True)
    )
    extra = 0
    if bias_k is not None and bias_v is not None:
        k = torch.cat([k, bias_k.expand(k.shape[0], 1, -1)], dim=1)
        v = torch.cat([v, bias_v.expand(v.shape[0], 1, -1)], dim=1)
        extra += 1
    if add_zero_attn:
        k, v = (torch.cat([x, torch.zeros_like(x[:, :1])], dim=1) for x in (k, v))
        extra += 1
    mask, bias = from_torch_mha(
        None if key_padding_mask is None else torch.atleast_2d(key_padding_mask),
        attn_mask,
        num_heads=num_heads,
        extra_keys=extra,
    )
    heads_BHQD, heads_BHKD = split(q, num_heads), split(k, num_heads)
    prepared = PreparedDot(heads_BHQD, heads_BHKD, 1 / math.sqrt(q.shape[-1] // num_heads))
    additive = None if bias is None else as_bias(bias)
    p = dropout_p if training else 0.0
    call = AttentionCall(prepared, split(v, num_heads), additive, mask, Softmax(), p)
    if key is not query:
        return call, "cross"
    return call, "causal" if attn_mask is not None and _is_causal(call) else "self"
