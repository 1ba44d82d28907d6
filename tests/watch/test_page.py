"""The page of `regard watch` in a browser, over a real run: live, at its end, and after it."""

import re
import shutil

import pytest
from playwright.sync_api import expect

from browsers import axe
from pages import BAD, opened
from processes import Process
from regard.cli import main
from regard.watch.server import WatchServer
from trained import LAYERS, SMALL, trained, write_corpus

pytestmark = pytest.mark.needs("chromium")
FLAGS = SMALL.replace("--training.validate_every 1000", "--training.validate_every 6") + LAYERS
FLAGS += "--languages en-fr --text.unit word --training.steps 24 "


def train_words(folder, *more):
    corpus = write_corpus("en-fr", folder.parent)
    return ["train", str(corpus), "--dev", str(corpus), "--out", str(folder), *FLAGS.split(), *more]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched") / "run"
    assert main(train_words(folder)) == 0
    return folder


@pytest.fixture(scope="module")
def address(run_folder, tmp_path_factory):
    """A run under a name that is markup, and one of another kind."""
    hostile = run_folder.parent / BAD.replace("/", "")
    shutil.copytree(run_folder, hostile)
    with WatchServer([hostile, trained("lm", tmp_path_factory)]) as server:
        yield server.address


@pytest.fixture
def alone(run_folder):
    with WatchServer([run_folder]) as server:
        yield server.address


def said(tab):
    return [re.sub(r"\s+", " ", text) for text in tab.locator(".history .said").all_inner_texts()]


def test_curves_and_samples(browser, alone):
    with opened(browser, alone) as tab:
        expect(tab.locator(".state")).to_have_text("Finished")
        expect(tab.locator("[role=progressbar]")).to_have_attribute("aria-valuenow", "100")
        facts = tab.locator(".facts").inner_text()
        for name in ("Update", "Train loss", "Dev loss", "BLEU", "chrF", "Tokens/s", "Memory"):
            assert name in facts
        titles = tab.locator(".chart:visible figcaption b").all_inner_texts()
        assert titles == [
            "Loss",
            "BLEU",
            "chrF",
            "Learning rate",
            "Tokens per second",
            "Memory",
        ]
        assert tab.locator(".chart").first.locator("circle.series-1").count() == 4
        slider, where = tab.locator("input[type=range]"), tab.locator(".transport .where")
        expect(where).to_contain_text("Validation 4 of 4 · update 24")
        history = said(tab)
        assert len(history) == 4 and len(set(history)) > 1
        assert tab.locator(".aligned-words path").count() > 0
        slider.focus()
        tab.keyboard.press("Home")
        expect(where).to_contain_text("Validation 1 of 4 · update 6")
        expect(tab.locator(".history [aria-current] .said")).to_have_text(history[-1])
        tab.locator(".history button").nth(2).click()  # the newest comes first
        expect(where).to_contain_text("update 12")
        tab.get_by_role("button", name="Play").click()
        expect(where).to_contain_text("update 24")
        expect(tab.get_by_role("button", name="Play")).to_be_visible()
        tab.locator(".texts input").first.check(force=True)
        expect(tab.locator(".aligned-words .source .word").first).to_be_visible()
        words = tab.locator(".aligned-words .source .word").all_inner_texts()
        shown = tab.locator(".texts label b").first.inner_text()
        assert "".join(words) == shown.replace(" ", "")


def test_charts_by_keyboard_and_time(browser, alone):
    with opened(browser, alone) as tab:
        plot = tab.get_by_role("slider", name=re.compile("^BLEU"))
        plot.focus()
        tab.keyboard.press("Home")
        expect(plot).to_have_attribute("aria-valuetext", re.compile(r"^update 6: "))
        tab.keyboard.press("ArrowRight")
        expect(plot).to_have_attribute("aria-valuetext", re.compile(r"^update 12: "))
        others = tab.get_by_role("slider", name=re.compile("^Loss"))
        expect(others).to_have_attribute("aria-valuetext", re.compile(r"^update 12: training"))
        tab.keyboard.press("Enter")  # the samples of that validation
        expect(tab.locator(".transport .where")).to_contain_text("update 12")
        tab.get_by_text("time", exact=True).click()
        expect(plot).to_have_attribute("aria-valuetext", re.compile(r"^\d+:\d\d: "))
        tab.reload()
        expect(tab.get_by_role("radio", name="time")).to_be_checked()


def test_several_runs_in_chinese(browser, address):
    with opened(browser, address) as tab:
        tab.locator("[data-picker=language] input[value=zh]").check(force=True)
        expect(tab.locator(".state").first).to_have_text("已完成")
        assert tab.locator("html").get_attribute("lang") == "zh"
        assert BAD.replace("/", "") in tab.locator(".run h2").first.inner_text()
        loss = tab.locator(".chart").first
        expect(loss.locator("figcaption b")).to_have_text("损失")
        assert loss.locator("path.line").count() == 2  # overlaid
        tab.locator("#sample-runs input").nth(1).check(force=True)
        expect(tab.locator(".sides dt").first).to_have_text("开头")
        expect(tab.locator(".linked")).to_be_hidden()


@pytest.mark.needs("axe-core")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing(browser, address, scheme, width):
    size = {"width": width, "height": 900}
    with opened(browser, address, color_scheme=scheme, viewport=size) as tab:
        expect(tab.locator(".history button").first).to_be_visible()
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert axe(tab) == []


def test_the_server_goes_and_comes_back(browser, alone):
    ask = "document.dispatchEvent(new Event('visibilitychange'))"
    with opened(browser, alone) as tab:
        expect(tab.locator(".state")).to_have_text("Finished")
        tab.context.set_offline(True)
        tab.evaluate(ask)
        expect(tab.get_by_role("alert")).to_contain_text("The server has stopped")
        expect(tab.locator(".chart").first).to_be_visible()  # what was known stays
        tab.context.set_offline(False)
        tab.evaluate(ask)
        expect(tab.get_by_role("alert")).to_be_hidden()


def test_while_it_trains(browser, tmp_path):
    """`--watch` serves the page from before the first update to the end, which it shows."""
    process = Process(*train_words(tmp_path / "live", "--watch"), cwd=tmp_path)
    try:
        line = process.stderr.readline()
        tab = browser.new_page()
        tab.goto(re.search(r"Watch at (http://127\.0\.0\.1:\d+)", line)[1])
        seen = set()
        state = tab.locator(".state")
        while "Finished" not in seen:
            expect(state).to_have_count(1)
            seen.add(state.inner_text())
            tab.wait_for_timeout(50)
        assert seen - {"Finished"}  # it was seen before its end
        expect(tab.locator(".history li")).to_have_count(4)
        assert process.wait(60) == 0
        tab.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(tab.get_by_role("alert")).to_contain_text("regard watch")
        tab.close()
    finally:
        process.kill()
        process.communicate(timeout=60)
