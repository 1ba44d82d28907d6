"""The claims, tables and panels of the study of order."""

from __future__ import annotations

from collections.abc import Sequence

from regard.studies.estimates import Estimate
from regard.studies.mechanics.fitting import num_parameters
from regard.studies.mechanics.order.tasks import (
    ENCODERS,
    READERS,
    SCHEMES,
    TRAINED_LENGTHS,
    ImageNetwork,
)
from regard.studies.study import Claim, Findings, FindingsTable
from regard.views.charts.panels import BarPanel, Bars, Bilingual, Curve, CurvePanel, Words

Results = dict[tuple[str, bool], list[Estimate]]
"""Accuracies by network and choice (causal, ordered, shuffled); of sequences one per length."""
Permutations = dict[tuple[str, bool], tuple[float, float]]
"""By positions, and whether causal: largest change under permutation, share equal to the bit."""
LENGTHS = (8, 16, 32, 64)
TRAINED, BEYOND = TRAINED_LENGTHS[1], LENGTHS[-1]
KEPT = 0.95
"""Share of its accuracy at the trained length with which a model counts as keeping it."""
EXACT = 1e-10
"""Largest difference that counts as rounding in float64."""
SCHEME_NAMES: dict[str, Bilingual] = {
    "none": Bilingual("none", "无"),
    "sinusoidal": Bilingual("sinusoidal", "正弦"),
    "learned": Bilingual("learned", "可学习"),
    "rotary": Bilingual("rotary", "旋转"),
    "alibi": Bilingual("ALiBi", "ALiBi"),
    "relative": Bilingual("relative bias", "相对偏置"),
}
ENCODER_NAMES: dict[str, Bilingual] = {
    "recurrent": Bilingual("GRU, in order", "按顺序的 GRU"),
    "attention": Bilingual("attention, no positions", "注意力，无位置"),
    "attention with positions": Bilingual("attention, sinusoidal", "注意力，正弦位置"),
}
READER_NAMES: dict[str, Bilingual] = {
    "flat": Bilingual("in a line, feed-forward", "排成一行，前馈网络"),
    "convolution": Bilingual("convolution", "卷积"),
    "attention": Bilingual("attention, no positions", "注意力，无位置"),
    "attention, line": Bilingual("attention, 1-D", "注意力，一维位置"),
    "attention, plane": Bilingual("attention, 2-D", "注意力，二维位置"),
}


def order_findings(
    differences: dict[str, float],
    networks: Permutations,
    sequences: Results,
    histories: Results,
    pictures: Results,
) -> Findings:
    """What was found; `differences` are those of attention alone, by score and normalizer."""
    return Findings(
        Bilingual(
            "Accuracy of naming the token before each, by length, for all positions; of whether "
            "a patient’s history has a drug with its side effect and which came first; "
            "and of shapes in images whose pixels are in their places or shuffled (95 % intervals "
            "over seeds).",
            "各种位置编码下说出前一个词元的准确率随长度的变化；"
            "判断病史中药物与其副作用是否同时出现、何者在前的准确率；"
            "像素在原位与被打乱时识别图像中形状的准确率（各种子的 95 % 区间）。",
        ),
        [
            _equivariance_claim(differences, networks),
            _positions_claim(sequences),
            _useless_claim(sequences),
            _window_claim(sequences),
            _history_claim(histories),
            _picture_claim(pictures),
        ],
        [_permutation_table(networks, sequences), _picture_table(pictures)],
        [
            _length_panel(sequences, causal=False),
            _length_panel(sequences, causal=True),
            _bar_panel(
                Bilingual("Patient histories", "患者病史"),
                histories,
                ENCODER_NAMES,
                (
                    Bilingual("relation matters", "与关系有关"),
                    Bilingual("order matters", "与顺序有关"),
                ),
                0.5,
            ),
            _bar_panel(
                Bilingual("Shapes in images", "图像中的形状"),
                pictures,
                READER_NAMES,
                (
                    Bilingual("pixels in their places", "像素在原位"),
                    Bilingual("pixels shuffled", "像素打乱"),
                ),
                0.25,
            ),
        ],
        {
            "permutation": {
                "attention": differences,
                "networks": {
                    f"{scheme}, {'causal' if causal else 'all'}": value
                    for (scheme, causal), value in networks.items()
                },
            },
            "sequences": _stored(sequences),
            "histories": _stored(histories),
            "images": _stored(pictures),
            "lengths": list(LENGTHS),
        },
    )


def _stored(results: Results) -> dict[str, list[Estimate]]:
    return {f"{name}, {choice}": estimates for (name, choice), estimates in results.items()}


def _equivariance_claim(differences: dict[str, float], networks: Permutations) -> Claim:
    largest = max(*differences.values(), networks["none", False][0])
    share, causal = networks["none", False][1], networks["none", True][0]
    return Claim(
        Bilingual(
            "All tokens share the same matrices, so self-attention has no information about "
            "positions.",
            "所有词元共用同样的矩阵，因此自注意力不包含位置信息。",
        ),
        Bilingual(
            f"Permuted tokens give permuted outputs up to {largest:.0e} in float64, for "
            f"{len(differences)} pairs of score and normalizer and a Transformer of two layers "
            f"({share:.0%} of its numbers equal to the bit, as sums round by their order); with a "
            f"causal mask they differ by {causal:.2f}.",
            f"词元换序后输出随之换序，float64 下差异不超过 {largest:.0e}（{len(differences)} "
            f"种分数与归一化组合及一个两层 Transformer，其 {share:.0%} 的数值逐位相等，"
            f"求和舍入与顺序有关）；加因果掩蔽后差异为 {causal:.2f}。",
        ),
        largest < EXACT,
    )


def _at(results: Results, name: str, choice: bool, length: int = TRAINED) -> Estimate:
    estimates = results[name, choice]
    return estimates[LENGTHS.index(length) if len(estimates) > 1 else 0]


def _listed(results: Results, names: Sequence[str], choice: bool, length: int) -> Bilingual:
    parts = [(SCHEME_NAMES[name], _at(results, name, choice, length)) for name in names]
    return Bilingual(
        ", ".join(f"{name.en} {interval.written()}" for name, interval in parts),
        "，".join(f"{name.zh} {interval.written()}" for name, interval in parts),
    )


def _positions_claim(sequences: Results) -> Claim:
    """Holds if every scheme's interval lies above that without positions, seeing all tokens."""
    without, names = (
        _at(sequences, "none", False),
        [scheme for scheme in SCHEMES if scheme != "none"],
    )
    listed = _listed(sequences, names, False, TRAINED)
    return Claim(
        Bilingual(
            "Positions, added to the inputs or otherwise, let attention model sequences.",
            "加入位置编码后，注意力就能对序列建模。",
        ),
        Bilingual(
            f"Naming the token before, at the trained length {TRAINED}: none {without.written()}; "
            f"{listed.en}. ALiBi knows distances but not sides, so it needs a causal mask: "
            f"{_at(sequences, 'alibi', True).written()} with one.",
            f"说出前一个词元，训练长度 {TRAINED}：无位置编码 {without.written()}；{listed.zh}。"
            f"ALiBi 只有距离而不分左右，需要因果掩蔽：加上后为 "
            f"{_at(sequences, 'alibi', True).written()}。",
        ),
        all(without.high < _at(sequences, name, False).low for name in names),
    )


def _useless_claim(sequences: Results) -> Claim:
    """Holds if with a causal mask no positions are as good as sinusoidal ones, and without one."""
    pairs = [
        (_at(sequences, "none", causal), _at(sequences, "sinusoidal", causal))
        for causal in (False, True)
    ]
    (none, with_), (none_causal, with_causal) = pairs
    return Claim(
        Bilingual("Position encodings may be of no use.", "位置编码可能没有用。"),
        Bilingual(
            f"Accuracy without and with sinusoidal positions: {none.written()} and "
            f"{with_.written()} if all tokens are seen; {none_causal.written()} and "
            f"{with_causal.written()} with a causal mask, which itself tells something about "
            "positions.",
            f"无位置编码与正弦位置编码的准确率：看到全部词元时为 {none.written()} 与 "
            f"{with_.written()}；加因果掩蔽时为 {none_causal.written()} 与 "
            f"{with_causal.written()}，因为掩蔽本身透露了一些位置信息。",
        ),
        all(without.high >= with_positions.low for without, with_positions in pairs),
    )


def _window_claim(sequences: Results) -> Claim:
    """Holds if no scheme that learned the task keeps `KEPT` of its accuracy."""
    learned = [
        (name, causal) for name, causal in sequences if _at(sequences, name, causal).mean > 0.9
    ]
    lasting = [
        (name, causal)
        for name, causal in learned
        if _at(sequences, name, causal, BEYOND).mean >= KEPT * _at(sequences, name, causal).mean
    ]
    names = ["sinusoidal", "learned", "rotary", "alibi", "relative"]
    free, masked = (_listed(sequences, names, causal, BEYOND) for causal in (False, True))
    return Claim(
        Bilingual(
            "Without recurrence attention is bound to a window of the trained length.",
            "放弃递归使注意力只能使用固定长度的窗口，即上下文长度。",
        ),
        Bilingual(
            f"At length {BEYOND}, {BEYOND // TRAINED} times the trained one: {free.en}; causal: "
            f"{masked.en}. {len(lasting)} of {len(learned)} models that had learned the task keep "
            f"{KEPT:.0%} of their accuracy.",
            f"长度 {BEYOND}，即训练长度的 {BEYOND // TRAINED} 倍：{free.zh}；因果掩蔽："
            f"{masked.zh}。学会任务的 {len(learned)} 个模型中有 {len(lasting)} 个保持其准确率的 "
            f"{KEPT:.0%}。",
        ),
        bool(learned) and not lasting,
    )


def _history_claim(histories: Results) -> Claim:
    """Holds if, where order does not matter, attention without it is not below the GRU."""
    gru, free, placed = (
        [_at(histories, name, ordered) for ordered in (False, True)] for name in ENCODERS
    )
    return Claim(
        Bilingual(
            "In a patient's history relations of events can matter more than their sequence, and "
            "reading strictly in order is a weakness.",
            "患者病史中事件间的关系可能比事件的顺序更重要，严格按顺序处理是一个缺点。",
        ),
        Bilingual(
            f"Where only the relation matters: GRU {gru[0].written(3)}, attention without "
            f"positions {free[0].written(3)}, with positions {placed[0].written(3)}; where order "
            f"matters: {gru[1].written(3)}, {free[1].written(3)}, {placed[1].written(3)}.",
            f"只与关系有关时：GRU {gru[0].written(3)}，无位置编码的注意力 {free[0].written(3)}，"
            f"有位置编码 {placed[0].written(3)}；与顺序有关时：{gru[1].written(3)}、"
            f"{free[1].written(3)}、{placed[1].written(3)}。",
        ),
        free[0].high >= gru[0].low,
    )


def _picture_claim(pictures: Results) -> Claim:
    """Holds if the convolution's interval lies above that of pixels in a line."""
    flat, convolution = _at(pictures, "flat", False), _at(pictures, "convolution", False)
    shuffled = [_at(pictures, name, True).written() for name in ("flat", "convolution")]
    line, plane = (_at(pictures, f"attention, {order}", False) for order in ("line", "plane"))
    return Claim(
        Bilingual(
            "Reading in strict order is like flattening an image into a vector for a feed-forward "
            "network, which is far less efficient than a convolution that keeps the plane.",
            "严格的顺序处理好比把二维图像展平成向量交给前馈网络，"
            "远不如在矩阵中保持空间关系的卷积网络有效。",
        ),
        Bilingual(
            f"Shapes: in a line {flat.written()}, convolution {convolution.written()}, attention "
            f"with 1-D positions {line.written()}, with 2-D positions {plane.written()}; all "
            f"pixels shuffled: in a line {shuffled[0]}, convolution {shuffled[1]}.",
            f"形状识别：排成一行 {flat.written()}，卷积 {convolution.written()}，一维位置编码的"
            f"注意力 {line.written()}，二维位置编码 {plane.written()}；像素全部打乱：排成一行 "
            f"{shuffled[0]}，卷积 {shuffled[1]}。",
        ),
        flat.high < convolution.low,
    )


def _permutation_table(networks: Permutations, sequences: Results) -> FindingsTable:
    rows: list[list[Words | float]] = [
        [
            SCHEME_NAMES[scheme],
            Bilingual("causal", "因果") if causal else Bilingual("all", "全部"),
            networks[scheme, causal][0],
            *(interval.written() for interval in sequences[scheme, causal]),
        ]
        for causal in (False, True)
        for scheme in SCHEMES
    ]
    return FindingsTable(
        Bilingual(
            "Change of the output under permutation (exact), and accuracy of naming the token "
            f"before, trained on lengths {TRAINED_LENGTHS[0]} to {TRAINED}",
            "换序时输出的变化（精确），以及说出前一个词元的准确率，"
            f"训练长度 {TRAINED_LENGTHS[0]} 至 {TRAINED}",
        ),
        [
            Bilingual("positions", "位置编码"),
            Bilingual("tokens seen", "可见词元"),
            Bilingual("largest change", "最大变化"),
            *(Bilingual(f"length {n}", f"长度 {n}") for n in LENGTHS),
        ],
        rows,
    )


def _picture_table(pictures: Results) -> FindingsTable:
    return FindingsTable(
        Bilingual("Accuracy on unseen images", "未见图像上的准确率"),
        [
            Bilingual("network", "网络"),
            Bilingual("parameters", "参数量"),
            Bilingual("pixels in their places", "像素在原位"),
            Bilingual("pixels shuffled", "像素打乱"),
        ],
        [
            [
                READER_NAMES[reader],
                num_parameters(ImageNetwork(reader)),
                *(_at(pictures, reader, shuffled).written(3) for shuffled in (False, True)),
            ]
            for reader in READERS
        ],
    )


def _length_panel(sequences: Results, *, causal: bool) -> CurvePanel:
    title = (
        Bilingual("Token before, causal mask", "前一个词元，因果掩蔽")
        if causal
        else Bilingual("Token before, all tokens seen", "前一个词元，看到全部词元")
    )
    return CurvePanel(
        title,
        Bilingual(f"length (trained up to {TRAINED})", f"长度（训练至 {TRAINED}）"),
        Bilingual("accuracy", "准确率"),
        [
            Curve(
                SCHEME_NAMES[scheme],
                list(LENGTHS),
                [interval.mean for interval in sequences[scheme, causal]],
                [interval.low for interval in sequences[scheme, causal]],
                [interval.high for interval in sequences[scheme, causal]],
            )
            for scheme in SCHEMES
        ],
        log="x",
        y_range=(0.0, 1.05),
    )


def _bar_panel(
    title: Bilingual,
    results: Results,
    names: dict[str, Bilingual],
    choices: tuple[Bilingual, Bilingual],
    chance: float,
) -> BarPanel:
    return BarPanel(
        title,
        Bilingual("accuracy", "准确率"),
        list(names.values()),
        [
            Bars(
                words,
                *(
                    [getattr(_at(results, name, choice), part) for name in names]
                    for part in ("mean", "low", "high")
                ),
            )
            for choice, words in zip((False, True), choices, strict=True)
        ],
        horizontal=True,
        reference=(Bilingual("chance", "随机"), chance),
        y_range=(0.0, 1.0),
    )
