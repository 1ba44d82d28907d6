"""The subjects of the benchmarks, as the command and the documentation describe them."""

from __future__ import annotations

from typing import NamedTuple


class Subject(NamedTuple):
    """What a benchmark compares, in English and Chinese; `needs` is what it takes beyond regard."""

    about: tuple[str, str]
    needs: tuple[str, str]


SUBJECTS = {
    "attention": Subject(
        (
            "the attention library against torch, naive formulas, KeOps, statsmodels",
            "注意力库与 torch、直接按公式的写法、KeOps 和 statsmodels 比较",
        ),
        (
            "`make bench` installs the peers and runs it; KeOps needs a C++ compiler.",
            "`make bench` 会安装用来比较的库并运行；KeOps 需要 C++ 编译器。",
        ),
    ),
    "train": Subject(
        (
            "training against a torch.nn.Transformer loop and JoeyNMT",
            "训练速度，与围绕 torch.nn.Transformer 的循环和 JoeyNMT 比较",
        ),
        (
            "JoeyNMT gets a virtual environment of its own, created on first use.",
            "JoeyNMT 装在自己的虚拟环境里，第一次使用时创建。",
        ),
    ),
    "quality": Subject(
        (
            "what an hour's training without any setting learns from real corpora",
            "不加任何设置、训练一小时，能从真实语料学到什么",
        ),
        (
            "`--data` is a folder with multi30k-en-de, tatoeba and python-docs; it takes four "
            "hours.",
            "`--data` 是含有 multi30k-en-de、tatoeba 和 python-docs 的文件夹；约需四小时。",
        ),
    ),
    "decode": Subject(
        (
            "translation against CTranslate2 and transformers on the same weights",
            "翻译速度，与使用相同权重的 CTranslate2 和 transformers 比较",
        ),
        (
            "`--data` is a folder of Multi30k, `--model` a trained model.",
            "`--data` 是 Multi30k 的文件夹，`--model` 是训练好的模型。",
        ),
    ),
    "alignment": Subject(
        (
            "the statistical word aligner against eflomal: alignment error rate on gold links",
            "统计词对齐与 eflomal 比较：在人工标注上的对齐错误率",
        ),
        (
            "eflomal (`pip install 'regard[bench]'`), which needs a C compiler; `--data` is a "
            "folder of gold alignments and text.",
            "eflomal 用 `pip install 'regard[bench]'` 安装，需要 C 编译器；"
            "`--data` 是含人工对齐与文本的文件夹。",
        ),
    ),
    "bulk": Subject(
        (
            "`regard translate` of a million lines: growth of its memory, and lines/s",
            "用 `regard translate` 翻译一百万行：内存的增长与每秒行数",
        ),
        ("Nothing; it trains a tiny model.", "无；会训练一个很小的模型。"),
    ),
    "files": Subject(
        (
            "`regard translate` of files, as it is called, against a plain loop around its engine",
            "`regard translate` 翻译文件的速度，与围绕其引擎的简单循环比较",
        ),
        (
            "`--model` is a trained model, `--source` text in its source language.",
            "`--model` 是训练好的模型，`--source` 是源语言的文本。",
        ),
    ),
    "wording": Subject(
        (
            "placeholders and glossary terms through a trained model: lost, flagged, and in BLEU",
            "占位符与术语经过训练好的模型：丢失数、标记数以及对 BLEU 的影响",
        ),
        (
            "`--model` is a trained model, `--messages` a catalogue, `--pairs` unseen sentences.",
            "`--model` 是训练好的模型，`--messages` 是消息目录，`--pairs` 是未见过的句子。",
        ),
    ),
    "faults": Subject(
        (
            "faults: kills, a full disk, each write that fails once, damaged files, NaN losses",
            "故障：被杀死、磁盘已满、每次写入各失败一次、文件损坏、NaN 损失",
        ),
        (
            "Nothing; as root it mounts a small disk of memory that it fills.",
            "无；以 root 运行时会挂载一个小的内存盘并写满它。",
        ),
    ),
    "fuzz": Subject(
        (
            "coverage-guided fuzzing of all that reads foreign text, files and folders",
            "对一切读取外来文本、文件与文件夹的代码做覆盖率引导的模糊测试",
        ),
        (
            "atheris (`pip install 'regard[bench]'`).",
            "atheris，用 `pip install 'regard[bench]'` 安装。",
        ),
    ),
    "serve": Subject(
        (
            "`regard serve` under many clients: errors, mixed-up responses, memory, throughput",
            "许多客户端同时访问 `regard serve`：错误、混淆的响应、内存与吞吐量",
        ),
        (
            "Nothing; it trains the model of `regard demo` on first use.",
            "无；第一次使用时训练 `regard demo` 的模型。",
        ),
    ),
    "hostile": Subject(
        (
            "`regard serve` beside the worst requests known: honest clients, health, memory, "
            "its end",
            "`regard serve` 遇到已知最坏的请求时：正常客户端、健康检查、内存与停止",
        ),
        (
            "Linux; it trains the model of `regard demo` on first use.",
            "Linux；第一次使用时训练 `regard demo` 的模型。",
        ),
    ),
    "view": Subject(
        (
            "the page and the report in Chromium: latency, frames, size",
            "Chromium 中的页面与报告：延迟、帧时间、大小",
        ),
        (
            "Chromium; it trains the model of `regard demo` on first use.",
            "Chromium；第一次使用时训练 `regard demo` 的模型。",
        ),
    ),
}
