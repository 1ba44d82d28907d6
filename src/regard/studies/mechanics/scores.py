"""Additive against scaled dot-product scores: quality, time, memory and parameters.

Both get the same hidden width h = d: s = v·tanh(W_q q + W_k k) and s = (W_q q)·(W_k k) / √h. The
quality is that of aligning given vectors: every token has a fixed random query vector and a fixed
random key vector, and the score alone learns which belong together. Verdicts: better where the
95 % interval over seeds lies above the other's; cheaper where time and memory are smaller at every
width; parameters are needed where the weights depend on any.

Shapes: B sentences, Q queries, K keys, d width of queries, h hidden width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Additive, MultiHead, ScaledDot, Score, attend
from regard.attention.engines.choice import Engine
from regard.attention.scores.prepared import PreparedDot
from regard.bench.clock import seconds
from regard.cores import cores
from regard.studies.estimates import Estimate, estimate, estimated_curve
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.views.charts.panels import Bilingual, Curve, CurvePanel, Panel
from regard.worker_pool import parallel_map

WIDTHS, QUICK_WIDTHS = (4, 8, 16, 32, 64), (4, 16)
COST_WIDTHS, QUICK_COST_WIDTHS = (16, 32, 64, 128, 256), (16, 64)
KEYS_PER_QUERY = 1.5  # width of keys over that of queries, where they differ
VOCABULARY, CHOICES, BATCH, VALUE_DIM = 64, 16, 64, 16
RATES = (1e-2, 3e-2)
LENGTH, SENTENCES = 64, 16  # queries and keys, and sentences, whose cost is measured

NAMES: dict[str, Bilingual] = {
    "additive": Bilingual("additive", "加性注意力"),
    "dot": Bilingual("scaled dot product", "缩放点积注意力"),
}
COST_NAMES: dict[str, Bilingual] = {
    "textbook": Bilingual("additive, all sums at once", "加性注意力（一次求全部和）"),
    "additive": Bilingual("additive, by tiles", "加性注意力（分块）"),
    "dot": NAMES["dot"],
}


class ProjectedDot(Score):
    """s = (W_q q)·(W_k k) / √h, as in a head of multi-head attention."""

    finite = True

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.query_proj = nn.Linear(query_dim, hidden_dim, bias=False)
        self.key_proj = nn.Linear(key_dim, hidden_dim, bias=False)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return self.as_dot(query, key).scores()

    def as_dot(self, query: Tensor, key: Tensor, visible: Tensor | None = None) -> PreparedDot:
        return ScaledDot().as_dot(self.query_proj(query), self.key_proj(key))


SCORES: dict[str, Callable[[int, int, int], Score]] = {"additive": Additive, "dot": ProjectedDot}


def key_width(width: int, unequal: bool) -> int:
    """Width of the keys for queries of a width."""
    return int(KEYS_PER_QUERY * width) if unequal else width


def num_parameters(module: nn.Module) -> int:
    """Number of learned numbers."""
    return sum(parameter.numel() for parameter in module.parameters())


def takes_unequal_widths(score: Score, query_dim: int, key_dim: int) -> bool:
    """Whether a score accepts queries and keys of these widths."""
    try:
        score(torch.zeros(1, 1, query_dim), torch.zeros(1, 1, key_dim))
    except ValueError:
        return False
    return True


class AlignmentRun(NamedTuple):
    """One training of the alignment task."""

    score: Score
    width: int
    unequal: bool
    rate: float
    seed: int
    steps: int


def alignment_accuracy(run: AlignmentRun) -> float:
    """Share of queries whose largest weight is on the right key, in the last tenth of training.

    A query is one of 64 tokens, the keys are 16 different ones with the same token among them, the
    values are random vectors; the loss is the squared error of the context against the value of
    the right key. Chance is 1/16.
    """
    generator = torch.Generator().manual_seed(run.seed)
    query_table = torch.randn(VOCABULARY, run.width, generator=generator)
    key_table = torch.randn(VOCABULARY, key_width(run.width, run.unequal), generator=generator)
    optimizer = torch.optim.Adam(run.score.parameters(), lr=run.rate)
    rows, hits = torch.arange(BATCH), []
    for _ in range(run.steps):
        tokens = torch.rand(BATCH, VOCABULARY, generator=generator).argsort(1)[:, :CHOICES]
        target = torch.randint(CHOICES, (BATCH,), generator=generator)
        value = torch.randn(BATCH, CHOICES, VALUE_DIM, generator=generator)
        query = query_table[tokens[rows, target]][:, None]
        context, weights = attend(query, key_table[tokens], value, score=run.score, weights=True)
        optimizer.zero_grad()
        F.mse_loss(context[:, 0], value[rows, target]).backward()
        optimizer.step()
        hits.append(float((weights[:, 0].argmax(-1) == target).double().mean()))
    last = hits[-max(1, run.steps // 10) :]
    return sum(last) / len(last)


class Cost(NamedTuple):
    """Cost of attention with one score, forward and backward."""

    seconds: float
    megabytes: float
    """Memory that is kept for the backward pass."""


def saved_megabytes(run: Callable[[], Tensor]) -> float:
    """Memory of the tensors that a computation keeps for its backward pass."""
    storages: dict[int, int] = {}

    def pack(x: Tensor) -> Tensor:
        storage = x.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        result = run()  # holds what is kept until it is counted
    del result
    return sum(storages.values()) / 1e6


def costs(width: int, repeats: int) -> dict[str, Cost]:
    """Costs of the additive score as the textbook computes it, by regard, and of the dot product.

    The textbook has all sums W_q q + W_k k in memory at once, (B, Q, K, h).
    """
    generator = torch.Generator().manual_seed(0)
    query, key, value = torch.randn(3, SENTENCES, LENGTH, width, generator=generator)
    query.requires_grad_()

    def forward(score: Score, engine: Engine = "auto") -> Tensor:
        return attend(query, key, value, score=score, engine=engine).context

    additive, dot = (make(width, width, width) for make in SCORES.values())
    runs: dict[str, Callable[[], Tensor]] = {
        "textbook": lambda: forward(additive, "dense"),
        "additive": lambda: forward(additive),
        "dot": lambda: forward(dot),
    }
    times = seconds([lambda run=run: run().sum().backward() for run in runs.values()], repeats)  # type: ignore[misc]  # a default argument binds the loop's variable
    return {
        name: Cost(run_seconds, saved_megabytes(run))
        for run_seconds, (name, run) in zip(times, runs.items(), strict=True)
    }


def run(options: StudyOptions) -> Findings:
    """Measure the study's claims."""
    widths = QUICK_WIDTHS if options.quick else WIDTHS
    accuracies = _train(options, widths)
    measured = {}
    for width in QUICK_COST_WIDTHS if options.quick else COST_WIDTHS:
        options.report(f"time and memory at width {width}")
        measured[width] = costs(width, 3 if options.quick else 15)
    parameters = {
        width: {name: num_parameters(make(width, width, width)) for name, make in SCORES.items()}
        for width in measured
    }
    return Findings(
        caption=Bilingual(
            "The additive score aligns better at small widths; at larger ones the projected dot "
            "product aligns as well in a fraction of the time, and of the memory unless the "
            "additive sums are computed by tiles.",
            "维度小时加性注意力对齐得更好；维度大时，投影后的点积对齐得同样好，用时只需一小部分；"
            "除非分块计算加性注意力的和，内存也只需一小部分。",
        ),
        claims=_claims(widths, accuracies, measured),
        tables=_tables(widths, accuracies, measured, parameters),
        panels=_panels(widths, accuracies, measured),
        values={
            "widths": widths,
            "accuracies": {
                f"{name}, {'unequal' if unequal else 'equal'} widths": values
                for (name, unequal), values in accuracies.items()
            },
            "costs": measured,
            "parameters": parameters,
        },
    )


Accuracies = dict[tuple[str, bool], list[Estimate]]
"""By score and whether widths are unequal: one for each width."""


def _train(options: StudyOptions, widths: Sequence[int]) -> Accuracies:
    """Accuracies of the alignment task, each at the better learning rate."""
    seeds = options.seeds(full=5)
    settings = [(name, unequal) for name in SCORES for unequal in (False, True)]
    runs = []
    for name, unequal in settings:
        for width in widths:
            for rate in RATES:
                for seed in seeds:
                    torch.manual_seed(seed)  # of the score's first parameters
                    score = SCORES[name](width, key_width(width, unequal), width)
                    steps = 60 if options.quick else 400
                    runs.append(AlignmentRun(score, width, unequal, rate, seed, steps))
    options.report(f"alignment: {len(runs)} trainings of {runs[0].steps} steps")
    accuracies = iter(parallel_map(alignment_accuracy, runs, cores(), fork=True))
    return {
        setting: [
            max(
                (estimate([next(accuracies) for _ in seeds]) for _ in RATES),
                key=lambda interval: interval.mean,
            )
            for _ in widths
        ]
        for setting in settings
    }


def _claims(
    widths: Sequence[int], accuracies: Accuracies, measured: dict[int, dict[str, Cost]]
) -> list[Claim]:
    last = widths[-1]
    unequal = {name: accuracies[name, True][-1] for name in SCORES}
    plain = takes_unequal_widths(ScaledDot(), last, key_width(last, True))
    ratios = [
        (
            cost["additive"].seconds / cost["dot"].seconds,
            cost["textbook"].megabytes / cost["dot"].megabytes,
        )
        for cost in measured.values()
    ]
    times, memories = zip(*ratios, strict=True)
    differing = [
        width
        for at, width in enumerate(widths)
        if not accuracies["additive", False][at].overlaps(accuracies["dot", False][at])
    ]
    shown = differing[0] if differing else widths[0]
    both = [accuracies[name, False][list(widths).index(shown)].written() for name in SCORES]
    ends = [accuracies[name, False][-1].written() for name in SCORES]
    dim = list(measured)[-1]
    layer = MultiHead(dim, num_heads=1, bias=False)
    learned = num_parameters(layer.query_proj) + num_parameters(layer.key_proj)
    additive = num_parameters(Additive(dim, dim, dim))
    return [
        Claim(
            Bilingual(
                "Queries and keys of different widths call for the additive score; the dot product "
                "needs equal widths.",
                "查询和键长度不同时使用加性注意力；点积要求查询和键长度相同。",
            ),
            Bilingual(
                f"With queries of width {last} and keys of {key_width(last, True)} the additive "
                f"score aligns {unequal['additive'].written()} of the queries, the plain dot "
                f"product {'runs' if plain else 'is refused'}, and a dot product after "
                f"projections to one width aligns {unequal['dot'].written()}.",
                f"查询长度为 {last}、键长度为 {key_width(last, True)} 时，加性注意力对齐了 "
                f"{unequal['additive'].written()} 的查询，直接点积{'可以' if plain else '报错'}，"
                f"先投影到同一长度的点积对齐了 {unequal['dot'].written()}。",
            ),
            not plain and unequal["additive"].low > 1 / CHOICES,
        ),
        Claim(
            Bilingual(
                "At equal widths the scaled dot product is cheaper to compute.",
                "长度相同时，缩放点积注意力的计算效率更高。",
            ),
            Bilingual(
                f"Forward and backward over {LENGTH} queries and keys, the additive score takes "
                f"{min(times):.1f} to {max(times):.1f} times the time, and computed all at once it "
                f"keeps {min(memories):.1f} to {max(memories):.1f} times the memory.",
                f"对 {LENGTH} 个查询和键做前向与反向，加性注意力用时是缩放点积的 "
                f"{min(times):.1f} 至 {max(times):.1f} 倍；一次求全部和时占用内存是其 "
                f"{min(memories):.1f} 至 {max(memories):.1f} 倍。",
            ),
            min(times) > 1 and min(memories) > 1,
        ),
        Claim(
            Bilingual(
                "Different scores are different attention: the choice matters for what is learned.",
                "不同的注意力评分函数带来不同的注意力汇聚：选择会影响学习结果。",
            ),
            Bilingual(
                f"At width {shown} the additive score aligns {both[0]} of the queries and the "
                f"scaled dot product {both[1]}; at width {last} {ends[0]} and {ends[1]}.",
                f"维度为 {shown} 时，加性注意力对齐了 {both[0]} 的查询，缩放点积为 {both[1]}；"
                f"维度为 {last} 时分别为 {ends[0]} 与 {ends[1]}。",
            ),
            bool(differing),
        ),
        Claim(
            Bilingual(
                "Additive attention learns parameters of its alignment; self-attention by scaled "
                "dot products needs none.",
                "加性（Bahdanau）注意力要学习对齐模型的参数；基于缩放点积的自注意力无需额外的参数。",
            ),
            Bilingual(
                f"At width {dim} the additive score has {additive:,} parameters and the scaled dot "
                f"product {num_parameters(ScaledDot())}; but the W_q and W_k of a self-attention "
                f"layer, on which its weights depend as well, have {learned:,}.",
                f"维度为 {dim} 时，加性评分函数有 {additive:,} 个参数，缩放点积有 "
                f"{num_parameters(ScaledDot())} 个；但自注意力层的权重同样依赖于 W_q 和 W_k，"
                f"它们有 {learned:,} 个参数。",
            ),
            learned == 0,
        ),
    ]


def _tables(
    widths: Sequence[int],
    accuracies: Accuracies,
    measured: dict[int, dict[str, Cost]],
    parameters: dict[int, dict[str, int]],
) -> list[FindingsTable]:
    quality = FindingsTable(
        Bilingual("Share of queries aligned (chance 0.06)", "对齐的查询所占比例（随机为 0.06）"),
        [Bilingual("width d", "维度 d"), *(_setting(*key) for key in accuracies)],
        [
            [width, *(values[at].written() for values in accuracies.values())]
            for at, width in enumerate(widths)
        ],
    )
    names = COST_NAMES.values()
    cost = FindingsTable(
        Bilingual(
            f"{SENTENCES} sentences of {LENGTH} queries and keys, forward and backward",
            f"{SENTENCES} 个句子、各 {LENGTH} 个查询和键的前向与反向",
        ),
        [
            Bilingual("width d", "维度 d"),
            *(Bilingual(f"{name.en}, ms", f"{name.zh}，毫秒") for name in names),
            *(Bilingual(f"{name.en}, MB", f"{name.zh}，MB") for name in names),
            Bilingual("parameters, additive", "参数量，加性"),
            Bilingual("parameters, W_q and W_k of the dot product", "参数量，点积的 W_q 与 W_k"),
        ],
        [
            [
                width,
                *(cost.seconds * 1e3 for cost in by_score.values()),
                *(cost.megabytes for cost in by_score.values()),
                *parameters[width].values(),
            ]
            for width, by_score in measured.items()
        ],
    )
    return [quality, cost]


def _setting(name: str, unequal: bool) -> Bilingual:
    en, zh = ("unequal widths", "长度不同") if unequal else ("equal widths", "长度相同")
    return Bilingual(f"{NAMES[name].en}, {en}", f"{NAMES[name].zh}，{zh}")


def _panels(
    widths: Sequence[int], accuracies: Accuracies, measured: dict[int, dict[str, Cost]]
) -> list[Panel]:
    width = Bilingual("width d", "维度 d")

    def cost(title: Bilingual, label: Bilingual, at: int, factor: float) -> CurvePanel:
        curves = [
            Curve(words, list(measured), [costs[name][at] * factor for costs in measured.values()])
            for name, words in COST_NAMES.items()
        ]
        return CurvePanel(title, width, label, curves, "xy")

    qualities = [
        CurvePanel(
            Bilingual(f"Alignment learned, {en} widths", f"学得的对齐，查询与键{zh}"),
            width,
            Bilingual("share of queries aligned", "对齐的查询所占比例"),
            [estimated_curve(NAMES[name], widths, accuracies[name, unequal]) for name in SCORES],
            "x",
            (0.0, 1.05),
        )
        for unequal, en, zh in ((False, "equal", "长度相同"), (True, "unequal", "长度不同"))
    ]
    return [
        *qualities,
        cost(
            Bilingual("Time, forward and backward", "前向与反向用时"),
            Bilingual("milliseconds", "毫秒"),
            0,
            1e3,
        ),
        cost(
            Bilingual("Memory kept for the backward pass", "为反向传播保留的内存"),
            Bilingual("megabytes", "MB"),
            1,
            1.0,
        ),
    ]
