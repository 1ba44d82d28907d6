"""What holds for every file of the repository."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
JUNK = {"utils", "helpers", "common", "misc", "util", "helper"}


def test_no_module_is_a_junk_drawer():
    trees = (ROOT / name for name in ("src", "tests", "benchmarks"))
    files = [path for tree in trees for path in tree.rglob("*.py")]
    assert files and not [path for path in files if path.stem in JUNK]
