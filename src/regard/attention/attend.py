"""Attention: score every key against a query, normalise, take the weighted sum of the values.

Shapes: query (…, Q, Dq), key (…, K, Dk), value (…, K, Dv), context (…, Q, Dv), weights (…, Q, K);
the leading dimensions are usually (B, H). Key and value may have fewer heads that divide the
query's (grouped heads).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from regard.attention.engines import arguments
from regard.attention.engines.blockwise import blockwise
from regard.attention.engines.call import Call
from regard.attention.engines.choice import chosen_engine
from regard.attention.engines.dense import dense
from regard.attention.engines.fused import fused
from regard.attention.inspection import observe
from regard.attention.masks.bias import Bias, DistanceBias, as_bias
from regard.attention.masks.mask import Mask, as_mask
from regard.attention.masks.nonfinite import quarantine
from regard.attention.normalizers.normalizer import Normalizer, Softmax
from regard.attention.scores.prepared import Form, PlainForm
from regard.attention.scores.score import ScaledDot, Score

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from regard.attention.layers.cache import Cache

Engine = Literal["auto", "dense", "fused", "blockwise"]
_SOFTMAX, _SCALED_DOT = Softmax(), ScaledDot()


@dataclass(frozen=True, eq=False)
class Attended:
    """What attention gives back; it unpacks to two, `context, weights = attend(…)`.

    context    (…, Q, Dv)  the weighted sum of the values; exactly zero where a query sees nothing
    weights    (…, Q, K)   before dropout, one map per head; None unless asked for
    logsumexp  (…, Q)      log Σ exp(scores), −inf where a query sees nothing; worked out when read;
                           a mechanism such as `Local` has none (AttributeError)
    cache                  what `MultiHead` hands back to go on with, where one was passed in
    """

    context: Tensor
    weights: Tensor | None = None
    cache: Cache | None = None
    _call: Call | None = field(default=None, repr=False)
    _logsumexp: Tensor | None = field(default=None, repr=False)
    _versions: tuple[int, ...] = field(default=(), repr=False)

    @property
    def logsumexp(self) -> Tensor:
        """log Σ_k exp(s_k) of each query's scores, (…, Q)."""
        if self._logsumexp is not None:
            return self._logsumexp
        if self._call is None:  # AttributeError, so that hasattr and getattr work
            raise AttributeError(
                "there is no logsumexp here: only attend, and MultiHead without a mechanism, "
                "compute one."
            )
        if self._versions != _versions(self._call):
            raise RuntimeError("logsumexp was read after the query or key had been written to.")
        total = self._call.log_total()
        if total.requires_grad or not self.context.requires_grad:
            object.__setattr__(self, "_logsumexp", total)
        return total

    def __repr__(self) -> str:
        seen = None if self.weights is None else tuple(self.weights.shape)
        return f"Attended(context={tuple(self.context.shape)}, weights={seen})"

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
    """context_i = Σ_j softmax_j(score(q_i, k_j) + bias_ij) v_j, over the keys j that i may see.

    Order: score (with its softcap), bias, mask, normalise, dropout, weighted sum. All engines give
    the same answer within the dtype's tolerance, and the context is the same to the bit whether
    `weights` are asked for or not. A query that sees nothing gets exactly zero. Dropout is applied
    whenever it is above zero: a module passes 0 when it is not training.

    score       how a key answers a query; ScaledDot(), s = q·k / √D, if not given
    normalizer  from scores to weights; Softmax() if not given

    >>> import torch
    >>> from regard.attention import Mask, attend
    >>> q = torch.eye(3)[None]
    >>> context, weights = attend(q, q, q, mask=Mask.causal(), weights=True)
    >>> context[0, 0], weights.shape
    (tensor([1., 0., 0.]), torch.Size([1, 3, 3]))
    """
    itself = query is key
    if not arguments.plainly_fit(query, key, value):
        query, key, value = arguments.common_dtype(query=query, key=key, value=value)
        arguments.attention_shapes(query, key, value)
        key, value = _fitted(key, query.shape[:-2]), _fitted(value, query.shape[:-2])
    score = _SCALED_DOT if score is None else score
    if not isinstance(score, Score):
        raise TypeError(f"score must be a Score such as ScaledDot(), but {score!r} came.")
    if dropout != 0.0:
        arguments.probability("dropout", dropout)
    normalizer = _SOFTMAX if normalizer is None else _checked(normalizer)
    mask = None if mask is None else as_mask(mask)
    bias = None if bias is None else as_bias(bias)
    tainted = None
    if mask is not None or bias is not None:
        query, key, value, tainted = quarantine(query, key, value, mask, bias)
    batch, size = tuple(query.shape[:-2]), (query.shape[-2], key.shape[-2])
    able = score.engines & normalizer.engines
    if engine == "auto" and "fused" in able and score.rounds_as_dot(query, key):
        able = able - {"fused"}
    name = chosen_engine(engine, able, score, normalizer, mask, bias, dropout, batch, size)
    one = size[0] == 1  # a decoder's step: a score may have a shorter way than its form
    plain = name == "dense" and (engine == "dense" or one or torch.compiler.is_compiling())
    form = PlainForm.of(score, query, key) if plain else _form(name, score, query, key, mask, batch)
    call = Call(form, value, bias, mask, normalizer, dropout, tainted)
    looking = observe.observers()
    if not looking:
        attended = _run(name, call, weights)
    else:
        with observe.inside_regard():
            place = observe.current_info() or observe.CallInfo(_kind(itself, mask))
            attended = _looked_at(_run(name, call, weights), call, place, looking, weights)
    if weights and attended.weights is None:
        attended = replace(attended, weights=call.weights())
    return attended


def _form(
    name: str, score: Score, query: Tensor, key: Tensor, mask: Mask | None, batch: tuple[int, ...]
) -> Form:
    """The score as the engine wants it: as a dot product, or ready for tiles."""
    if name != "fused":
        return score.form(query, key)
    visible = None
    if mask is not None and score.centres_keys:
        keep = mask.tensor(query.shape[-2], key.shape[-2], batch=batch, device=query.device)
        keep = keep.any(dim=-2)[..., None].expand(*keep.shape[:-2], key.shape[-2], 1)
        visible = keep.any(dim=-3, keepdim=True) if len(batch) > 1 and keep.ndim > 2 else keep
    form = score.as_dot(query, key, visible)
    assert form is not None
    return form


def _run(name: str, call: Call, wanted: bool) -> Attended:
    """The call on one engine; weights only where they are wanted and the engine has them anyway."""
    weights = total = None
    if name == "fused":
        context = fused(call)
    elif name == "blockwise":
        context, total = blockwise(call.spread())
        total = call.finished(total)
    else:
        context, weights = dense(call.spread())
    if call.tainted is not None:
        context = context.masked_fill(call.tainted, math.nan)
    return Attended(context, weights if wanted else None, None, call, total, _versions(call))


def _versions(call: Call) -> tuple[int, ...]:
    """How often the tensors that the scores are made of have been written to."""
    if torch.compiler.is_compiling():
        return ()
    try:
        return tuple([x._version for x in call.form.inputs])
    except RuntimeError:  # tensors of inference mode do not count
        return ()


def _looked_at(
    attended: Attended,
    call: Call,
    place: observe.CallInfo,
    looking: tuple[observe.Observer, ...],
    wanted: bool,
) -> Attended:
    """What is left after every observer has seen, and perhaps changed, the call."""
    observed = observe.notify(looking, observe.ObservedCall(call, attended.context, place))
    if observed.overlay and wanted:
        attended = replace(attended, weights=observed.weights())
    return replace(attended, context=observed.context)


def _kind(itself: bool, mask: Mask | None) -> str:
    if mask is not None and mask.is_causal:
        return "causal"
    return "self" if itself else "cross"


def _checked(normalizer: Normalizer) -> Normalizer:
    if isinstance(normalizer, type):
        name = normalizer.__name__
        raise TypeError(f"normalizer must be an object, as in {name}(), not the class.")
    if not isinstance(getattr(normalizer, "engines", None), frozenset):
        raise TypeError(f"normalizer must be one such as Softmax(), but {normalizer!r} came.")
    return normalizer


def _fitted(x: Tensor, batch: Sequence[int]) -> Tensor:
    """Key or value with the query's leading dimensions, but for grouped heads."""
    if tuple(x.shape[:-2]) == tuple(batch):
        return x
    if x.ndim == 2 or len(batch) < 2:
        return x.expand(*batch, *x.shape[-2:])
    return x.expand(*batch[:-1], *x.shape[-3:])
