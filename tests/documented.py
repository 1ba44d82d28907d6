"""The commands of the README and of the documentation, run as they stand on small data.

What must be small is made so: SMALLER says which flags are added. A folder that a command is to
make is removed before. Of `make`, the target must exist, of `python -m benchmarks` the flags;
`git clone`, `source`, `pip` and `curl` are not run.
"""

import contextlib
import gzip
import io
import re
import shlex
import shutil
import signal
import sys
from itertools import takewhile
from pathlib import Path

import httpx
import pytest

from benchmarks.__main__ import benchmark_parser
from marian_folders import save_marian
from processes import Process
from regard.cli import main
from regard.corpus.grammar import sample
from trained import trained

ROOT = Path(__file__).parent.parent
NOT_RUN = ("git clone", "source ", "pip install", "curl ")

TRAIN = (
    "--preset tiny --training.steps 2 --training.threads 1 --training.tensorboard false "
    "--training.precision fp32 --training.batch_tokens 300 "
)
KINDS = {
    "transformer": "--model.dim 16 --model.num_heads 2 --model.ff 16 --text.vocab_size 300",
    "rnn": "--model.dim 16 --model.embedding 16 --text.vocab_size 300",
    "lm": "--model.dim 16 --model.num_heads 2 --model.ff 16 --text.vocab_size 300",
    "classifier": "--model.dim 16 --model.num_heads 2 --model.ff 16 --text.unit word",
    "handwriting": "--model.dim 16 --model.lines 40",
}
SMALLER = {
    "study": "--quick",
    "data clean": "--threads 1",
    "data backtranslate": "--threads 1",
    "data distill": "--threads 1",
    "corpus series": "--count 40",
    "corpus write": "--train 60 --dev 5 --test 5",
    "bench": "--lengths 512 --repeats 1 --only local",
    "export": "--sentences 2 --threads 1",
    "demo": "--minutes 0.02 --out demonstration",
    "inspect": "--threads 1",
    "vectors learn": "--dim 16 --epochs 1 --min-count 1",
}
"""What is added to a command so that it takes little time; to `train`, TRAIN and KINDS."""


SLOW = ("regard demo", "regard bench", "regard study", "regard trace --toy")
"""Commands that take long even when they are small; they have slow tests of their own."""


def commands(block):
    """The commands of a block without what is said about them."""
    return [line.partition("  #")[0].partition(" # ")[0].strip() for line in block.splitlines()]


def run_commands(lines, capsys):
    """Run the commands one after another, but for those that have slow tests of their own."""
    for line in lines:
        if line.startswith("make "):
            assert line.split()[1] in rules()
        elif line.startswith("python -m benchmarks "):
            benchmark_parser().parse_args(shlex.split(line)[3:])
        elif line.startswith("regard serve"):
            serve(shlex.split(line), "/health", "--threads", "1")
        elif line.startswith("regard watch"):
            serve(shlex.split(line), "/updates")
        elif line.startswith("regard "):
            if not line.startswith(SLOW):
                assert run(line) == 0, (line, capsys.readouterr().err)
        else:
            assert line.startswith(NOT_RUN), line


def rules():
    """The targets of the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def make_folder(tmp_path_factory):
    """A folder with everything that the documented commands are given."""
    home = tmp_path_factory.mktemp("documented")
    for name in ("model", "model-a", "model-b", "reverse", "rnn", "lm"):
        whole = trained(name if name in ("rnn", "lm") else "en-fr", tmp_path_factory)
        shutil.copytree(whole, home / name)
    settings = home / "reverse" / "config.yaml"
    turned = settings.read_text("utf-8").replace("languages: en-fr", "languages: fr-en")
    settings.write_text(turned, encoding="utf-8")
    pairs = [(pair.source, pair.target) for pair in sample("train", 24, seed=5, max_words=9)]
    texts = {
        "pairs.tsv": "".join(f"{source}\t{target}\n" for source, target in pairs),
        "labelled.tsv": "".join(
            f"{'ab'[n % 2]}\t{source}\n" for n, (source, _) in enumerate(pairs)
        ),
        "memory.tmx": "<tmx><body>" + "".join(map(unit, pairs)) + "</body></tmx>",
        "synthetic.tsv": "".join(f"<bt> {source}\t{target}\n" for source, target in pairs[:9]),
        "news.tsv": "".join(f"{source}\t{target}\n" for source, target in pairs[:9]),
        "in.txt": pairs[0][0] + "\n",
        "page.md": f"# *{pairs[0][0]}*\n\n{pairs[1][0]} `code`\n",
        "notes": f"- {pairs[0][0]}\n",
        "messages.po": f'msgid "{pairs[0][0]}"\nmsgstr ""\n',
        "strings.json": f'{{"a": "{pairs[0][0]}"}}\n',
        "terms.tsv": f"{pairs[0][0].split()[1]}\tun\n",
        "text.txt": "".join(f"{source} The king sleeps.\n" for source, _ in pairs),
        "book.txt": "".join(f"{source}\n" for source, _ in pairs[:2]),
    }
    for name in ("train", "dev", "test"):
        texts[f"{name}.en"] = "".join(f"{source}\n" for source, _ in pairs)
        texts[f"{name}.fr"] = texts[f"{name}.de"] = "".join(f"{target}\n" for _, target in pairs)
    for name, text in texts.items():
        (home / name).write_text(text, encoding="utf-8")
    (home / "big.txt.gz").write_bytes(gzip.compress(texts["text.txt"].encode()))
    write_tensors(home / "yours.safetensors")
    save_marian(home / "opus-mt-en-fr")
    return home


def unit(pair):
    sides = zip(("en", "fr"), pair, strict=True)
    return "<tu>" + "".join(f"<tuv xml:lang='{c}'><seg>{t}</seg></tuv>" for c, t in sides) + "</tu>"


def write_tensors(path):
    import torch
    from safetensors.torch import save_file

    save_file({name: torch.randn(1, 2, 64, 8) for name in ("query", "key", "value")}, path)


def run(line):
    """The exit code of a command that runs in this process, its files redirected as it says."""
    words = shlex.split(line)[1:]
    data = Path(words[words.index("<") + 1]).read_bytes() if "<" in words else b""
    given, made = io.TextIOWrapper(io.BytesIO(data)), io.StringIO()
    target = words[words.index(">") + 1] if ">" in words else None
    words = list(takewhile(lambda word: word not in ("<", ">"), words))
    words += smaller(words)
    if words[0] == "train" and "--out" in words:
        shutil.rmtree(words[words.index("--out") + 1], ignore_errors=True)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(made), given:
        patch.setattr(sys, "stdin", given)
        code = main(words)
    if target:
        assert made.getvalue().strip()
        Path(target).write_text(made.getvalue(), encoding="utf-8")
    return code


def smaller(words):
    if words[0] != "train":
        added = SMALLER.get(" ".join(words[:2]), SMALLER.get(words[0], ""))
        return added.split()
    if "--resume" in words:
        return ["--training.steps", "3"]
    if "--from" in words:
        return TRAIN.removeprefix("--preset tiny ").split()
    kind = words[words.index("--model.kind") + 1] if "--model.kind" in words else "transformer"
    return (TRAIN + KINDS[kind]).split()


def serve(words, path, *more):
    """The server starts, is asked once and ends."""
    server = Process(*words[1:], "--port", "0", *more)
    try:
        address = re.search(r"at (http://[\d.:]+)", server.stdout.readline())[1]
        assert httpx.get(f"{address}{path}", trust_env=False).status_code == 200
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
