"""Attention: score every key against a query, normalize, take the weighted sum of the values.

Shapes: query (…, Q, Dq), key (…, K, Dk), value (…, K, Dv), context (…, Q, Dv), weights (…, Q, K);
the leading dimensions are usually (B, H). Key and value may have fewer heads that divide the
query's (grouped heads).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.attention.engines import arguments
from regard.attention.engines.blockwise import blockwise
from regard.attention.engines.call import AttentionCall
from regard.attention.engines.choice import Engine, choose_engine, prepare_score
from regard.attention.engines.dense import dense
from regard.attention.engines.fused import fused
from regard.attention.inspection import observe
from regard.attention.masks.bias import Bias, DistanceBias, as_bias
from regard.attention.masks.mask import Mask, as_mask
from regard.attention.masks.nonfinite import remove_nonfinite
from regard.attention.normalizers.normalizer import Normalizer, Softmax
from regard.attention.scores.score import ScaledDot, Score

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from regard.attention.layers.cache import Cache

_SOFTMAX, _SCALED_DOT = Softmax(), ScaledDot()


@dataclass(frozen=True, eq=False)
class Attended:
    """The result of attention; unpacks to two: `context, weights = attend(…)`.

    context    (…, Q, Dv)  the weighted sum of the values; exactly zero where all keys are masked
    weights    (…, Q, K)   before dropout, one map per head; None unless requested
    logsumexp  (…, Q)      log Σ exp(scores), −inf where all keys are masked; computed when read;
                           a mechanism such as `Local` has none (AttributeError)
    cache                  the keys and values for the next call (`MultiHead`, mechanisms)
    """

    context: Tensor
    weights: Tensor | None = None
    cache: Cache | None = None
    _call: AttentionCall | None = field(default=None, repr=False)
    _logsumexp: Tensor | None = field(default=None, repr=False)
    _versions: tuple[int, ...] = field(default=(), repr=False)

    @property
    def logsumexp(self) -> Tensor:
        """log Σ_k exp(s_k) of each query's scores, (…, Q)."""
        if self._logsumexp is not None:
            return self._logsumexp
        if self._call is None:  # AttributeError, so that hasattr and getattr work
            raise AttributeError(
                "there is no logsumexp here: only attend and full attention compute one."
            )
        if self._versions != _versions(self._call):
            raise RuntimeError("logsumexp must be read before the query or key is written to.")
        total = self._call.log_total()
        if total.requires_grad or not self.context.requires_grad:
            object.__setattr__(self, "_logsumexp", total)
        return total

    def changed(self, context: Tensor, cache: Cache | None) -> Attended:
        """The same with another context and cache."""
        weights, logsumexp, versions = self.weights, self._logsumexp, self._versions
        return Attended(context, weights, cache, self._call, logsumexp, versions)

    def __repr__(self) -> str:
        shape = None if self.weights is None else tuple(self.weights.shape)
        return f"Attended(context={tuple(self.context.shape)}, weights={shape})"

    def __iter__(self) -> Iterator[Any]:  # not Tensor | None: the context is never None
        return iter((self.context, self.weights))


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    score: Score | None = None,
    bias: Tensor | Bias | DistanceBias | None = None,
    mask: Mask | Tensor | None = None,
    normalizer: Normalizer | None = None,
    dropout: float = 0.0,
    engine: Engine = "auto",
    weights: bool = False,
) -> Attended:
    """context_i = Σ_j softmax_j(score(q_i, k_j) + bias_ij) v_j, over the unmasked keys j.

    Order: score (with its softcap), bias, mask, normalize, dropout, weighted sum. All engines give
    the same result within the dtype's tolerance, and the context is the same to the bit whether
    `weights` are requested or not. A query whose keys are all masked gets exactly zero. Dropout is
    applied whenever it is above zero: a module passes 0 when it is not training.

    score       similarity of a query and a key; ScaledDot(), s = q·k / √D, by default
    normalizer  from scores to weights; Softmax() by default

    >>> import torch
    >>> from regard.attention import Mask, attend
    >>> q = torch.eye(3)[None]
    >>> context, weights = attend(q, q, q, mask=Mask.causal(), weights=True)
    >>> context[0, 0], weights.shape
    (tensor([1., 0., 0.]), torch.Size([1, 3, 3]))
    """
    self_attention = query is key
    if not arguments.plainly_fit(query, key, value):
        query, key, value = arguments.common_dtype(query=query, key=key, value=value)
        arguments.attention_shapes(query, key, value)
        key, value = _expanded(key, query.shape[:-2]), _expanded(value, query.shape[:-2])
    score = _SCALED_DOT if score is None else score
    if not isinstance(score, Score):
        raise TypeError(f"score must be a Score such as ScaledDot(), got {score!r}.")
    if dropout != 0.0:
        arguments.probability("dropout", dropout)
    normalizer = _SOFTMAX if normalizer is None else _checked(normalizer)
    mask = None if mask is None else as_mask(mask)
    bias = None if bias is None else as_bias(bias)
    nonfinite_rows = None
    if mask is not None or bias is not None:
        query, key, value, nonfinite_rows = remove_nonfinite(query, key, value, mask, bias)
    name = choose_engine(engine, score, normalizer, query, key, mask, bias, dropout)
    prepared = prepare_score(name, engine, score, query, key, mask)
    call = AttentionCall(prepared, value, bias, mask, normalizer, dropout, nonfinite_rows)
    observers = observe.observers()
    if not observers:
        attended = _run(name, call, weights)
    else:
        with observe.inside_regard():
            info = observe.current_info() or observe.CallInfo(_kind(self_attention, mask))
            attended = _observed(_run(name, call, weights), call, info, observers, weights)
    if weights and attended.weights is None:
        attended = replace(attended, weights=call.weights())
    return attended


def attend_part(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    bias: Bias | None = None,
    mask: Mask | None = None,
    dropout: float = 0.0,
    engine: Engine = "auto",
) -> Attended:
    """Scaled dot-product attention as a part of a mechanism: no checks, not observed.

    The mechanism has checked the tensors (B, H, T, D), removed what is not finite, and shows its
    observers the whole.
    """
    if not arguments.plainly_fit(query, key, value):  # under autocast: parts of several dtypes
        query, key, value = arguments.common_dtype(query=query, key=key, value=value)
    score, normalizer = _SCALED_DOT, _SOFTMAX
    name = choose_engine(engine, score, normalizer, query, key, mask, bias, dropout)
    prepared = prepare_score(name, engine, score, query, key, mask)
    return _run(name, AttentionCall(prepared, value, bias, mask, normalizer, dropout), False)


def _run(name: str, call: AttentionCall, wanted: bool) -> Attended:
    """Run a call on one engine, with weights only if they are wanted and computed anyway."""
    weights = total = None
    if name == "fused":
        context = fused(call)
    elif name == "blockwise":
        context, total = blockwise(call.spread())
        total = call.finished(total)
    else:
        context, weights = dense(call.spread())
    if call.nonfinite_rows is not None:
        context = context.masked_fill(call.nonfinite_rows, math.nan)
    return Attended(context, weights if wanted else None, None, call, total, _versions(call))


def _versions(call: AttentionCall) -> tuple[int, ...]:
    """How often the tensors that the scores are made of have been written to."""
    if torch.compiler.is_compiling():
        return ()
    try:
        return tuple([x._version for x in call.score.inputs])
    except RuntimeError:  # tensors of inference mode have no version
        return ()


def _observed(
    attended: Attended,
    call: AttentionCall,
    info: observe.CallInfo,
    observers: tuple[observe.Observer, ...],
    wanted: bool,
) -> Attended:
    """The result after every observer has seen, and perhaps changed, the call."""
    observed = observe.notify(observers, observe.ObservedCall(call, attended.context, info))
    if observed.overlay and wanted:
        attended = replace(attended, weights=observed.weights())
    return replace(attended, context=observed.context)


def _kind(self_attention: bool, mask: Mask | None) -> str:
    if mask is not None and mask.is_causal:
        return "causal"
    return "self" if self_attention else "cross"


def _checked(normalizer: Normalizer) -> Normalizer:
    if isinstance(normalizer, type):
        name = normalizer.__name__
        raise TypeError(f"normalizer must be an object, as in {name}(), not the class.")
    if not isinstance(getattr(normalizer, "engines", None), frozenset):
        raise TypeError(f"normalizer must be one such as Softmax(), got {normalizer!r}.")
    return normalizer


def _expanded(x: Tensor, batch: Sequence[int]) -> Tensor:
    """Key or value with the query's leading dimensions, except that heads stay grouped."""
    if tuple(x.shape[:-2]) == tuple(batch):
        return x
    if x.ndim == 2 or len(batch) < 2:
        return x.expand(*batch, *x.shape[-2:])
    return x.expand(*batch[:-1], *x.shape[-3:])
