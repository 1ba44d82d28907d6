"""The stages of a traced sentence in a real browser: a row of `python -m benchmarks view`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.regard_command import run_regard
from benchmarks.serve.sentences import demo_model
from regard.corpus.grammar import sample
from regard.tasks import load_folder

if TYPE_CHECKING:
    from playwright.sync_api import Page

TOKENS = 60
KINDS = ("transformer", "rnn", "lm")
SIZES = {
    "rnn": "--languages en-fr --model.kind rnn --model.dim 256 --model.embedding 128",
    "lm": "--languages en --model.kind lm --model.num_layers 4 --model.num_heads 4 "
    "--model.dim 128 --model.ff 256",
}
FLAGS = (
    "--preset tiny --model.max_length 128 --text.unit word --training.steps 60 "
    "--training.validate_every 60 --training.tensorboard false"
)
LONGEST = "() => { const most = Math.max(...window.frames_); window.frames_ = []; return most; }"


def stages_page(kind: str, folder: Path, model: Path | None = None) -> Path:
    """The stages of a sentence of 60 tokens, written by the commands."""
    model_path = (model or demo_model()) if kind == "transformer" else _trained(kind, folder)
    out = folder / f"stages-{kind}.html"
    run_regard("trace", _sentence(model_path), "--model", model_path, "--out", out)
    return out


def longest_frame(page: Path, opened: Callable[[Path], AbstractContextManager[Page]]) -> float:
    """Milliseconds of the longest frame: open it, go through every stage, point, choose a head."""
    with opened(page) as tab:
        frames = [tab.evaluate(LONGEST)]
        count = int(tab.locator(".count").inner_text().split()[-1])
        for _ in range(count):
            tab.keyboard.press("ArrowRight")
            tab.wait_for_timeout(40)
        frames.append(tab.evaluate(LONGEST))
        if slider := tab.locator(".temperature input").all():
            slider[0].fill("25")
        tab.keyboard.press("Home")
        while tab.locator(".stage h2").inner_text() != "weights":
            tab.keyboard.press("ArrowRight")
            tab.wait_for_timeout(20)
        frame = tab.locator(".numbers").first.bounding_box()
        assert frame is not None
        for step in range(30):
            tab.mouse.move(frame["x"] + 150 + 9 * step, frame["y"] + 100 + 8 * step)
        for place in (3, 20):
            tab.locator(".tokens input").nth(place).check(force=True)
            tab.wait_for_timeout(200)
        frames.append(tab.evaluate(LONGEST))
    return float(max(frames))


def _trained(kind: str, folder: Path) -> Path:
    """A model of this kind, trained for a few updates."""
    pairs = sample("train", 1200, seed=7)
    plain = kind == "lm"
    corpus, out = folder / f"{kind}.{'txt' if plain else 'tsv'}", folder / f"traced-{kind}"
    lines = (pair.source if plain else f"{pair.source}\t{pair.target}" for pair in pairs)
    corpus.write_text("\n".join(lines), "utf-8")
    run_regard("train", corpus, "--dev", corpus, "--out", out, *FLAGS.split(), *SIZES[kind].split())
    return out


def _sentence(model: Path) -> str:
    """One sentence of 60 tokens, the special one included, or of as many as the model reads."""
    words = " and ".join(pair.source.rstrip(".!?") for pair in sample("test", 40, seed=3))
    loaded = load_folder(model)
    num_tokens = min(TOKENS, loaded.run.model.max_length)
    return words[: loaded.tokenizers.source.spans(words)[num_tokens - 2][1]]
