"""Make the pictures of the README: `python docs/pictures/make.py [--model DIR] [--chinese DIR]`.

page.png       the page of `regard serve` with a translation, its links and one head's map
alignment.png  the alignment of an English sentence with its Chinese translation

`--model` and `--chinese` are the folders of an English–French and an English–Chinese translator.
Without them, both are trained with `regard demo`, which takes about ten minutes. Needs the extra
`dev` (playwright and matplotlib), Chromium, and a font with Chinese characters (on Debian and
Ubuntu: `apt-get install chromium fonts-noto-cjk`).
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

FOLDER = Path(__file__).parent
SENTENCE = "The animal didn't cross the street because it was too tired."
REORDERED = "The old bear doesn't see the small blue bird."
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MAX_BYTES = 200_000


def main() -> None:
    """Make both pictures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", metavar="DIR", type=Path, help="an English–French translator")
    parser.add_argument("--chinese", metavar="DIR", type=Path, help="an English–Chinese translator")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        french = arguments.model or train("en-fr", Path(folder) / "en-fr")
        chinese = arguments.chinese or train("en-zh", Path(folder) / "en-zh")
        save(alignment_picture(chinese), FOLDER / "alignment.png")
        named = Path(folder) / "english-french"  # the page shows the name of the model's folder
        shutil.copytree(french, named, ignore=shutil.ignore_patterns("checkpoints"))
        save(page_picture(named), FOLDER / "page.png")


def train(languages: str, out: Path) -> Path:
    """Train the demo's translator of two languages; returns the folder of the model."""
    command = [sys.executable, "-m", "regard", "demo", "--languages", languages, "--out", str(out)]
    subprocess.run(command, check=True)
    return out / "model"


def alignment_picture(model: Path) -> bytes:
    """A heat map of the attention between the words of a sentence and of its translation."""
    import regard
    from regard.tasks.translation.inspection import sentence_view
    from regard.views import heatmap

    translator = regard.load(model)
    (sentence,) = translator.translate(REORDERED, attention=True).sentences
    view = sentence_view(sentence, translator.info)
    figure = heatmap(
        view.alignment_weights(),
        view.target_words,
        view.source_words,
        title="cross-attention, English → Chinese",
    )
    return figure.render("png", dpi=130)


def page_picture(model: Path) -> bytes:
    """A screenshot of the served page, pointing at a word of the translation."""
    from playwright.sync_api import sync_playwright

    with serve(model) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(CHROMIUM_FLAGS)
        )
        page = browser.new_page(
            viewport={"width": 1440, "height": 1600},
            device_scale_factor=1.25,
            locale="en",
            color_scheme="light",
        )
        page.goto(address)
        view = page.locator("#view-first")
        for text in (SENTENCE.rstrip("."), SENTENCE):  # the first translation is slower
            page.fill("#text", text)
            view.locator(".words.source .word").nth(len(text.split()) - 1).wait_for()
            page.wait_for_timeout(2000)
        view.locator("summary").click()
        view.locator(".cells:not([aria-busy])").wait_for()
        page.evaluate("scrollTo(0, 0)")
        words = view.locator(".words.target .word")
        words.nth(words.all_inner_texts().index("il")).hover()
        page.wait_for_timeout(1000)
        cells = view.locator(".cells").bounding_box()
        assert cells is not None
        bottom = cells["y"] + cells["height"] + 8
        return page.screenshot(clip={"x": 0, "y": 0, "width": 1440, "height": bottom})


@contextmanager
def serve(model: Path) -> Iterator[str]:
    """Run `regard serve` on a free port; yields its address."""
    command = [sys.executable, "-m", "regard", "serve", "--model", str(model), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if address := re.search(r"http://\S+:\d+", line):
                yield address.group()
                return
        raise SystemExit("regard serve ended before it was ready.")
    finally:
        process.terminate()
        process.wait()


def save(png: bytes, path: Path) -> None:
    """Write a PNG with a palette of 256 colors, which makes it small."""
    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    image.save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path}: {image.width} × {image.height}, {size / 1000:.0f} kB")
    if size > MAX_BYTES:
        raise SystemExit(f"{path} must be at most {MAX_BYTES / 1000:.0f} kB.")


if __name__ == "__main__":
    main()
