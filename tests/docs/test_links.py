"""Links in Markdown files: the file exists, and so does the heading."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.M | re.S)
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.M)
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md")
    for path in ROOT.glob(pattern)
    if not {"_build", "studies"} & set(path.relative_to(ROOT).parts)
)


def text(path):
    """The text of a page without its fenced blocks."""
    return FENCED.sub("", path.read_text("utf-8"))


@cache
def anchors(path):
    """The anchors of a page's headings, as GitHub and MyST make them."""
    made = []
    for title in HEADING.findall(text(path)):
        words = re.sub(r"\]\([^)]*\)|[`*\[]", "", title).lower()
        made.append(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return set(made)


def test_all_files_are_looked_at():
    assert {"README.md", "README.zh-CN.md", "CONTRIBUTING.md", "docs/index.md"} <= set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_links_lead_to_files_and_headings(name):
    page = ROOT / name
    for link in LINK.findall(text(page)):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        generated = target.suffix == ".md" and "studies" in target.parts  # written by `make docs`
        assert generated or target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link
