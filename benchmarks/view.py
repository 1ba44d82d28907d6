"""`python -m benchmarks view`: the page and the report in a real browser."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measurement import Measurement
from benchmarks.regard_command import run_regard
from benchmarks.serve.process import ServerProcess
from benchmarks.serve.sentences import demo_model
from benchmarks.stages import KINDS, LONGEST, longest_frame, stages_page
from benchmarks.stages import TOKENS as STAGE_TOKENS
from regard.corpus.grammar import sample
from regard.errors import InputError
from regard.tasks import load_folder

if TYPE_CHECKING:
    from playwright.sync_api import Page, Playwright

TOKENS = 4000
LATENCY = 300.0  # milliseconds until the first translation
FRAME = 100.0  # milliseconds of a frame
SIZE = 20.0  # megabytes of a report
KEY_DELAY = 40  # milliseconds between keys
STEPS = 24  # turns of the wheel
OPENING = 4.0  # seconds to open a report
FLAGS = (
    "--preset tiny --languages en --model.kind lm --model.num_layers 4 --model.num_heads 4 "
    "--model.dim 128 --model.ff 256 --model.max_length 4096 --text.unit word --training.steps 60 "
    "--training.validate_every 60 --training.tensorboard false"
)
QUIET = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--disable-sync"
)
WATCH = """() => {
  window.frames_ = []; let last = performance.now();
  const tick = (now) => {
    window.frames_.push(now - last);
    last = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}"""
LISTEN = """() => {
  const byId = (id) => document.getElementById(id), from = byId("text"), into = byId("translation");
  from.addEventListener("input", () => { window.typed_ = performance.now(); });
  window.shown_ = into.value;
  const look = () => {
    if (into.value !== window.shown_) {
      window.shown_ = into.value;
      window.came_ = performance.now();
    }
    requestAnimationFrame(look);
  };
  look();
}"""


def measurements(repeats: int, model: str | None = None) -> Iterator[Measurement]:
    """The rows, each the median of `repeats` runs."""
    subjects = _Subjects(repeats, Path(model) if model else None)
    length = f"report of {TOKENS:,} tokens"
    stages = f"stages of {STAGE_TOKENS} tokens: longest frame"
    rows: list[tuple[str, Callable[[], float], float]] = [
        ("page: last key to translation, ms", subjects.latency, LATENCY),
        (f"{length}: megabytes", lambda: subjects.size, SIZE),
        (f"{length}: longest frame while it opens, ms", lambda: subjects.frames["open"], FRAME),
        (f"{length}: longest frame while zooming, ms", lambda: subjects.frames["zoom"], FRAME),
        (f"{length}: longest frame while reading, ms", lambda: subjects.frames["read"], FRAME),
        *((f"{stages}, {kind}, ms", partial(subjects.stage_frame, kind), FRAME) for kind in KINDS),
    ]
    for name, measure, bar in rows:
        yield Measurement(name, _without_peer(measure), "<=", bar)


def _without_peer(measure: Callable[[], float]) -> Callable[[], tuple[float, None]]:
    """A figure without a peer."""
    return lambda: (measure(), None)


class _Subjects:
    """The page and the report to be measured, created on first use."""

    def __init__(self, repeats: int, model: Path | None) -> None:
        self.repeats, self.model = repeats, model
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)

    def latency(self) -> float:
        """Milliseconds from the last key of a sentence until its translation is shown."""
        model = self.model or demo_model()
        texts = [pair.source for pair in sample("test", self.repeats + 1, seed=11)]
        with ServerProcess(model, self.path / "log") as server, _tab() as tab:
            tab.goto(f"http://{server.host}:{server.port}/")
            tab.locator("#target option").first.wait_for(state="attached")
            tab.evaluate(LISTEN)
            taken = [_typing_latency(tab, text) for text in texts]
        return statistics.median(taken[1:])  # the first one fills caches

    @cached_property
    def report(self) -> Path:
        """A report on a text of 4,000 tokens, written by the commands."""
        pairs = [pair.source for pair in sample("train", 1200, seed=7)]
        corpus, text, out = (self.path / name for name in ("text.txt", "long.txt", "report.html"))
        corpus.write_text("\n".join(pairs), "utf-8")
        run_regard("train", corpus, "--dev", corpus, "--out", self.path / "lm", *FLAGS.split())
        tokenizer = load_folder(self.path / "lm").tokenizers.target
        last = tokenizer.spans(" ".join(pairs))[TOKENS - 2]  # with <s> before the first
        text.write_text(" ".join(pairs)[: last[1]], "utf-8")
        run_regard(
            "inspect", "--no-split", "--input", text, "--model", self.path / "lm", "--out", out
        )
        return out

    def stage_frame(self, kind: str) -> float:
        """The longest frame of the stages of a kind of model, in milliseconds."""
        page = stages_page(kind, self.path, self.model)
        return statistics.median(longest_frame(page, _opened_alone) for _ in range(self.repeats))

    @property
    def size(self) -> float:
        """Megabytes of the report."""
        return self.report.stat().st_size / 1e6

    @cached_property
    def frames(self) -> dict[str, float]:
        """The longest frame of each use of the report, in milliseconds."""
        rounds = [_longest_frames(self.report) for _ in range(self.repeats)]
        return {name: statistics.median(frames[name] for frames in rounds) for name in rounds[0]}


def _typing_latency(tab: Page, text: str) -> float:
    """Milliseconds from the last key of a text to its translation."""
    tab.fill("#text", "")
    tab.wait_for_timeout(300)
    tab.evaluate("Object.assign(window, { typed_: 0, came_: 0 })")
    tab.type("#text", text, delay=KEY_DELAY)
    tab.wait_for_timeout(1500)
    taken: float = tab.evaluate("window.came_ - window.typed_")
    if taken < 0:  # the last key, a full stop, changes every translation
        raise InputError("the page showed no new translation in a second and a half.")
    return taken


def _longest_frames(report: Path) -> dict[str, float]:
    """Open the report, zoom into its map and out, move and point, choose another head."""
    frames: dict[str, float] = {}
    with _opened_alone(report) as tab:
        frames["open"] = tab.evaluate(LONGEST)
        box = tab.locator(".attention .cells")
        box.scroll_into_view_if_needed()
        tab.wait_for_timeout(300)
        tab.evaluate(LONGEST)
        frame = box.bounding_box()
        assert frame is not None
        x, y = frame["x"] + frame["width"] * 0.3, frame["y"] + frame["height"] * 0.6
        tab.mouse.move(x, y)
        for step in range(2 * STEPS):
            tab.mouse.wheel(0, -150 if step < STEPS else 150)
            tab.wait_for_timeout(25)
        frames["zoom"] = tab.evaluate(LONGEST)
        for step in range(30):
            tab.mouse.move(x + 5 * step, y - 4 * step)
        tab.locator(".heads input").last.check(force=True)
        tab.wait_for_timeout(600)
        tab.locator(".words .word").nth(40).hover()
        tab.wait_for_timeout(400)
        frames["read"] = tab.evaluate(LONGEST)
    return frames


@contextmanager
def _opened_alone(report: Path) -> Iterator[Page]:
    """A tab in which a report was opened without a debugger attached.

    A browser under automation keeps what it loads and decodes all of it again on the page's main
    thread: for megabytes, a tenth of a second that users do not see. So the copy that is opened
    counts its frames itself, and is connected to only afterwards.
    """
    watched = report.with_name("watched.html")
    text = report.read_text("utf-8").replace("<head>", f"<head><script>({WATCH})()</script>", 1)
    watched.write_text(text, "utf-8")
    with tempfile.TemporaryDirectory() as profile, _engine() as (engine, chromium):
        words = [chromium, "--headless", *QUIET.split(), f"--user-data-dir={profile}"]
        words += ["--remote-debugging-port=0", "--window-size=1280,900", watched.as_uri()]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, encoding="utf-8")
        try:
            assert process.stderr is not None
            address = next(line.split()[-1] for line in process.stderr if "listening on" in line)
            time.sleep(OPENING)
            browser = engine.chromium.connect_over_cdp(address)
            yield browser.contexts[0].pages[0]
        finally:
            process.terminate()
            process.wait()


@contextmanager
def _tab() -> Iterator[Page]:
    """A tab of Chromium."""
    with _engine() as (engine, chromium):
        browser = engine.chromium.launch(executable_path=chromium, args=QUIET.split())
        try:
            yield browser.new_page(viewport={"width": 1280, "height": 900})
        finally:
            browser.close()


@contextmanager
def _engine() -> Iterator[tuple[Playwright, str]]:
    """Playwright, and the path of Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise InputError(
            "the view benchmark needs playwright: pip install regard[bench]."
        ) from None
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        raise InputError("the view benchmark needs Chromium on the PATH; install chromium.")
    with sync_playwright() as engine:
        yield engine, chromium
