"""The groups of targets."""

from __future__ import annotations

from benchmarks.fuzz.documents import DOCUMENTS
from benchmarks.fuzz.files import FILES
from benchmarks.fuzz.folders import FOLDERS
from benchmarks.fuzz.target import MakeTarget
from benchmarks.fuzz.texts import TEXTS

GROUPS: dict[str, dict[str, MakeTarget]] = {
    "documents": dict(DOCUMENTS),
    "texts": TEXTS,
    "files": FILES,
    "folders": FOLDERS,
}
"""Names of groups ▶ names of targets, which are all different."""
