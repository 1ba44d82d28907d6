"""Make the pictures of the stages: `python docs/pictures/stages.py --model DIR --rnn DIR`.

`--model` and `--rnn` are the folders of an English–French Transformer and recurrent network, such
as `regard demo` makes them. The pictures that the documentation shows are written here, as
stages-*.png; with `--all`, every stage in light and dark, wide and narrow, English and Chinese is
written into another folder, to be looked at. Needs the extra `dev` and Chromium.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from make import CHROMIUM_FLAGS, FOLDER, SENTENCE, serve
from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MAX_BYTES = 60_000
COLORS = 32
WIDTHS = {"wide": 1280, "narrow": 390}


class Look(NamedTuple):
    """How a page is shown."""

    scheme: str = "light"
    width: str = "wide"
    language: str = "en"

    @property
    def name(self) -> str:
        """As part of a file's name."""
        return "-".join((self.scheme, self.width, self.language))


EVERY = [
    Look(scheme, width, language)
    for scheme in ("light", "dark")
    for width in WIDTHS
    for language in ("en", "zh")
]
KEPT = (
    ("transformer", "token", "encoder", Look()),
    ("transformer", "query", "encoder", Look("light", "narrow")),
    ("transformer", "raw scores", "encoder", Look()),
    ("transformer", "masked", "decoder", Look("dark")),
    ("transformer", "weights", "decoder", Look("light", "narrow", "zh")),
    ("transformer", "context", "decoder", Look("light", "wide", "zh")),
    ("transformer", "residual", "encoder", Look("dark", "narrow")),
    ("transformer", "probabilities", "decoder", Look("dark", "wide", "zh")),
    ("rnn", "energies", "decoder", Look()),
    ("rnn", "joined", "decoder", Look("dark", "narrow", "zh")),
    ("toy", "weights", "encoder", Look("light", "wide", "zh")),
)
"""The pictures of the documentation: model, name and side of the stage, and how it is shown."""


def main() -> None:
    """Make the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("model", "rnn"):
        parser.add_argument(f"--{name}", metavar="DIR", type=Path, required=True)
    parser.add_argument("--all", metavar="FOLDER", type=Path, help="write every stage into it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        models = {}
        for kind, path in (("transformer", arguments.model), ("rnn", arguments.rnn)):
            models[kind] = Path(folder) / kind  # the page shows the name of the model's folder
            shutil.copytree(path, models[kind], ignore=shutil.ignore_patterns("checkpoints"))
        pages = trace_pages(models, Path(folder))
        if arguments.all:
            arguments.all.mkdir(parents=True, exist_ok=True)
            for kind, page in pages.items():
                for look in EVERY:
                    picture_all(browser, page, look, arguments.all, kind)
            return
        for kind, name, side, look in KEPT:
            with opened(browser, pages[kind].as_uri(), look) as tab:
                go_to(tab, name, side)
                save(tab, FOLDER / f"stages-{kind}-{name.replace(' ', '-')}.png")
        word_by_word(browser, models["transformer"])


def trace_pages(models: dict[str, Path], folder: Path) -> dict[str, Path]:
    """The pages of the models and of the toy, written by the command."""
    pages = {kind: folder / f"{kind}.html" for kind in (*models, "toy")}
    for kind, page in pages.items():
        words = ["--toy"] if kind == "toy" else [SENTENCE, "--model", str(models[kind])]
        words += [] if kind == "toy" else ["--word", "it"]
        command = [sys.executable, "-m", "regard", "trace", *words, "--out", str(page)]
        subprocess.run(command, check=True)
    return pages


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(CHROMIUM_FLAGS)
        )
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, address: str, look: Look) -> Iterator[Page]:
    """A tab at a page."""
    size = {"width": WIDTHS[look.width], "height": 1180}  # the list of parts fits in
    locale = {"en": "en-GB", "zh": "zh-CN"}[look.language]
    context = browser.new_context(viewport=size, color_scheme=look.scheme, locale=locale)
    tab = context.new_page()
    tab.goto(address)
    yield tab
    context.close()


def settle(tab: Page) -> None:
    """Wait until the stage is drawn."""
    tab.locator(".picture > *").first.wait_for()
    tab.locator(".stages:not([aria-busy])").wait_for()
    tab.wait_for_timeout(400)  # the bar of progress moves


def go_to(tab: Page, name: str, side: str) -> None:
    """Go on with the arrow key to the first stage of that name and side."""
    reached = f"""(event) => event.detail.name === "{name}" && event.detail.side === "{side}" """
    settle(tab)
    tab.keyboard.press("ArrowRight")
    settle(tab)
    tab.evaluate(f"""() => {{
      window.reached = false;
      document.addEventListener("regard:stage", (event) => {{
        window.reached ||= ({reached})(event);
      }});
    }}""")
    key = "Home"
    while not tab.evaluate("window.reached"):
        tab.keyboard.press(key)
        tab.locator(".stages:not([aria-busy])").wait_for()
        key = "ArrowRight"
    settle(tab)


def save(tab: Page, path: Path, part: str = "main") -> None:
    """Write a screenshot of a part of the page with a small palette."""
    png = tab.locator(part).screenshot()
    image = Image.open(io.BytesIO(png)).convert("RGB")
    method = Image.Quantize.MAXCOVERAGE  # the median cut would lose a rare orange
    image = image.quantize(COLORS, method, kmeans=3, dither=Image.Dither.NONE)
    image.save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path}: {image.width} × {image.height}, {size / 1000:.0f} kB")
    if size > MAX_BYTES:
        raise SystemExit(f"{path} must be at most {MAX_BYTES / 1000:.0f} kB.")


def picture_all(browser: Browser, page: Path, look: Look, folder: Path, kind: str) -> None:
    """Write every stage of a page, of the first layer and head, in one way of looking."""
    with opened(browser, page.as_uri(), look) as tab:
        seen, before = set[str](), ""
        while True:
            settle(tab)
            now = tab.locator(".count").inner_text()
            if now == before:
                return
            name = tab.locator(".stage h2").inner_text() + tab.locator(".place").inner_text()[:4]
            if name not in seen:
                number = len(seen)
                tab.locator(".stage").screenshot(
                    path=folder / f"{kind}-{look.name}-{number:02}.png"
                )
            seen.add(name)
            before = now
            tab.keyboard.press("ArrowRight")


def word_by_word(browser: Browser, model: Path) -> None:
    """The served page, where another word was chosen."""
    with serve(model) as address, opened(browser, address, Look()) as tab:
        tab.fill("#text", SENTENCE)
        tab.locator("#follow-words").click()
        settle(tab)
        for place in (0, 0, 1):
            tab.locator(".next-word").nth(place).click()
            tab.wait_for_timeout(1500)
        settle(tab)
        tab.mouse.move(0, 0)
        tab.evaluate("document.activeElement.blur()")
        save(tab, FOLDER / "stages-word-by-word.png", "#follow")


if __name__ == "__main__":
    main()
