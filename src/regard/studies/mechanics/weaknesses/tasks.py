"""Five tasks, each of which plain self-attention cannot learn, and what it needs to learn it.

B sequences, N tokens, D features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import Attended, Mask, MultiHead, Sigmoid, Sinusoidal, attend
from regard.studies.mechanics.fitting import NO_ANSWER, Draw, TokenExamples, TokenReader
from regard.views.charts.panels import Bilingual

NUM_TOKENS = NUM_VALUES = 8
NUM_WANTED = 4  # tokens that each token looks for in `several_values`
NUM_KINDS, MAX_COUNT, LENGTHS = 4, 6, (3, 16)
DIM = 32
WIDER = 142  # hidden units, instead of 64, that make up for the parameters of three projections


def which_first(count: int, generator: torch.Generator) -> TokenExamples:
    """Two of the tokens are marks; each of them says whether it comes before the other."""
    ids = torch.randint(NUM_VALUES, (count, NUM_TOKENS), generator=generator)
    places = torch.rand(count, NUM_TOKENS, generator=generator).argsort(1)[:, :2]
    ids.scatter_(1, places, torch.tensor([NUM_VALUES, NUM_VALUES + 1]).expand(count, 2))
    first = (places[:, 0] < places[:, 1]).long()
    labels = torch.full((count, NUM_TOKENS), NO_ANSWER)
    labels.scatter_(1, places, torch.stack([first, 1 - first], 1))
    return TokenExamples(ids[..., None], labels[..., None])


def linked_value(count: int, generator: torch.Generator, hops: int = 1) -> TokenExamples:
    """A token has a name, the name of a token it looks for, and a value; links form one ring.

    The answer is the value of the token that is `hops` links away.
    """
    names = torch.rand(count, NUM_TOKENS, generator=generator).argsort(1)
    ring = torch.rand(count, NUM_TOKENS, generator=generator).argsort(1)
    link = torch.empty_like(ring).scatter_(1, ring, ring.roll(-1, 1))
    values = torch.randint(NUM_VALUES, (count, NUM_TOKENS), generator=generator)
    end = link
    for _ in range(hops - 1):
        end = link.gather(1, end)
    fields = torch.stack([names, names.gather(1, link), values], dim=-1)
    return TokenExamples(fields, values.gather(1, end)[..., None])


def several_values(count: int, generator: torch.Generator) -> TokenExamples:
    """A token has a name, the names of four tokens it looks for, and a value.

    The answers are the values of these four, in their order.
    """
    square = (count, NUM_TOKENS, NUM_TOKENS)
    names = torch.rand(count, NUM_TOKENS, generator=generator).argsort(1)
    values = torch.randint(NUM_VALUES, (count, NUM_TOKENS), generator=generator)
    links = torch.rand(square, generator=generator).argsort(2)[..., :NUM_WANTED]
    partners = names[:, None].expand(square).gather(2, links)
    answers = values[:, None].expand(square).gather(2, links)
    return TokenExamples(torch.cat([names[..., None], partners, values[..., None]], -1), answers)


def same_kind(count: int, generator: torch.Generator) -> TokenExamples:
    """Each token says how many tokens of its kind there are, itself included, at most six."""
    shortest, longest = LENGTHS
    lengths = torch.randint(shortest, longest + 1, (count,), generator=generator)
    kinds = torch.randint(NUM_KINDS, (count, longest), generator=generator)
    there = torch.arange(longest) < lengths[:, None]
    same = (kinds[:, :, None] == kinds[:, None]) & there[:, None]
    labels = (same.sum(-1).clamp(max=MAX_COUNT) - 1).masked_fill(~there, NO_ANSWER)
    return TokenExamples(kinds[..., None], labels[..., None], lengths)


class ThreeWay(nn.Module):
    """Attention with a score of three tokens, over all pairs (j, k) of keys.

    z_i = W_o Σ_jk softmax_jk(q_i · k_j + q'_j · k'_k) (v_j + v'_k): softmax makes a product of the
    two scores, so that a pair counts if i matches j and j matches k.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.projections = nn.ModuleList(nn.Linear(dim, dim) for _ in range(6))
        self.out_proj = nn.Linear(dim, dim)

    def forward(self, x: Tensor, mask: Mask | None = None) -> Attended:
        """Tokens x (B, N, D); the keys are N² pairs, so that there is no mask."""
        assert mask is None
        query, key, query2, key2, value, value2 = (project(x) for project in self.projections)
        side = x.shape[1]
        between_BNN1 = (query2 @ key2.transpose(1, 2))[..., None]
        pairs = torch.cat([key[:, :, None].expand(-1, -1, side, -1), between_BNN1], -1)
        values = value[:, :, None] + value2[:, None]
        query = torch.cat([query, torch.ones_like(query[..., :1])], -1)
        attended = attend(query, pairs.flatten(1, 2), values.flatten(1, 2))
        return attended.changed(self.out_proj(attended.context), None)


class Variant(NamedTuple):
    """A network for a task."""

    name: Bilingual
    build: Callable[[], TokenReader]


class Weakness(NamedTuple):
    """A weakness: what is claimed, a task that shows it, and the networks without and with a cure.

    steps  batches to learn from
    rate   highest learning rate
    """

    key: str
    name: Bilingual
    claimed: Bilingual
    draw: Draw
    steps: int
    plain: Variant
    cures: Sequence[Variant]
    rate: float = 3e-3


def _linked(layers: Callable[[], Sequence[nn.Module]], dim: int, hidden: int = 64) -> TokenReader:
    return TokenReader([NUM_TOKENS] * 2 + [NUM_VALUES], dim, layers(), NUM_VALUES, hidden=hidden)


def _several(num_heads: int) -> TokenReader:
    sizes = [NUM_TOKENS] * (1 + NUM_WANTED) + [NUM_VALUES]
    heads = [MultiHead(2 * DIM, num_heads)]
    return TokenReader(sizes, 2 * DIM, heads, NUM_VALUES, num_answers=NUM_WANTED)


def _counting(normalizer: Sigmoid | None) -> TokenReader:
    return TokenReader([NUM_KINDS], DIM, [MultiHead(DIM, 1, normalizer=normalizer)], MAX_COUNT)


def _marked(positions: Sinusoidal | None) -> TokenReader:
    return TokenReader([NUM_VALUES + 2], DIM, [MultiHead(DIM, 4)], 2, positions=positions)


WEAKNESSES: Sequence[Weakness] = (
    Weakness(
        "positions",
        Bilingual("no positions", "没有位置信息"),
        Bilingual(
            "Self-attention does not know where its inputs stand, so it cannot model sequences; "
            "positions cure it.",
            "自注意力没有考虑输入的位置，无法对序列建模；加入位置编码即可解决。",
        ),
        which_first,
        300,
        Variant(Bilingual("no positions", "无位置编码"), lambda: _marked(None)),
        [
            Variant(
                Bilingual("sinusoidal positions", "正弦位置编码"), lambda: _marked(Sinusoidal(DIM))
            )
        ],
    ),
    Weakness(
        "roles",
        Bilingual("one vector, three roles", "一个向量三种角色"),
        Bilingual(
            "An input vector that is query, key and value at once is hard to learn with; "
            "three projections cure it.",
            "输入向量同时充当查询、键、值三种角色，不容易学习；三个投影矩阵即可解决。",
        ),
        linked_value,
        500,
        Variant(
            Bilingual("x is query, key and value", "x 兼作查询、键与值"),
            lambda: _linked(lambda: [MultiHead(DIM, 1, projections="slice")], DIM, WIDER),
        ),
        [
            Variant(
                Bilingual("projections", "投影"), lambda: _linked(lambda: [MultiHead(DIM, 1)], DIM)
            )
        ],
    ),
    Weakness(
        "pairs",
        Bilingual("pairs only", "只看两两关系"),
        Bilingual(
            "A score relates two tokens, never more; depth, or a score of three tokens, cures it.",
            "分数只考虑两个单元之间的联系，无法建模多个输入；加深层数或使用三元分数即可解决。",
        ),
        partial(linked_value, hops=2),
        1_200,
        Variant(Bilingual("one layer", "一层"), lambda: _linked(lambda: [MultiHead(48, 2)], 48)),
        [
            Variant(
                Bilingual("two layers", "两层"),
                lambda: _linked(lambda: [MultiHead(DIM, 2), MultiHead(DIM, 2)], DIM),
            ),
            Variant(
                Bilingual("three-way score", "三元分数"),
                lambda: _linked(lambda: [ThreeWay(DIM)], DIM),
            ),
        ],
        rate=1e-2,
    ),
    Weakness(
        "focus",
        Bilingual("one focus at a time", "一次只有一个焦点"),
        Bilingual(
            "One attention cannot look at several inputs at once; several heads cure it.",
            "一组注意力无法同时关注多个输入；多头注意力即可解决。",
        ),
        several_values,
        800,
        Variant(Bilingual("one head", "单头"), lambda: _several(1)),
        [Variant(Bilingual("four heads", "四个头"), lambda: _several(4))],
    ),
    Weakness(
        "exclusion",
        Bilingual("outcomes exclude each other", "结果互斥"),
        Bilingual(
            "Weights that share a sum of one exclude each other; a sigmoid for each key cures it.",
            "权重之和为一，计算结果可能互斥；对每个键用 sigmoid 代替 softmax 即可解决。",
        ),
        same_kind,
        400,
        Variant(Bilingual("softmax", "softmax"), lambda: _counting(None)),
        [Variant(Bilingual("sigmoid", "sigmoid"), lambda: _counting(Sigmoid(bias=0.0)))],
    ),
)
