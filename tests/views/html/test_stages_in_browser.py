"""The stages of a traced word in a real browser: by keyboard, by pointing, in two languages."""

import json
import re

import numpy as np
import pytest
import torch

from browsers import axe, count, press, settled, stage, walk
from regard.cli import main
from regard.errors import InputError
from regard.tasks import load, tracing
from regard.tasks.inspection import InspectOptions, inspect
from regard.tasks.tracing import trace_text, traced_texts
from regard.views.html.trace_page import trace_page
from trained import taught, trained

TEXT = taught("en-fr")[0][0]
KINDS = ("en-fr", "rnn", "lm")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of the three kinds of models, made by the command."""
    folder = tmp_path_factory.mktemp("stages")
    for kind in KINDS:
        model = str(trained(kind, tmp_path_factory))
        words = ["trace", TEXT, "--model", model, "--out", str(folder / f"{kind}.html")]
        assert main([*words, "--threads", "1"]) == 0
    return folder


@pytest.fixture
def opened(browser, pages):
    """Opens a page, and checks afterwards that there was no message and no request."""
    errors, requests, contexts = [], [], []

    def opened(kind, file=None, **options):
        context = browser.new_context(**{"locale": "en-GB", **options})
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: errors.append(message.text))
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto((file or pages / f"{kind}.html").as_uri())
        settled(tab)
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert errors == []
    assert all(url.startswith(("file:", "data:")) for url in requests)


def payload(tab):
    return json.loads(tab.locator("#trace").text_content())


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("kind", KINDS)
def test_every_stage_by_keyboard_alone(opened, kind):
    tab = opened(kind)
    seen, steps = walk(tab), payload(tab)["steps"]
    assert len(seen) == count(tab)[1] and stage(tab)[0] == "word"
    assert all(equation and picture for *_, equation, picture in seen)
    assert not any("could not be read" in picture for *_, picture in seen)
    shown = [step["name"] for step in steps if step["head"] in (None, 0)]
    weighted = ["weighted values"] * shown.count("weights")
    assert sorted(name for name, *_ in seen) == sorted(shown + weighted)
    press(tab, "Home", "ArrowRight", "ArrowRight", "ArrowLeft")
    assert count(tab) == [2, len(seen)]
    press(tab, "PageDown", "PageUp", "End")
    assert tab.locator(".parts button").last.get_attribute("aria-current") == "step"
    assert count(tab) == [len(seen), len(seen)]


@pytest.mark.needs("chromium")
def test_buttons_play_words_and_heads(opened):
    from playwright.sync_api import expect

    tab = opened("en-fr")
    tab.get_by_role("button", name="Next").click()
    tab.get_by_role("button", name="Next").click()
    tab.get_by_role("button", name="Back").click()
    settled(tab)
    assert count(tab)[0] == 2
    tab.locator(".stage h2").click()
    press(tab, "Space")
    assert tab.get_by_role("button", name="Pause").is_visible()
    expect(tab.locator(".count")).to_contain_text("Stage 3")
    press(tab, "Space")
    assert tab.get_by_role("button", name="Play").is_visible()
    walk(tab, "query", "Encoder")
    before = tab.locator(".picture canvas").last.evaluate("e => e.toDataURL()")
    tab.locator("[data-picker=stepHead] input").nth(1).check(force=True)
    settled(tab)
    assert stage(tab)[0] == "query"
    other = tab.locator(".picture canvas").last.evaluate("e => e.toDataURL()")
    tab.locator("[data-picker='words.encoder'] input").first.check(force=True)
    settled(tab)
    assert TEXT.split()[0] in tab.locator("h1").inner_text()
    third = tab.locator(".picture canvas").last.evaluate("e => e.toDataURL()")
    assert len({before, other, third}) == 3


@pytest.mark.needs("chromium")
def test_numbers_by_keys_and_by_pointing(opened, tmp_path_factory):
    traced = trace_text(load(str(trained("en-fr", tmp_path_factory))), TEXT, every_word=True)
    tab = opened("en-fr")
    walk(tab, "masked", "Decoder")
    masked = next(step for step in traced.steps if step.name == "masked" and step.head == 0)
    grid = tab.locator(".numbers").first
    grid.focus()
    press(tab, "Tab", "Shift+Tab")  # focus as a keyboard gives it
    row = traced.rows["decoder"][0]
    for _ in range(row):
        press(tab, "ArrowUp")
    assert tab.locator(".readout.number").first.inner_text().startswith("<s> → <s>: ")
    number = float(tab.locator(".readout.number").first.inner_text().split()[-1].replace("−", "-"))
    assert number == pytest.approx(masked.values[0, 0], rel=1e-3, abs=1e-4)
    press(tab, "ArrowRight")
    assert tab.locator(".readout.number").first.inner_text().endswith("−∞")
    assert stage(tab)[0] == "masked"  # arrows read the numbers
    press(tab, "Escape", "ArrowRight", "ArrowRight", "ArrowRight")
    assert stage(tab)[0] == "context"
    context = next(s for s in traced.steps if s.name == "context" and s.side == "decoder")
    tab.locator(".numbers").last.hover(position={"x": 200, "y": 12})
    said = tab.locator(".readout.number").last.inner_text()
    feature, number = re.match(r"feature (\d+):\s+(\S+)", said).groups()
    value = context.values[row, int(feature)]
    assert float(number.replace("−", "-")) == pytest.approx(value, rel=1e-3, abs=1e-4)


@pytest.mark.needs("chromium")
def test_temperature_reshapes_the_next_words(opened, tmp_path_factory):
    model = load(str(trained("lm", tmp_path_factory)))
    with torch.no_grad():
        ids = model.tokenizer.encode(TEXT)
        logits = model.network(model.batch(ids))[0].double()
    tab = opened("lm")
    walk(tab, "probabilities")
    tab.locator("[data-picker='words.alone'] input").nth(2).check(force=True)
    settled(tab)

    def shares():
        told = tab.locator(".bars .share").all_inner_texts()
        return [float(text.strip("<% ")) / 100 for text in told]

    temperatures = next(s for s in payload(tab)["steps"] if "temperatures" in s)["temperatures"]
    for heat in (1.0, 0.5, 2.0):
        tab.locator(".temperature input").fill(str(temperatures.index(heat)))
        expected = np.sort((logits[2] / heat).softmax(-1).numpy())[::-1][:10]
        assert shares() == pytest.approx(expected, rel=0.06, abs=1e-4)
    assert len(tab.locator(".bars li").all()) == 10
    tab.get_by_role("button", name="word after").press("Enter")
    settled(tab)
    assert tab.locator("[data-picker='words.alone'] input").nth(3).is_checked()
    assert tab.evaluate("document.activeElement.dataset.go") == "wordAfter"
    assert tab.locator(".temperature output").inner_text() == "T = 2.0"


@pytest.mark.needs("chromium", "axe-core")
@pytest.mark.parametrize(
    ("kind", "scheme", "width", "locale"),
    [("en-fr", "light", 1280, "en-GB"), ("rnn", "dark", 390, "zh-CN"), ("lm", "dark", 1280, "zh")],
)
def test_axe_finds_nothing(opened, kind, scheme, width, locale):
    tab = opened(kind, color_scheme=scheme, viewport={"width": width, "height": 900}, locale=locale)
    assert tab.locator("html").get_attribute("lang") == locale[:2]
    for keys in (["PageDown"] * 2 + ["ArrowRight"] * 5, ["End", "ArrowLeft"]):
        press(tab, *keys)
        assert axe(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.needs("chromium")
def test_text_stays_text(opened, tmp_path, tmp_path_factory):
    model = load(str(trained("en-fr", tmp_path_factory)))
    bad = "<img src=x onerror=alert(1)> </script><script>document.title=1</script>"
    file = tmp_path / "bad.html"
    options = InspectOptions(name=bad)
    traced = trace_text(model, f"{TEXT[:-1]} {bad}", every_word=True, options=options)
    file.write_text(trace_page(traced, start=9), "utf-8")
    tab = opened("en-fr", file)
    assert stage(tab)[0] == traced.steps[8].name
    assert tab.locator("img").count() == 0 and bad in tab.locator(".facts").inner_text()


SUMMARY = ".step-by-step summary"


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Reports of `regard inspect`: two texts, a pair of models, and one without stages."""
    folder = tmp_path_factory.mktemp("reports")
    models = {kind: str(trained(kind, tmp_path_factory)) for kind in KINDS}
    for name, words in {
        "two": [TEXT, taught("en-fr")[1][0], "--model", models["en-fr"]],
        "pair": [TEXT, "--model", models["en-fr"], "--against", models["rnn"]],
        "none": [TEXT, "--model", models["lm"], "--no-stages"],
    }.items():
        assert main(["inspect", *words, "--out", str(folder / f"{name}.html")]) == 0
    return folder


@pytest.mark.needs("chromium", "axe-core")
def test_stages_in_the_report(opened, reports):
    tab = opened("", reports / "two.html")
    tab.locator(SUMMARY).press("Enter")
    tab.locator(".count").wait_for()  # the stages are made after the event of opening
    settled(tab)
    tab.keyboard.press("ArrowRight")
    settled(tab)
    assert count(tab)[0] == 2
    press(tab, "PageDown", "End")
    assert count(tab)[0] == count(tab)[1] and stage(tab)[0] == "word"
    assert tab.locator(".model-drawing .lit").count() == 2  # norm and output
    assert axe(tab) == []
    tab.locator(".model-drawing .block").first.click()
    settled(tab)
    assert count(tab)[0] == 1 and tab.locator(".model-drawing .lit").count() == 1
    tab.locator("#texts label").nth(1).click()
    tab.locator(SUMMARY).click()
    settled(tab)
    assert taught("en-fr")[1][0].split()[1] in tab.locator(".choose").inner_text()


@pytest.mark.needs("chromium", "axe-core")
def test_stages_of_a_pair_and_none_at_all(opened, reports):
    look = {"color_scheme": "dark", "locale": "zh-CN", "viewport": {"width": 390, "height": 800}}
    tab = opened("", reports / "pair.html", **look)
    for number in (0, 1):
        tab.locator(SUMMARY).nth(number).click()
        settled(tab)
    assert tab.locator(".stage").count() == 2 and axe(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    tab.locator(SUMMARY).nth(1).press("End")
    settled(tab)
    numbers = [re.findall(r"\d+", text) for text in tab.locator(".count").all_inner_texts()]
    assert numbers[0][0] == "1" and numbers[1][0] == numbers[1][1]  # keys are of one of them
    assert not (reports / "none.html").read_text("utf-8").count("stages-0")


def test_texts_beyond_the_limit_have_no_stages(tmp_path_factory, monkeypatch):
    model = load(str(trained("lm", tmp_path_factory)))
    inspections = inspect(model, [TEXT, TEXT, TEXT, " ".join([TEXT] * 2)])
    options = InspectOptions()
    first, *_ = traced_texts(model, inspections, options)
    size = sum(step.values.size for step in first.steps)
    monkeypatch.setattr(tracing, "MAX_NUMBERS", 2 * size + 1)
    assert [each is None for each in traced_texts(model, inspections, options)] == [
        False,
        False,
        True,
        True,
    ]
    monkeypatch.setattr(tracing, "MAX_TOKENS", len(first.sides["decoder"].tokens))
    assert next(iter(traced_texts(model, inspections[3:], options))) is None


def test_what_is_too_large_is_one_sentence(tmp_path_factory):
    traced = trace_text(load(str(trained("lm", tmp_path_factory))), TEXT, every_word=True)
    with pytest.raises(InputError, match=r"^the numbers of \d+ tokens take .*--layer\.$"):
        trace_page(traced, max_bytes=1000)
