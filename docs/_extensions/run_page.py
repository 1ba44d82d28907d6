"""Run the Python blocks of pages and keep the pictures that they draw.

    python docs/_extensions/run_page.py docs/learn/02-kernel-regression.md …

The blocks of a page are one program. Its pictures are written to `pictures/` beside the page.
"""

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from blocks import code_of
from PIL import Image

MAX_WIDTH = 1000
PICTURE = re.compile(r"!\[[^\]]*\]\((?:[./\w]*/)?pictures/([\w.-]+)\)")


def run_code(page: Path) -> None:
    """Run the page's blocks in this folder, one after another, in one namespace."""
    space: dict[str, object] = {"__name__": "page"}
    for number, block in enumerate(code_of(page), 1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), space)


def pictures_of(page: Path) -> list[str]:
    """The names of the pictures that a page shows."""
    return PICTURE.findall(page.read_text("utf-8"))


@contextlib.contextmanager
def in_new_folder() -> Iterator[Path]:
    """Work in an empty folder, which is removed afterwards."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def keep(drawn: Path, kept: Path) -> None:
    """Keep a file; a PNG at most 1,000 pixels wide and with few colors, which ours need."""
    if drawn.suffix != ".png":
        shutil.copy(drawn, kept)
        return
    image = Image.open(drawn).convert("RGB")
    if image.width > MAX_WIDTH:
        size = MAX_WIDTH, round(image.height * MAX_WIDTH / image.width)
        image = image.resize(size, Image.Resampling.LANCZOS)
    few = image.quantize(255, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
    few.save(kept, optimize=True)


def main(pages: list[str]) -> None:
    """Run each page and copy its pictures."""
    for page in [Path(name).resolve() for name in pages]:
        with in_new_folder() as folder:
            run_code(page)
            (page.parent / "pictures").mkdir(exist_ok=True)
            for name in pictures_of(page):
                keep(folder / name, page.parent / "pictures" / name)


if __name__ == "__main__":
    main(sys.argv[1:])
