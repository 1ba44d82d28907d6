"""What the README shows is run: every block of Python and of commands, in order, on small data.

A command runs as it stands, but for what must be small: SMALLER says which flags are added. The
commands of a block are examples of their own: a folder that one is to make is removed before.
Of `make`, the target must exist; `git clone` is not run.
"""

import contextlib
import gzip
import io
import re
import shlex
import shutil
import signal
import sys
from pathlib import Path

import httpx
import pytest

from marian_folders import save_marian
from processes import Process
from regard.cli import main
from regard.corpus.grammar import sample
from trained import trained

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCES = re.findall(r"^```(\w+)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
BLOCKS = [block for language, block in FENCES if language == "console"]

TRAIN = (
    "--preset tiny --training.steps 2 --training.threads 1 --training.tensorboard false "
    "--training.precision fp32 --training.batch_tokens 300 "
)
KINDS = {
    "transformer": "--model.dim 16 --model.num_heads 2 --model.ff 16 --text.vocab_size 300",
    "rnn": "--model.dim 16 --model.embedding 16 --text.vocab_size 300",
    "classifier": "--model.dim 16 --model.num_heads 2 --model.ff 16 --text.unit word",
    "handwriting": "--model.dim 16 --model.lines 40",
}
SMALLER = {
    "bench": "--lengths 512 --repeats 1 --only local",
    "export": "--sentences 2 --threads 1",
    "demo": "--minutes 0.02 --out demonstration",
    "inspect": "--threads 1",
    "study scaling": "--quick",
    "vectors learn": "--dim 16 --epochs 1 --min-count 1",
}
"""What is added to a command so that it takes little time; to `train`, TRAIN and KINDS."""


SLOW = ("regard demo", "regard bench", "regard study all")


def commands(block):
    """The commands of a block without what is said about them."""
    return [line.partition("  #")[0].partition(" # ")[0].strip() for line in block.splitlines()]


def test_every_block_is_run():
    assert {language for language, _ in FENCES} == {"console", "py", "python"}
    assert len(BLOCKS) >= 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with everything that the README's commands are given."""
    home = tmp_path_factory.mktemp("readme")
    for name in ("model", "model-a", "model-b", "rnn", "lm"):
        whole = trained(name if name in ("rnn", "lm") else "en-fr", tmp_path_factory)
        shutil.copytree(whole, home / name)
    pairs = [(pair.source, pair.target) for pair in sample("train", 24, seed=5, max_words=9)]
    texts = {
        "pairs.tsv": "".join(f"{source}\t{target}\n" for source, target in pairs),
        "labelled.tsv": "".join(
            f"{'ab'[n % 2]}\t{source}\n" for n, (source, _) in enumerate(pairs)
        ),
        "memory.tmx": "<tmx><body>" + "".join(map(unit, pairs)) + "</body></tmx>",
        "in.txt": pairs[0][0] + "\n",
        "text.txt": "".join(f"{source} The king sleeps.\n" for source, _ in pairs),
        "book.txt": "".join(f"{source}\n" for source, _ in pairs[:2]),
    }
    for name in ("train", "dev", "test"):
        texts[f"{name}.en"] = "".join(f"{source}\n" for source, _ in pairs)
        texts[f"{name}.fr"] = "".join(f"{target}\n" for _, target in pairs)
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


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_commands_run_in_order(folder, number, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for line in commands(BLOCKS[number]):
        if line.startswith("make "):
            assert line.split()[1] in rules()
        elif line.startswith("regard serve"):
            serve(shlex.split(line))
        elif line.startswith("regard "):
            if not line.startswith(SLOW):  # those have tests of their own
                assert run(line) == 0, (line, capsys.readouterr().err)
        else:
            assert line.startswith("git clone")


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", [line for block in BLOCKS for line in commands(block) if line.startswith(SLOW)]
)
def test_slow_commands_run(folder, line, monkeypatch):
    monkeypatch.chdir(folder)
    assert run(line) in (0, 1)  # 1: a bar of the benchmarks that a busy machine misses


def run(line):
    """The exit code of a command that runs in this process, its files redirected as it says."""
    words = shlex.split(line)[1:]
    data = Path(words[words.index("<") + 1]).read_bytes() if "<" in words else b""
    given, made = io.TextIOWrapper(io.BytesIO(data)), io.StringIO()
    target = words[words.index(">") + 1] if ">" in words else None
    words = words[: words.index("<")] if "<" in words else words
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
    kind = words[words.index("--model.kind") + 1] if "--model.kind" in words else "transformer"
    return (TRAIN + KINDS[kind]).split()


def serve(words):
    """The server starts, is asked once and ends."""
    server = Process(*words[1:], "--port", "0", "--threads", "1")
    try:
        address = re.search(r"at (http://[\d.:]+)", server.stdout.readline())[1]
        assert httpx.get(f"{address}/health", trust_env=False).json() == {"status": "ok"}
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


def test_python_blocks_run_in_order(folder, monkeypatch, tmp_path_factory):
    monkeypatch.chdir(folder)
    shutil.rmtree("model")
    shutil.copytree(trained("en-fr", tmp_path_factory), "model")
    space: dict[str, object] = bert()
    blocks = [block for language, block in FENCES if language in ("py", "python")]
    assert len(blocks) >= 7
    for block in blocks:
        exec(compile(block, "README.md", "exec"), space)
    assert space["recording"][0].weights.shape == (1, 2, 1, 5)
    assert space["attended"].weights.shape == (2, 4, 6)
    assert space["translation"].alignment and space["translation"].attention
    assert "<html" in Path("bert.html").read_text(encoding="utf-8")


def bert():
    """A small BERT with drawn weights, and what a README that shows one takes for granted."""
    from transformers import BertConfig, BertModel, BertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "animal", "slept"]
    Path("vocab.txt").write_text("\n".join(words))
    tokenizer = BertTokenizer("vocab.txt")
    config = BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16, attn_implementation="eager",
    )  # fmt: skip
    inputs = tokenizer("the animal slept", return_tensors="pt")
    return {"bert": BertModel(config).eval(), "tokenizer": tokenizer, "inputs": inputs}


def rules():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def test_make_targets_exist():
    named = set(re.findall(r"`?make ([a-z-]+)", README))
    assert {"setup", "test", "test-all", "bench"} <= named <= rules()


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`regard ([a-z]+)", README))))
def test_commands_exist(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert not stop.value.code and "--help" in capsys.readouterr().out


def test_linked_files_exist():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_map_of_the_rooms_is_right():
    """Every path that CONTRIBUTING.md names exists, and every room is in its table."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "regard"
    for path in re.findall(r"`(\.?[a-z_]+(?:/[\w.]*)+|[a-z_]+\.py)`", text):
        if path != "utils.py":
            assert (ROOT / path).exists() or (package / path).exists(), path
    rooms = {file.parent.name for file in package.glob("*/__init__.py")}
    assert {f"`{room}/`" for room in rooms} <= set(re.findall(r"`[a-z]+/`", text))
