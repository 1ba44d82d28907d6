"""The documentation: its code runs, both languages have the same pages and code."""

import shutil
import sys
from pathlib import Path
from runpy import run_path

import pytest

from documented import commands, make_folder, run_commands

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))

from blocks import code_of, commands_of  # noqa: E402
from notebooks import notebook  # noqa: E402
from run_page import pictures_of, run_code  # noqa: E402

FOLDERS = ("learn", "guide", "reference")
PAGES = sorted(
    path.relative_to(DOCS).as_posix() for name in FOLDERS for path in (DOCS / name).glob("*.md")
)
PROGRAMS = [name for name in PAGES if code_of(DOCS / name)]
COMMANDED = [name for name in PAGES if commands_of(DOCS / name)]
README = {line for block in commands_of(ROOT / "README.md") for line in commands(block)}


def test_both_languages_have_the_same_pages():
    chinese = sorted(
        path.relative_to(DOCS / "zh").as_posix()
        for name in FOLDERS
        for path in (DOCS / "zh" / name).glob("*.md")
    )
    assert chinese == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_both_languages_have_the_same_code(name):
    assert code_of(DOCS / "zh" / name) == code_of(DOCS / name)
    assert _without_comments(DOCS / "zh" / name) == _without_comments(DOCS / name)


def _without_comments(page):
    return [
        line.partition(" #")[0].rstrip()
        for block in commands_of(page)
        for line in block.splitlines()
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_folder(tmp_path_factory)


@pytest.mark.parametrize("name", COMMANDED)
def test_the_commands_of_a_page_run(name, folder, monkeypatch, capsys):
    """Those that the README shows too are run by its test."""
    monkeypatch.chdir(folder)
    lines = [line for block in commands_of(DOCS / name) for line in commands(block)]
    run_commands([line for line in lines if line not in README], capsys)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_code_of_a_page_runs_and_draws_its_pictures(name, tmp_path, monkeypatch, request):
    if name.startswith("guide/"):
        shutil.copytree(request.getfixturevalue("folder") / "model-a", tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    run_code(DOCS / name)
    for picture in pictures_of(DOCS / name):
        assert (tmp_path / picture).read_bytes()
        assert (DOCS / name).with_name("pictures").joinpath(picture).is_file()


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("learn/0")][:2])
def test_a_notebook_has_the_code_of_its_page(name):
    page = DOCS / name
    cells = notebook(page.read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [block.strip("\n") for block in code_of(page)]


def test_the_pictures_of_the_architecture_are_those_of_the_rooms():
    """They were drawn from the layers that import-linter checks, and show every package."""
    script = run_path(str(DOCS / "pictures" / "architecture" / "make.py"))
    drawn = dict(script["pictures"]())
    assert len(drawn) == 8
    for name, content in drawn.items():
        assert (DOCS / "pictures" / "architecture" / name).read_text("utf-8") == content, name
    packages = {path.parent.name for path in (ROOT / "src" / "regard").glob("*/__init__.py")}
    for kind in ("data", "layers"):
        shown = {name for name in packages if f">{name}/<" in drawn[f"{kind}.svg"]}
        assert packages - shown <= ({"config", "vectors"} if kind == "data" else set())
