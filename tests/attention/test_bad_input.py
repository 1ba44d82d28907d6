"""Bad input: one sentence with the argument, what is expected and what was given."""

import pytest
import torch

from regard.attention import (
    Additive,
    Alibi,
    Cosine,
    Dot,
    Gaussian,
    General,
    Learned,
    Location,
    Mask,
    MultiHead,
    RelativeBias,
    Rotary,
    ScaledDot,
    Sinusoidal,
    Softmax,
    attend,
    from_keras,
    from_torch_mha,
    from_torch_sdpa,
    masked_softmax,
    rotate,
)


def x(*shape, **options):
    return torch.zeros(*shape, **options)


def run(q=(2, 3, 4), k=(2, 5, 4), v=(2, 5, 4), score=None, **options):
    q, k, v = (s if isinstance(s, torch.Tensor) else x(*s) for s in (q, k, v))
    return attend(q, k, v, score=score or ScaledDot(), **options)


CASES = {
    "widths with Dot": (
        lambda: run(k=(2, 5, 6), score=Dot()),
        r"Dot needs queries and keys of one width, got query of shape \(2, 3, 4\) and key of shape "
        r"\(2, 5, 6\); Additive and General take different widths",
    ),
    "widths with Cosine": (lambda: run(k=(2, 5, 6), score=Cosine()), "Cosine needs queries"),
    "widths with Gaussian": (lambda: run(k=(2, 5, 6), score=Gaussian()), "Gaussian needs queries"),
    "too many widths": (
        lambda: run(score=Gaussian([1.0, 2.0])),
        r"query must have 2 features, as many as Gaussian has widths, got shape \(2, 3, 4\)",
    ),
    "additive query": (
        lambda: run(score=Additive(3, 4, 5)),
        r"query must have width 3, got shape \(2, 3, 4\) \(width 4\)",
    ),
    "additive key": (lambda: run(score=Additive(4, 3, 5)), "key must have width 3"),
    "general key": (lambda: run(score=General(4, 3)), "key must have width 3"),
    "location keys": (lambda: run(score=Location(4, 3)), "at most 3 keys .max_keys., got 5"),
    "lengths differ": (
        lambda: run(v=(2, 6, 4)),
        "key and value must have the same length .* key of shape .2, 5, 4. and value of shape",
    ),
    "batches differ": (lambda: run(k=(3, 5, 4), v=(3, 5, 4)), "same leading dimensions"),
    "heads do not divide": (
        lambda: run(q=(2, 4, 3, 4), k=(2, 3, 5, 4), v=(2, 3, 5, 4)),
        "fewer heads that divide the query's",
    ),
    "one dimension": (
        lambda: run(q=(4,)),
        r"query must have at least 2 dimensions .*, got shape \(4,\)",
    ),
    "dtypes": (
        lambda: run(q=x(2, 3, 4, dtype=torch.float64)),
        "must be of one dtype, got query of torch.float64, key of torch.float32",
    ),
    "integers": (
        lambda: run(q=x(2, 3, 4, dtype=torch.int64)),
        "query must be of a floating dtype, got torch.int64",
    ),
    "devices": (
        lambda: run(q=x(2, 3, 4, device="meta")),
        "must be on one device, got query on meta, key on cpu",
    ),
    "not a tensor": (
        lambda: attend([[1.0]], x(1, 1), x(1, 1), score=Dot()),
        "query must be a tensor, got a list",
    ),
    "not a score": (lambda: run(score="dot"), "score must be a Score such as ScaledDot"),
    "integer mask": (
        lambda: run(mask=torch.ones(3, 5, dtype=torch.int64)),
        r"mask must be a boolean tensor \(True = attend\), got torch.int64; write `mask.bool",
    ),
    "float mask": (lambda: run(mask=x(3, 5)), "pass an additive tensor as `bias`"),
    "mask shape": (
        lambda: run(mask=torch.ones(4, 5).bool()),
        r"mask must broadcast to the scores' shape \(2, 3, 5\), got shape \(4, 5\)",
    ),
    "mask of lengths": (lambda: Mask.keep(torch.ones(4).bool()), "use Mask.lengths"),
    "bias shape": (lambda: run(bias=x(4, 5)), "bias must broadcast to the scores' shape"),
    "boolean bias": (lambda: run(bias=torch.ones(3, 5).bool()), "a boolean tensor is a mask"),
    "bias of other heads": (
        lambda: run(q=(1, 2, 3, 4), k=(1, 2, 5, 4), v=(1, 2, 5, 4), bias=Alibi(3)),
        "Alibi is for 3 heads, got scores of shape .1, 2, 3, 5.",
    ),
    "negative lengths": (
        lambda: Mask.lengths([3, -1]),
        "lengths must not be negative, got -1",
    ),
    "float lengths": (
        lambda: Mask.lengths(x(2)),
        "lengths must be whole numbers, got torch.float32",
    ),
    "lengths of another batch": (
        lambda: run(mask=Mask.lengths([1, 2, 3])),
        r"lengths must have one row for each of the 2 sentences .* shape \(3,\)",
    ),
    "window": (lambda: Mask.window(-1, 2), "left must be at least 0 or None, got -1"),
    "corner": (lambda: Mask.causal(corner="left"), 'corner must be "top-left" or "bottom-right"'),
    "corner and offset": (lambda: Mask.causal(2, corner="top-left"), "pass only one of them"),
    "dropout": (lambda: run(dropout=1.0), "dropout must be at least 0 and below 1, got 1.0"),
    "engine": (lambda: run(engine="flash"), "engine must be .*, got 'flash'"),
    "undeclared pair": (
        lambda: run(score=Additive(4, 4, 2), engine="fused"),
        r"engine 'fused' cannot run Additive.* with Softmax\(\); it runs on blockwise and dense",
    ),
    "undeclared softcap": (
        lambda: run(score=ScaledDot(softcap=1.0), engine="fused"),
        "'fused' cannot run ScaledDot",
    ),
    "width zero": (lambda: Gaussian(0.0), "width must be above zero and finite, got 0.0"),
    "width negative": (
        lambda: Gaussian([1.0, -2.0]),
        r"width must be above zero and finite, got \[1.0, -2.0\]",
    ),
    "softcap": (lambda: ScaledDot(softcap=0.0), "softcap must be above zero or None"),
    "hidden": (lambda: Additive(4, 4, 0), "hidden_dim must be above zero, got 0"),
    "hidden type": (lambda: Additive(4, 4, 2.5), "hidden_dim must be a whole number, got 2.5"),
    "heads": (
        lambda: MultiHead(10, 3),
        "dim must be divisible by num_heads, got dim=10, num_heads=3; give head_dim",
    ),
    "num_kv_heads": (
        lambda: MultiHead(8, 4, num_kv_heads=3),
        "num_heads must be divisible by num_kv_heads, got num_heads=4, num_kv_heads=3",
    ),
    "projections": (lambda: MultiHead(8, 4, projections="x"), 'projections must be "joint"'),
    "slice of another value": (
        lambda: MultiHead(8, 4, value_head_dim=3, projections="slice"),
        "cuts value_dim into 4 pieces of value_head_dim 3, got value_dim 8",
    ),
    "joined heads of another width": (
        lambda: MultiHead(8, 4, value_head_dim=3, out_dim=8, out_proj=False),
        "out_dim must be num_heads · value_head_dim = 12, got 8; leave out_dim out",
    ),
    "no output": (lambda: MultiHead(8, 4, out_dim=0), "out_dim must be above zero"),
    "no values": (lambda: MultiHead(8, 4, value_head_dim=0), "value_head_dim must be above zero"),
    "slice widths": (
        lambda: MultiHead(8, 4, key_dim=12, projections="slice"),
        "cuts key_dim into 4 pieces of head_dim 2, got key_dim 12",
    ),
    "multihead query": (lambda: MultiHead(8, 2)(x(1, 3, 7)), "query must have width 8"),
    "memory and key": (
        lambda: MultiHead(8, 2)(x(1, 3, 8), x(1, 3, 8), memory=MultiHead(8, 2).memory(x(1, 3, 8))),
        "memory replaces key, value and cache",
    ),
    "conversion": (
        lambda: MultiHead(8, 2, projections="slice").with_projections("joint"),
        "only joint and separate projections convert",
    ),
    "sinusoidal length": (
        lambda: Sinusoidal(4).table(-1),
        "length and offset must not be negative",
    ),
    "sinusoidal width": (
        lambda: Sinusoidal(4)(x(1, 3, 5)),
        "words for Sinusoidal must have width 4",
    ),
    "learned length": (lambda: Learned(2, 4)(x(1, 3, 4)), "has 2 positions"),
    "rotary width": (lambda: Rotary(3), "dim must be even"),
    "rotate": (lambda: rotate(x(3, 2), x(3, 2), x(3, 2)), "at least 4 features"),
    "num_buckets": (lambda: RelativeBias(2, num_buckets=2), "num_buckets at least 4"),
    "dropout type": (lambda: run(dropout="0.1"), "dropout must be a number, got '0.1'"),
    "normaliser": (lambda: run(normalizer=torch.softmax), "normalizer must be one such as Softmax"),
    "normaliser class": (lambda: run(normalizer=Softmax), "must be an object, as in Softmax"),
    "offset named": (lambda: Mask.causal("top-left"), "a corner is named by corner="),
    "offset fraction": (lambda: Mask.causal(1.5), "offset must be a whole number"),
    "window fraction": (lambda: Mask.window(1.5, 0), "left must be a whole number or None"),
    "lengths of words": (
        lambda: Mask.lengths("ab"),
        "lengths must be whole numbers, got 'ab'",
    ),
    "lengths of other queries": (
        lambda: run(mask=Mask.lengths(torch.ones(2, 9).long())),
        r"lengths must have one number for each of the 3 queries, got shape \(2, 9\)",
    ),
    "segments of other keys": (
        lambda: run(mask=Mask.segments([0, 0, 1], [0, 1])),
        r"key_ids must have one number for each of the 5 keys, got shape \(2,\)",
    ),
    "lengths without a batch": (
        lambda: run(q=(3, 4), k=(5, 4), v=(5, 4), mask=Mask.lengths([2])),
        "must have no batch dimension, as the input has none",
    ),
    "width infinite": (lambda: Gaussian(float("inf")), "width must be above zero and finite"),
    "scale": (lambda: ScaledDot(scale=float("nan")), "scale must be a finite number, got nan"),
    "additive dtype": (
        lambda: run(*(x(2, 3, 4, dtype=torch.float64),) * 3, score=Additive(4, 4, 2)),
        "query must be of the parameters' dtype torch.float32, got torch.float64",
    ),
    "multihead dtype": (
        lambda: MultiHead(8, 2)(x(1, 3, 8, dtype=torch.float64)),
        "query must be of the parameters' dtype torch.float32",
    ),
    "multihead input": (lambda: MultiHead(8, 2)([1]), "query must be a tensor, got a list"),
    "multihead without a batch": (
        lambda: MultiHead(8, 2)(x(3, 8)),
        r"query must have shape \(B, T, 8\), got \(3, 8\); a single sentence is `query\[None",
    ),
    "multihead score": (lambda: MultiHead(8, 2, score="dot"), "score must be a Score such as"),
    "multihead positions": (
        lambda: MultiHead(8, 2, positions="alibi"),
        "positions must be a Position",
    ),
    "multihead engine": (
        lambda: MultiHead(8, 2, engine="flash"),
        "engine must be .* got 'flash'",
    ),
    "cache of another batch": (
        lambda: MultiHead(8, 2)(x(1, 3, 8), cache=MultiHead(8, 2).empty_cache(2)),
        r"cache must hold keys like the new ones of shape \(1, 2, 3, 4\), got \(2, 2, 0, 4\)",
    ),
    "causal mask with a cache": (
        lambda: MultiHead(8, 2)(
            x(1, 1, 8), cache=MultiHead(8, 2)(x(1, 3, 8)).cache, mask=Mask.causal()
        ),
        r'where 3 are cached, got Mask.causal\(\); write Mask.causal\(corner="bottom-right"\)',
    ),
    "masked_softmax": (lambda: masked_softmax(x(3)), "add the dimension of queries"),
    "masked_softmax of other sentences": (
        lambda: masked_softmax(x(2, 3, 4), [1, 2, 3]),
        r"valid lengths must have shape \(2,\) or \(2, 3\) for scores of shape \(2, 3, 4\), got "
        r"\(3,\)",
    ),
    "masked_softmax of a mask of whole numbers": (
        lambda: masked_softmax(x(3, 4), torch.ones(3, 4).long()),
        r"valid lengths must have shape \(3,\) for .* got \(3, 4\); if they are a mask, pass",
    ),
    "masked_softmax of negative lengths": (
        lambda: masked_softmax(x(2, 3, 4), [1, -2]),
        "lengths must not be negative, got -2",
    ),
    "masked_softmax of floats": (
        lambda: masked_softmax(x(2, 3, 4), x(2)),
        r"booleans \(True = attend\) or whole numbers \(valid lengths\), got torch.float32",
    ),
    "torch mask": (
        lambda: from_torch_sdpa(x(3, 3).long()),
        "attn_mask must be boolean or floating",
    ),
    "torch heads": (lambda: from_torch_mha(attn_mask=x(4, 3, 3)), "heads must be given"),
    "keras mask": (lambda: from_keras(x(2, 3)), "query_mask must be boolean"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_clear_sentence(case):
    bad, message = CASES[case]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        bad()
    text = str(caught.value)
    assert text.endswith(".") and "\n" not in text


def test_a_score_that_gives_another_shape():
    class Wrong(ScaledDot):
        def as_dot(self, query, key):
            return None

        def forward(self, query, key):
            return query @ key.mT[..., :2]

        engines = frozenset({"dense"})

    with pytest.raises(
        ValueError, match=r"Wrong must give scores of shape \(2, 3, 5\), got \(2, 3, 2"
    ):
        run(score=Wrong())


def test_a_normaliser_without_engines_in_common():
    class DenseOnly(Softmax):
        engines = frozenset({"dense"})

    assert run(normalizer=DenseOnly()).context.shape == (2, 3, 4)
    with pytest.raises(ValueError, match="engine 'blockwise' cannot run"):
        run(normalizer=DenseOnly(), engine="blockwise")
