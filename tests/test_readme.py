"""What the README shows is run: every block of Python, and every command it names exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_blocks_run_in_order(monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 4
    space: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), space)
    assert space["recording"][0].weights.shape == (1, 2, 1, 5)
    assert space["attended"].weights.shape == (2, 4, 6)


def test_make_targets_exist():
    named = set(re.findall(r"`?make ([a-z-]+)", README))
    rules = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"setup", "test", "test-all", "bench"} <= named <= rules


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`regard ([a-z]+)", README))))
def test_commands_exist(command):
    words = [sys.executable, "-m", "regard", command, "--help"]
    assert subprocess.run(words, capture_output=True).returncode == 0


def test_linked_files_exist():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).exists(), target
