"""Readouts, labels, themes and printing of the view in a real browser."""

from dataclasses import replace

import numpy as np
import pytest

from regard.views import HeadMaps, SentenceView, page
from regard.views.html.browser import scripts, style
from regard.views.html.page import embed_json
from regard.views.html.payload import sentence_payload

pytestmark = pytest.mark.needs("chromium")
SPY = """
const drawn = [], write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
  drawn.push(text);
  return write.call(this, text, ...rest);
};
"""


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page with the view of a text, with options of the browser and of the view."""
    errors, tabs = [], []

    def opened(view, options="{}", **more):
        file, data = tmp_path / "own.html", embed_json(sentence_payload(view))
        file.write_text(
            f"<!doctype html><html lang=en><meta charset=utf-8><title>own</title><style>{style()}"
            f"</style><div id=one></div><script>{SPY}{scripts()}</script><script>"
            f"const view = regard.view(document.getElementById('one'), {data}, "
            f"{options});</script>",
            "utf-8",
        )
        tab = browser.new_page(locale="en", **more)
        tab.on("console", lambda one: "getImageData" in one.text or errors.append(one.text))
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto(file.as_uri())
        tab.evaluate("view.ready")
        tabs.append(tab)
        return tab

    yield opened
    for tab in tabs:
        tab.close()
    assert errors == []


def single_text(tokens, weights=None, words=None):
    size = len(tokens)
    if weights is None:
        weights = np.full((2, size, size), 1 / size, np.float32)
    maps = HeadMaps("encoder", 0, tuple(range(len(weights))), weights, tokens, tokens)
    groups = tuple((number,) for number in range(size))
    return SentenceView(tokens, (), words or tokens, (), maps=(maps,), source_groups=groups)


@pytest.mark.parametrize("size", [3, 600])
def test_weights_above_one_are_shown_exactly(opened, size):
    weights = np.zeros((1, size, size), np.float32)
    weights[0, 1, :3] = 2.89, 16.46, 0.4
    weights[0, 0, 0] = 0.3
    rng = np.random.default_rng(0)
    weights[0, 3:] = rng.random((max(size - 3, 0), size))  # not to be packed whole
    tab = opened(single_text(tuple(f"▁w{n}" for n in range(size)), weights))
    read = "view.map.weightAt(1, {0})".format
    assert [tab.evaluate(read(column)) for column in (0, 1)] == ["289 %", "1646 %"]
    assert tab.evaluate("view.map.weightAt(0, 0)") == "30 %"
    p = weights[0, 1] / weights[0, 1].sum()
    bits = -(p[p > 0] * np.log2(p[p > 0])).sum()
    assert tab.evaluate("view.map.entropies[1]") == pytest.approx(bits, abs=1e-3)
    assert tab.locator(".scale").inner_text().split()[-2:] == ["1646", "%"]
    tab.locator(".words .word").nth(1).focus()
    readout = tab.locator(".word-readout").inner_text()
    assert "1646 %" in readout and "289 %" in readout
    tab.locator(".words .word").nth(0).focus()
    readout = tab.locator(".word-readout").inner_text()
    assert "30 %" in readout and "no word" not in readout and "rest" not in readout
    rows = 2 if size == 3 else size - 1  # one row is empty
    assert sum(tab.evaluate("[...view.map.entropies]")) / rows == pytest.approx(
        tab.evaluate("view.map.layer.meanEntropy(0)"), abs=1e-4
    )
    assert tab.evaluate("view.map.matrix.levels.at(-1).scale") == pytest.approx(16.46, abs=1e-3)


def test_label_instead_of_translation(opened, french):
    tab = opened(replace(french, target_kind="label"))
    assert tab.locator(".alignment h2").inner_text() == "Text and label"
    for kind in ("cross", "encoder", "decoder"):
        tab.evaluate(f"view.choose({{ kind: '{kind}' }})")
        meaning = tab.locator(".meaning").inner_text()
        assert "translation" not in meaning and "source" not in meaning
    names = "[...document.querySelectorAll('.words')].map((one) => one.ariaLabel)"
    assert tab.evaluate(names) == ["Words", "Label"]
    assert "Right label" in tab.locator(".reference").inner_text()
    tab.evaluate("regard.setLanguage('zh')")
    assert tab.evaluate(names)[1] == "标签"
    assert "译文" not in tab.locator("#one").inner_text()


def test_labels_are_whole_where_there_is_room(opened):
    tokens = ("<unk>", "<0x20>", "<0x41>", "<0xE7>", "\u200b", "\u202e", "</s>")
    tab = opened(single_text(tokens))
    tab.wait_for_function("drawn.includes('<unk>')")
    drawn = set(tab.evaluate("drawn"))
    assert {"<unk>", "␠", "A", "<0xE7>", "[U+200B]", "[U+202E]", "</s>"} <= drawn
    assert not any("…" in text for text in drawn)
    words = tab.locator(".word").all_inner_texts()
    assert words[4:6] == ["[U+200B]", "[U+202E]"]
    assert tab.evaluate("regard.visible('a\u202eb')") == "a[U+202E]b"
    assert tab.evaluate("regard.visible('می\u200cخواهم')") == "می\u200cخواهم"


def test_printing_uses_the_light_theme(opened, french):
    tab = opened(french, color_scheme="dark")
    tab.wait_for_function("document.querySelector('.heads canvas').width > 1")
    seen = """[...document.querySelectorAll('.cells canvas, .heads canvas')].slice(0, 2).map(
      (canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let light = 0, dark = 0;
        for (let at = 0; at < data.length; at += 4) {
          if (!data[at + 3]) continue;
          if (data[at] + data[at + 1] + data[at + 2] > 690) light++;
          if (data[at] + data[at + 1] + data[at + 2] < 120) dark++;
        }
        return light > dark;
      })"""
    assert tab.evaluate(seen) == [False, False]
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.evaluate(seen) == [
        True,
        True,
    ]  # at once: there is no animation frame before printing
    tab.emulate_media(media="print")
    assert not tab.locator(".zoom").is_visible()
    assert not tab.locator(".word-readout").is_visible()
    assert tab.locator("[data-picker=kind] label:visible").count() == 1
    tab.emulate_media(media="screen", color_scheme="dark")
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    tab.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    assert tab.evaluate(seen) == [False, False]
    assert tab.evaluate("document.documentElement.dataset.theme") is None


def test_zooming_a_short_text(opened):
    tab = opened(single_text(("▁a", "▁b", "▁c", "▁d")))
    before = tab.evaluate("({ ...view.map.frame })")
    plus, minus = tab.locator(".zoom button").last, tab.locator(".zoom button").first
    assert minus.get_attribute("aria-disabled") == "true"
    for _ in range(2):
        plus.click()
    after = tab.evaluate("({ ...view.map.frame })")
    assert after["width"] > 2 * before["width"] and after["height"] > 2 * before["height"]
    assert tab.evaluate("view.map.showsAll")  # the frame grows with its cells
    assert plus.get_attribute("aria-disabled") == "true"
    assert minus.get_attribute("aria-disabled") == "false"
    tab.locator(".zoom button").nth(1).click()
    assert tab.evaluate("({ ...view.map.frame })") == before


def test_facts_are_translated(browser, french, tmp_path):
    facts = {
        "model": "a, b",
        "kind": "recurrent network, bahdanau attention",
        "maps": "cross, encoder, decoder: 2 layers of 4 heads",
        "<b>": "kind",
        "time": "1 s",
    }
    file = tmp_path / "page.html"
    file.write_text(page("A run", [french], facts), "utf-8")
    tab = browser.new_page(locale="zh-CN")
    tab.goto(file.as_uri())
    named = tab.locator(".facts dt").all_inner_texts()
    values = tab.locator(".facts dd").all_inner_texts()
    assert named == ["模型", "类型", "注意力图", "<b>", "用时"]
    assert values[0] == "a, b" and values[3:] == ["kind", "1 s"]
    assert values[1] == "循环网络，bahdanau 注意力"
    assert values[2] == "交叉、编码器、解码器：2 层，每层 4 头"
    tab.evaluate("regard.setLanguage('en')")
    assert tab.locator(".facts dt").all_inner_texts() == list(facts)
    assert tab.locator(".facts dd").all_inner_texts() == list(facts.values())
    tab.close()


def test_maps_opened_after_the_width_changed(opened, french):
    tab = opened(french, "{ maps: false }", viewport={"width": 1200, "height": 900})
    tab.set_viewport_size({"width": 500, "height": 900})
    tab.locator("summary").click()
    tab.wait_for_function("document.querySelector('.cells canvas').height > 200")
    box, heads = (tab.locator(name).bounding_box() for name in (".cells", ".heads"))
    assert heads["y"] + heads["height"] <= box["y"] and heads["height"] > 50


def test_words_and_maps_are_laid_out_for_paper(opened, french):
    tab = opened(french, color_scheme="dark", viewport={"width": 1300, "height": 900})
    tab.evaluate("""window.widths = []; document.addEventListener('regard:theme', () => {
      const paths = [...document.querySelectorAll('.aligned-words path')];
      const lines = paths.map((one) => one.getBBox());
      const right = Math.max(...lines.map(({ x, width }) => x + width));
      widths.push([view.map.width, view.map.box.clientWidth,
        right <= document.querySelector('.aligned-words').clientWidth]);
    })""")
    before = tab.evaluate("view.map.width")
    tab.pdf()
    widths = tab.evaluate("widths")
    assert any(wide < before for wide, _, _ in widths)
    assert all(wide == box and fits for wide, box, fits in widths)
    assert tab.evaluate("view.map.width") == before
    assert not tab.evaluate("regard.printing")
