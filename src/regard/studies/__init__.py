"""Studies: claims about attention, each measured by an experiment that anyone can run again.

mechanics/    of the mechanisms alone: kernels, scores, masks, heads, positions, cost
translators/  of trained translators: length, context, alignment, what a map shows

A study is one module with `run(options) -> Findings`; `regard study NAME` runs it and writes its
table, figure and numbers. Modules are imported when their study is run.
"""

from __future__ import annotations

import importlib
from typing import NamedTuple

from regard.errors import InputError
from regard.studies.study import Findings, StudyOptions
from regard.views.charts.panels import Bilingual


class StudyEntry(NamedTuple):
    """Where a study is, and what it is about."""

    module: str
    title: Bilingual
    takes_data: bool = False


STUDIES: dict[str, StudyEntry] = {
    "kernel": StudyEntry(
        "mechanics.kernel",
        Bilingual(
            "Kernel regression: attention without parameters, and with one",
            "核回归：没有参数与只有一个参数的注意力",
        ),
    ),
    "scaling": StudyEntry(
        "mechanics.scaling",
        Bilingual(
            "Why scores are divided by √d",
            "为什么分数要除以 √d",
        ),
    ),
    "scores": StudyEntry(
        "mechanics.scores",
        Bilingual(
            "Additive against scaled dot-product scores",
            "加性注意力与缩放点积注意力",
        ),
    ),
    "mask": StudyEntry(
        "mechanics.mask",
        Bilingual(
            "Masks: −∞ before the softmax, and all next words in one pass",
            "掩蔽：softmax 之前的 −∞，以及一次并行预测所有下一个词",
        ),
    ),
    "order": StudyEntry(
        "mechanics.order",
        Bilingual(
            "Positions: what self-attention knows about order",
            "位置编码：自注意力对顺序知道多少",
        ),
    ),
    "heads": StudyEntry(
        "mechanics.heads",
        Bilingual(
            "One head, many heads, and heads switched off",
            "单头、多头与关闭的头",
        ),
    ),
    "sequential": StudyEntry(
        "mechanics.sequential",
        Bilingual(
            "Sequential steps, path length, time and memory",
            "顺序步数、路径长度、时间与内存",
        ),
    ),
    "weaknesses": StudyEntry(
        "mechanics.weaknesses",
        Bilingual(
            "Five weaknesses of plain self-attention, and what removes each",
            "朴素自注意力的五个弱点及其解决办法",
        ),
    ),
    "bahdanau": StudyEntry(
        "translators.bahdanau",
        Bilingual(
            "Bahdanau attention on short sentences",
            "短句上的 Bahdanau 注意力",
        ),
        takes_data=True,
    ),
    "length": StudyEntry(
        "translators.length",
        Bilingual(
            "Quality by sentence length, without and with attention",
            "翻译质量随句长的变化：没有注意力与有注意力",
        ),
    ),
    "context": StudyEntry(
        "translators.context",
        Bilingual(
            "How the vector of a word changes with its sentence",
            "词向量如何随句子而改变",
        ),
    ),
    "coreference": StudyEntry(
        "translators.coreference",
        Bilingual(
            "What “it” refers to: where heads look, and what they cause",
            "“it”指代什么：头看向哪里，又起了什么作用",
        ),
    ),
    "alignment": StudyEntry(
        "translators.alignment",
        Bilingual(
            "How well attention aligns words",
            "注意力对齐词语的好坏",
        ),
    ),
    "faithful": StudyEntry(
        "translators.faithful",
        Bilingual(
            "How far a displayed map is the reason for the output",
            "显示出来的注意力图在多大程度上是输出的原因",
        ),
    ),
}


def find_study(name: str) -> StudyEntry:
    """The study of this name."""
    if name not in STUDIES:
        raise InputError(f"there is no study {name!r}; the studies are {', '.join(STUDIES)}.")
    return STUDIES[name]


def run_study(name: str, options: StudyOptions) -> Findings:
    """Run a study by its name."""
    entry = find_study(name)
    if options.data is not None and not entry.takes_data:
        takers = ", ".join(key for key, study in STUDIES.items() if study.takes_data)
        raise InputError(f"--data: the study {name} draws its own data; only {takers} takes data.")
    findings: Findings = importlib.import_module(f"regard.studies.{entry.module}").run(options)
    return findings
