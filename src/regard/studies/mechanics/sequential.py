"""Sequential operations, path length, time and memory of layers over a sequence.

Every layer maps n vectors of 128 numbers to n vectors, once forward and once backward, on one core:
a GRU, a convolution over three vectors, multi-head attention with its projections; without them,
full attention that stores its weights (dense) and that does not (fused), and every mechanism of
regard. An exponent p says that a cost grows as n^p; it is fitted over the logarithms of the longer
lengths (sparse mechanisms compute short ones as one dense tile), with the interval of its
residuals. Exact parts: the longest chain of dependent operations, the steps after which every
vector depends on every one before it, and the bytes of tensors held at once. Time is the least
processor time of several passes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from regard.attention.mechanisms import MECHANISMS
from regard.studies.estimates import Estimate, exponent
from regard.studies.mechanics.layer_costs import (
    HEADS,
    LAYERS,
    WIDTH,
    influence,
    inputs,
    new_layer,
    operation_depth,
    path_length,
    peak_bytes,
    train_once,
)
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.views.charts.panels import Bilingual, Curve, CurvePanel
from regard.worker_pool import WorkerPool

NAMES: dict[str, Bilingual] = {
    "rnn": Bilingual("RNN (GRU)", "RNN（GRU）"),
    "cnn": Bilingual("CNN (width 3)", "CNN（宽度 3）"),
    "projected": Bilingual("multi-head with projections", "含投影的多头注意力"),
    "dense": Bilingual("full attention, dense", "全注意力，稠密"),
    "fused": Bilingual("full attention, fused", "全注意力，融合"),
    "local": Bilingual("local (window 64)", "局部（窗口 64）"),
}
SHOWN = ("rnn", "cnn", "dense", "fused", "blockwise", "local", "sparse", "linear")
CONNECTED = ("rnn", "cnn", "local", "local+global", "sparse", "reformer", "fused", "linear")
BATCHED = ("rnn", "cnn", "projected", "dense", "fused", "linear")
COSTS = {
    "rnn": "n",
    "cnn": "n",
    "projected": "n²",
    "dense": "n²",
    "fused": "n²",
    **{name: new(64, HEADS, WIDTH).facts.cost for name, new in MECHANISMS.items()},
}
QUADRATIC, LINEAR = 1.75, 1.25
"""An exponent above the first counts as quadratic, below the second as linear."""


class Sizes(NamedTuple):
    """Lengths at which each quantity is measured, and batches at one length.

    shortest  the length from which exponents are fitted
    """

    counted: tuple[int, ...]
    timed: tuple[int, ...]
    shortest: int
    batches: tuple[int, ...]
    batch_length: int
    repeats: int

    def growth(self, costs: Sequence[float]) -> Estimate:
        """The exponent of a cost at the lengths that are timed."""
        first = self.timed.index(self.shortest)
        return exponent(self.timed[first:], costs[first:])


FULL = Sizes(
    (256, 512, 1024), (256, 512, 1024, 1448, 2048, 2896, 4096), 1024, (1, 2, 4, 8, 16, 32), 128, 5
)
QUICK = Sizes((16, 32), (64, 128, 256), 64, (1, 4), 32, 1)


class LayerFigures(NamedTuple):
    """Of one layer: what it costs at every length, and in every batch.

    depth          longest chain of dependent operations
    path           steps until every vector depends on every one before it
    seconds, bytes, batch_seconds, batch_bytes  of one forward and backward pass
    """

    depth: list[int]
    path: list[int]
    seconds: list[float]
    bytes: list[int]
    batch_seconds: list[float]
    batch_bytes: list[int]


def run(options: StudyOptions) -> Findings:
    """Measure every layer."""
    sizes = QUICK if options.quick else FULL
    figures: dict[str, LayerFigures] = {}
    with WorkerPool(1):  # one thread for every operation
        for name in LAYERS:
            options.report(f"measuring {_name(name).en}")
            figures[name] = measure(name, sizes, options.seed)
    return findings(figures, sizes)


def findings(figures: Mapping[str, LayerFigures], sizes: Sizes) -> Findings:
    """The claims, from the figures."""
    return Findings(
        Bilingual(
            "Operations that must wait for each other, steps between distant vectors, time and "
            "memory, against the length n and the batch; straight lines are powers of n.",
            "必须依次等待的运算、相距较远的向量之间的步数、时间和内存随长度 n 和批量的变化；"
            "直线表示 n 的幂。",
        ),
        claims(figures, sizes),
        [_length_table(figures, sizes), _batch_table(figures, sizes)],
        [*_panels(figures, sizes)],
        {
            "sizes": sizes._asdict(),
            "layers": {name: layer._asdict() for name, layer in figures.items()},
        },
    )


def measure(name: str, sizes: Sizes, seed: int = 0) -> LayerFigures:
    """All figures of one layer."""
    depth = [_depth(name, length, seed) for length in sizes.counted]
    path = [path_length(influence(name, length, seed)) for length in sizes.counted]
    lengths = [_pass(name, 1, length, sizes.repeats, seed) for length in sizes.timed]
    batches = [
        _pass(name, batch, sizes.batch_length, sizes.repeats, seed) for batch in sizes.batches
    ]
    seconds, peak = map(list, zip(*lengths, strict=True))
    batch_seconds, batch_peak = map(list, zip(*batches, strict=True))
    return LayerFigures(depth, path, seconds, peak, batch_seconds, batch_peak)


def _depth(name: str, length: int, seed: int) -> int:
    torch.manual_seed(seed)
    return operation_depth(new_layer(name, length)(inputs(1, length, seed)))


def _pass(name: str, batch: int, length: int, repeats: int, seed: int) -> tuple[float, int]:
    """Least processor seconds and bytes of a forward and backward pass."""
    torch.manual_seed(seed)
    once = partial(train_once, new_layer(name, length), inputs(batch, length, seed))
    peak = peak_bytes(once)
    seconds = []
    for _ in range(1 + repeats):  # the first warms up
        start = time.thread_time()
        once()
        seconds.append(time.thread_time() - start)
    return min(seconds[1:]), peak


def claims(figures: Mapping[str, LayerFigures], sizes: Sizes) -> list[Claim]:
    """Five claims.

    1  holds if the dependent operations of the RNN grow as n (exponent above 0.95) and those of
       full attention are equally many at all lengths
    2  holds if full attention needs one step and the RNN n − 1, at all lengths
    3  holds if time and memory of dense attention are quadratic, intervals included
    4  holds if time and memory of every mechanism that attends to fewer keys, or by another
       kernel, grow more slowly than those of dense attention, intervals apart
    5  holds if the RNN's memory grows with the batch (exponent above 0.75) and, in the largest
       batch, it still takes longer than multi-head attention with its projections
    """
    rnn, dense, fused = (figures[name] for name in ("rnn", "dense", "fused"))
    n, batch = sizes.counted[-1], sizes.batches[-1]
    chain = exponent(sizes.counted, rnn.depth)
    seconds = {name: sizes.growth(layer.seconds) for name, layer in figures.items()}
    memory = {name: sizes.growth(layer.bytes) for name, layer in figures.items()}
    variants = [
        name
        for name in LAYERS
        if name in MECHANISMS and MECHANISMS[name](64, HEADS, WIDTH).facts.answer != "exact"
    ]
    slower = [
        name
        for name in variants
        if seconds[name].high >= seconds["dense"].low or memory[name].high >= memory["dense"].low
    ]
    most = max(variants, key=lambda name: seconds[name].mean)
    not_better = ", ".join(slower)
    in_batch = exponent(sizes.batches, rnn.batch_bytes)
    saved = batch * rnn.batch_seconds[0] / rnn.batch_seconds[-1]
    against = rnn.batch_seconds[-1] / figures["projected"].batch_seconds[-1]
    return [
        Claim(
            Bilingual(
                "A recurrent network needs n operations one after another for n words; "
                "self-attention computes all positions at once.",
                "循环神经网络对 n 个词需要 n 个顺序操作；自注意力则并行计算所有位置。",
            ),
            Bilingual(
                f"At n = {n:,} the longest chain of dependent operations has {rnn.depth[-1]:,} in "
                f"the GRU, growing as n^{chain.written()}, and {dense.depth[-1]} (dense) or "
                f"{fused.depth[-1]} (fused) in full attention, at every length.",
                f"n = {n:,} 时，最长的依赖运算链在 GRU 中有 {rnn.depth[-1]:,} 个运算，按 "
                f"n^{chain.written()} 增长；在全注意力中为 {dense.depth[-1]} 个（稠密）或 "
                f"{fused.depth[-1]} 个（融合），与长度无关。",
            ),
            chain.low > 0.95 and len({*dense.depth}) == len({*fused.depth}) == 1,
        ),
        Claim(
            Bilingual(
                "In a recurrent network early words pass through an update for every later word; "
                "attention reads every position directly.",
                "在循环神经网络中，早期的词要经过其后每个词的更新；注意力则直接读取每个位置。",
            ),
            Bilingual(
                f"At n = {n:,} the first word reaches all later ones after {rnn.path[-1]:,} steps "
                f"of the RNN, {figures['cnn'].path[-1]:,} of the CNN, "
                f"{figures['local'].path[-1]} of local attention, {figures['sparse'].path[-1]} of "
                f"sparse and {fused.path[-1]} of full attention.",
                f"n = {n:,} 时，第一个词到达其后所有词需要：RNN {rnn.path[-1]:,} 步，CNN "
                f"{figures['cnn'].path[-1]:,} 步，局部注意力 {figures['local'].path[-1]} 步，"
                f"稀疏注意力 {figures['sparse'].path[-1]} 步，全注意力 {fused.path[-1]} 步。",
            ),
            {*fused.path} == {1} and rnn.path == [length - 1 for length in sizes.counted],
        ),
        Claim(
            Bilingual(
                "The attention pattern is as large as the square of the context length, one of the "
                "great bottlenecks.",
                "注意力模式的大小等于上下文长度的平方，这是巨大的瓶颈之一。",
            ),
            Bilingual(
                f"With all weights stored (dense), time grows as n^{seconds['dense'].written()} "
                f"and memory as n^{memory['dense'].written()}; fused, without storing them, as "
                f"n^{seconds['fused'].written()} and n^{memory['fused'].written()}: the square "
                "remains in time, not in memory.",
                f"存储全部权重（稠密）时，时间按 n^{seconds['dense'].written()} 增长，内存按 "
                f"n^{memory['dense'].written()} 增长；不存储权重（融合）时分别为 "
                f"n^{seconds['fused'].written()} 和 n^{memory['fused'].written()}："
                "平方关系只留在时间上，而不在内存上。",
            ),
            min(seconds["dense"].low, memory["dense"].low) > QUADRATIC,
        ),
        Claim(
            Bilingual(
                "Variants of attention remove this bottleneck.",
                "注意力机制的各种变体解决了这个瓶颈。",
            ),
            Bilingual(
                f"Of {len(variants)} variants the time of {most} grows fastest, as "
                f"n^{seconds[most].written()}, against n^{seconds['dense'].written()} of dense "
                f"attention; time or memory of these does not clearly grow more slowly than dense: "
                f"{not_better or 'none'}.",
                f"在 {len(variants)} 种变体中，{most} 的时间增长最快，为 "
                f"n^{seconds[most].written()}，而稠密注意力为 n^{seconds['dense'].written()}；"
                f"时间或内存的增长并不明显慢于稠密注意力的变体：{not_better or '无'}。",
            ),
            not slower,
        ),
        Claim(
            Bilingual(
                "More samples in a batch cannot make up for the lack of parallelism along the "
                "sequence, because they need more memory.",
                "增加批次中的样本不能弥补序列方向上并行性的缺乏，因为这会增加内存需求。",
            ),
            Bilingual(
                f"With {batch} sequences of {sizes.batch_length} in a batch instead of one, a "
                f"sequence takes the GRU {saved:.1f} times less time, with memory that grows as "
                f"b^{in_batch.written()}; it then takes {against:.1f} times as long as "
                "multi-head attention with its projections.",
                f"批次中有 {batch} 个长度为 {sizes.batch_length} 的序列而不是一个时，GRU 处理每个"
                f"序列的时间缩短到原来的 1/{saved:.1f}，内存按 b^{in_batch.written()} 增长；"
                f"此时用时是含投影的多头注意力的 {against:.1f} 倍。",
            ),
            in_batch.low > 0.75 and against > 1,
        ),
    ]


def _name(layer: str) -> Bilingual:
    return NAMES.get(layer, Bilingual(layer, layer))


def _joined(names: Sequence[Bilingual]) -> Bilingual:
    return Bilingual("; ".join(name.en for name in names), "；".join(name.zh for name in names))


def _length_table(figures: Mapping[str, LayerFigures], sizes: Sizes) -> FindingsTable:
    n, longest = f"{sizes.counted[-1]:,}", f"{sizes.timed[-1]:,}"
    return FindingsTable(
        Bilingual("Cost against the length n", "代价随长度 n 的变化"),
        [
            Bilingual("layer", "层"),
            Bilingual(f"dependent operations, n = {n}", f"依赖运算数，n = {n}"),
            Bilingual(f"path length, n = {n}", f"路径长度，n = {n}"),
            Bilingual("cost (paper)", "代价（论文）"),
            Bilingual(f"ms, n = {longest}", f"毫秒，n = {longest}"),
            Bilingual("exponent of time", "时间的指数"),
            Bilingual(f"MB, n = {longest}", f"MB，n = {longest}"),
            Bilingual("exponent of memory", "内存的指数"),
        ],
        [
            [
                _name(name),
                f"{layer.depth[-1]:,}",
                f"{layer.path[-1]:,}",
                COSTS[name],
                1e3 * layer.seconds[-1],
                sizes.growth(layer.seconds).written(),
                layer.bytes[-1] / 1e6,
                sizes.growth(layer.bytes).written(),
            ]
            for name, layer in figures.items()
        ],
    )


def _batch_table(figures: Mapping[str, LayerFigures], sizes: Sizes) -> FindingsTable:
    many = sizes.batches[-1]
    return FindingsTable(
        Bilingual(
            f"Cost against the batch b, n = {sizes.batch_length}",
            f"代价随批量 b 的变化，n = {sizes.batch_length}",
        ),
        [
            Bilingual("layer", "层"),
            Bilingual("ms per sequence, b = 1", "每个序列的毫秒数，b = 1"),
            Bilingual(f"ms per sequence, b = {many}", f"每个序列的毫秒数，b = {many}"),
            Bilingual("exponent of time", "时间的指数"),
            Bilingual("exponent of memory", "内存的指数"),
        ],
        [
            [
                _name(name),
                1e3 * layer.batch_seconds[0],
                1e3 * layer.batch_seconds[-1] / many,
                exponent(sizes.batches, layer.batch_seconds).written(),
                exponent(sizes.batches, layer.batch_bytes).written(),
            ]
            for name, layer in figures.items()
        ],
    )


def _panels(figures: Mapping[str, LayerFigures], sizes: Sizes) -> Iterator[CurvePanel]:
    length, batch = (
        Bilingual("length n", "长度 n"),
        Bilingual("sequences in a batch", "批次中的序列数"),
    )

    def panel(
        title: Bilingual,
        x_label: Bilingual,
        y_label: Bilingual,
        layers: Sequence[str],
        x: Any,
        y: Any,
    ) -> CurvePanel:
        equal: dict[tuple[float, ...], list[Bilingual]] = {}  # layers that would hide each other
        for name in layers:
            equal.setdefault(tuple(y(figures[name])), []).append(_name(name))
        curves = [Curve(_joined(names), x, values) for values, names in equal.items()]
        return CurvePanel(title, x_label, y_label, curves, log="xy")

    yield panel(
        Bilingual("Operations one after another", "顺序操作"),
        length,
        Bilingual("operations", "运算数"),
        ("rnn", "cnn", "dense", "fused"),
        sizes.counted,
        lambda layer: layer.depth,
    )
    yield panel(
        Bilingual("Path between distant vectors", "相距较远的向量之间的路径"),
        length,
        Bilingual("steps", "步数"),
        CONNECTED,
        sizes.counted,
        lambda layer: layer.path,
    )
    yield panel(
        Bilingual("Time, forward and backward", "时间（前向与反向）"),
        length,
        Bilingual("milliseconds", "毫秒"),
        SHOWN,
        sizes.timed,
        lambda layer: [1e3 * value for value in layer.seconds],
    )
    yield panel(
        Bilingual("Memory, forward and backward", "内存（前向与反向）"),
        length,
        Bilingual("MB", "MB"),
        SHOWN,
        sizes.timed,
        lambda layer: [value / 1e6 for value in layer.bytes],
    )
    yield panel(
        Bilingual("Time per sequence in a batch", "批次中每个序列的时间"),
        batch,
        Bilingual("milliseconds", "毫秒"),
        BATCHED,
        sizes.batches,
        lambda layer: [
            1e3 * value / many
            for value, many in zip(layer.batch_seconds, sizes.batches, strict=True)
        ],
    )
    yield panel(
        Bilingual("Memory of a batch", "批次的内存"),
        batch,
        Bilingual("MB", "MB"),
        BATCHED,
        sizes.batches,
        lambda layer: [value / 1e6 for value in layer.batch_bytes],
    )
