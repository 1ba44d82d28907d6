"""What the README shows is run: every block of Python and of commands, in order, on small data.

The commands of a block are examples of their own; see `documented.py` for how they are run.
"""

import re
import shutil
from pathlib import Path

import pytest

from documented import SLOW, commands, make_folder, rules, run, run_commands
from regard.cli import main
from trained import trained

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCES = re.findall(r"^```(\w+)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
BLOCKS = [block for language, block in FENCES if language == "console"]


def test_every_block_is_run():
    assert {language for language, _ in FENCES} == {"console", "py", "python"}
    assert len(BLOCKS) >= 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_folder(tmp_path_factory)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_commands_run_in_order(folder, number, monkeypatch, capsys, tmp_path):
    """Each block in a folder of its own: one trains another kind of model where others have one."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    run_commands(commands(BLOCKS[number]), capsys)


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", [line for block in BLOCKS for line in commands(block) if line.startswith(SLOW)]
)
def test_slow_commands_run(folder, line, monkeypatch):
    monkeypatch.chdir(folder)
    assert run(line) in (0, 1)  # 1: a bar of the benchmarks that a busy machine misses


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
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        attn_implementation="eager",
    )
    inputs = tokenizer("the animal slept", return_tensors="pt")
    return {"bert": BertModel(config).eval(), "tokenizer": tokenizer, "inputs": inputs}


def test_the_chinese_readme_has_the_same_blocks_and_links():
    chinese = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
    fences = re.findall(r"^```(\w+)\n(.*?)^```", chinese, re.DOTALL | re.MULTILINE)
    assert fences == FENCES
    assert chinese.count("\n## ") == README.count("\n## ")
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", chinese):
        assert (ROOT / target).exists(), target


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


def test_the_table_of_packages_is_right():
    """Every path that CONTRIBUTING.md names exists, and every package is in its table."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "regard"
    for path in re.findall(r"`(\.?[a-z_]+(?:/[\w.]*)+|[a-z_]+\.py)`", text):
        if path != "utils.py":
            assert (ROOT / path).exists() or (package / path).exists(), path
    packages = {file.parent.name for file in package.glob("*/__init__.py")}
    assert {f"`{name}/`" for name in packages} <= set(re.findall(r"`[a-z]+/`", text))
