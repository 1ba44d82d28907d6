"""The rules of the house: unique class names, small folders, short files, no junk drawers."""

import ast
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
TREES = [tree for name in ("src", "tests", "benchmarks") if (tree := ROOT / name).is_dir()]
FILES = sorted(
    path
    for tree in TREES
    for path in tree.rglob("*")
    if path.suffix in {".py", ".js", ".cjs", ".css", ".html"} and "__pycache__" not in path.parts
)
KNOWN = {"Content", "Found", "Measured", "src/regard/models"}
"""What is still to be renamed or folded."""
MAX_LINES = 400
MAX_FILES = 15
JUNK = {"utils", "helpers", "common", "misc", "util", "helper"}


def name(path):
    return path.relative_to(ROOT).as_posix()


def test_class_names_are_unique():
    places = defaultdict(list)
    for path in FILES:
        if path.suffix == ".py" and name(path).startswith("src/"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(name(path))
    repeated = {each: found for each, found in places.items() if len(found) > 1}
    assert repeated.keys() <= KNOWN


def test_no_folder_has_too_many_files():
    """Modules of the commands are one file each, however many there are."""
    counts = Counter(name(path.parent) for path in FILES)
    large = {folder: count for folder, count in counts.items() if count > MAX_FILES}
    large.pop("src/regard/cli", None)
    assert large.keys() <= KNOWN


def test_no_file_is_too_long():
    lengths = {name(path): len(path.read_text("utf-8").splitlines()) for path in FILES}
    assert not {path: length for path, length in lengths.items() if length > MAX_LINES}


def test_no_file_is_a_junk_drawer():
    assert not [name(path) for path in FILES if path.stem in JUNK]
