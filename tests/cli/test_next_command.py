"""Commands that are printed as suggestions can be pasted into a shell."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regard.command import command

SCRIPT = f"#!{sys.executable}\nimport sys\nfrom regard.cli import main\nsys.exit(main())\n"


@pytest.fixture
def script(tmp_path):
    """A program `regard` in a folder that is not on the PATH, as in a .venv."""
    path = tmp_path / ".venv" / "bin" / "regard"
    path.parent.mkdir(parents=True)
    path.write_text(SCRIPT)
    path.chmod(0o755)
    return path


def test_a_program_that_is_not_on_the_path(script, monkeypatch):
    monkeypatch.chdir(script.parents[2])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(sys, "argv", [".venv/bin/regard", "demo"])
    assert command("info", "model") == ".venv/bin/regard info model"


def test_the_program_on_the_path(script, monkeypatch):
    monkeypatch.setenv("PATH", str(script.parent))
    monkeypatch.setattr(sys, "argv", [str(script), "demo"])
    assert command("info", "model") == "regard info model"


def test_another_program_of_that_name_on_the_path(script, tmp_path, monkeypatch):
    other = tmp_path / "regard"
    shutil.copy(script, other)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(script), "demo"])
    assert command("info", "model") == f"{script} info model"


def test_a_module(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/regard/__main__.py", "demo"])
    monkeypatch.setattr(sys, "orig_argv", ["python3", "-m", "regard", "demo"])
    assert command("info", "my model") == "python3 -m regard info 'my model'"


def test_neither(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "argv", ["notebook"])
    assert command("info") == f"{sys.executable} -m regard info"


def test_a_printed_command_runs(script, en_fr, tmp_path, refused, monkeypatch):
    folder = tmp_path / "it's mine"
    shutil.copytree(en_fr, folder)
    (folder / "model.safetensors").unlink()
    words = ["translate", "Hello.", "--model", "it's mine"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [".venv/bin/regard", *words])
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/usr/bin:/bin")
        printed = refused(*words).split("`")[1]
    assert printed.startswith(".venv/bin/regard train --resume ")
    again = subprocess.run(printed, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert Path(folder, "model.safetensors").is_file()
