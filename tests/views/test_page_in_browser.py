"""The page in a real browser: what pointing, choosing and walking with keys shows."""

import shutil

import pytest

from regard.views import Viewed, page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update"
BAD = ("<img src=x onerror=window.bad=1>", "</script><script>window.bad=1</script>")

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on the path (Debian: apt-get install chromium)"
)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as engine:
        args = [*QUIET.split(), "--disable-sync"]
        browser = engine.chromium.launch(executable_path=CHROMIUM, args=args)
        yield browser
        browser.close()


@pytest.fixture
def view(browser, tmp_path, french, chinese):
    """Opens the page of the samples; no error, no message and no request may come of it."""
    said, asked, contexts = [], [], []

    def view(*more, **options):
        file = tmp_path / "page.html"
        file.write_text(page("A run", [french, chinese, *more], {"seconds": 1}), "utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(file.as_uri())
        return tab

    yield view
    for context in contexts:
        context.close()
    assert said == []
    assert len([url for url in asked if not url.startswith("data:")]) == 1


def tint(tab, side, number):
    chip = tab.locator(f"#{side} .word").nth(number)
    return float(chip.evaluate("e => getComputedStyle(e).getPropertyValue('--to')"))


def choose(tab, name, value):
    tab.locator(f"input[name={name}][value='{value}']").check(force=True)


def test_pointing_at_a_word(view, french):
    tab = view()
    assert tab.locator("#source .word").all_inner_texts() == list(french.source_words)
    assert tab.locator("#links path").count() == len(french.links)
    tab.hover("#target .word:nth-child(6)")
    readout = tab.inner_text("#readout")
    assert readout.startswith("traversé confidence 90 %")
    weights = french.alignment_weights()[5]
    assert f"cross {weights[3]:.0%}".replace("%", " %") in readout
    tints = [tint(tab, "source", number) for number in range(len(french.source_words))]
    assert tints == pytest.approx([w**0.7 for w in weights], abs=0.02)
    assert tab.locator("#links path.on").count() == 1
    assert tab.locator("#rows > .on").all_text_contents() == ["▁travers", "é"]
    tab.hover("#source .word:nth-child(4)")
    assert "seen by" in tab.inner_text("#readout")
    assert tab.locator("#links path.on").count() == 2
    tab.hover("h1")
    assert tab.inner_text("#readout") == ""


def test_choosing_head_layer_and_kind(view, french):
    tab = view()
    assert tab.get_attribute("#cells", "aria-label").startswith("cross attention, layer 1, head 3")
    before = tab.evaluate("document.getElementById('heat').toDataURL()")
    tab.locator("#heads label", has_text="2").click()
    assert "layer 1, head 2" in tab.get_attribute("#cells", "aria-label")
    assert tab.evaluate("document.getElementById('heat').toDataURL()") != before
    choose(tab, "head", "mean")
    choose(tab, "kind", "decoder")
    assert tab.locator("#rows > span").all_text_contents() == ["<s>", *french.target_tokens[:-1]]
    choose(tab, "layer", "0")
    assert "decoder attention, layer 0, mean" in tab.get_attribute("#cells", "aria-label")
    choose(tab, "kind", "encoder")
    tab.hover("#source .word:nth-child(8)")
    assert "looked at" in tab.inner_text("#readout")
    assert "seen by" in tab.inner_text("#readout")
    assert tint(tab, "target", 0) == 0


def test_a_cell_by_pointer_and_by_keys(view, french):
    tab = view()
    plane = french.find("cross", 1).plane(3)
    box = tab.locator("#heat").bounding_box()
    size = box["width"] / plane.shape[1]
    tab.locator("#cells").hover(position={"x": 5.5 * size, "y": 7.5 * size})
    expected = f"▁travers → ▁cross {plane[7, 5]:.0%}".replace("%", " %")
    assert tab.inner_text("#value") == expected
    tab.locator("#cells").focus()
    tab.keyboard.press("ArrowDown")
    assert tab.inner_text("#value").startswith("é → ▁cross")
    assert tab.locator("#cursor").is_visible()


def test_everything_is_within_reach_of_the_keyboard(view, french):
    tab = view()
    seen = []
    for _ in range(8):
        tab.keyboard.press("Tab")
        seen.append(tab.evaluate("document.activeElement.name || document.activeElement.id || "
                                 "document.activeElement.parentNode.id"))  # fmt: skip
    wanted = ["sentence", "source", "target", "kind", "layer", "head"]
    assert [name for name in seen if name in wanted] == wanted
    assert "cells" in seen
    tab.locator("#source .word").nth(0).focus()
    tab.keyboard.press("ArrowRight")
    assert tab.inner_text("#readout").startswith("animal")
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate("document.activeElement.parentNode.id") == "target"
    tab.locator("input[name=head]:checked").focus()
    tab.keyboard.press("ArrowLeft")
    assert "head 2" in tab.get_attribute("#cells", "aria-label")
    assert tab.evaluate("document.activeElement.name") == "head"


def test_another_sentence_in_chinese(view, chinese):
    tab = view()
    choose(tab, "sentence", "1")
    assert tab.locator("#target .word").all_inner_texts() == list(chinese.target_words)
    assert tab.get_attribute("#target", "lang") == "zh"
    tab.hover("#target .word:nth-child(8)")
    assert tab.inner_text("#readout").startswith("它")
    assert tab.locator("#columns > span").count() == len(chinese.source_tokens)


def test_words_that_look_like_html(view):
    maps = ()
    tab = view(Viewed((*BAD, "</s>"), BAD, BAD, BAD, ((0, 1),), maps, reference=BAD[0]))
    choose(tab, "sentence", "2")
    assert tab.locator("#source .word").all_inner_texts() == list(BAD)
    tab.hover("#target .word:nth-child(1)")
    assert BAD[0] in tab.inner_text("#readout")
    assert BAD[0] in tab.inner_text("#reference")
    assert tab.evaluate("window.bad") is None
    assert tab.locator("img").count() == 0


def test_on_a_phone_and_in_the_dark(view):
    tab = view(viewport={"width": 360, "height": 740}, color_scheme="dark")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    assert "upright" in tab.get_attribute("#stage", "class")
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, ground[4:-1].split(","))) < 60
    pixel = "document.getElementById('heat').getContext('2d').getImageData(0, 0, 99, 99).data"
    assert tab.evaluate(f"Math.min(...{pixel}.filter((_, i) => i % 4 < 3))") < 60
