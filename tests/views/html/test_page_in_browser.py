"""The page in a real browser: pointing, choosing, zooming and the keyboard."""

import numpy as np
import pytest

from regard.views import HeadMaps, SentenceView, page
from requirements import AXE

BAD = ("<img src=x onerror=window.bad=1>", "</script><script>window.bad=1</script>")

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture
def view(browser, tmp_path, french, chinese):
    """Opens the page of the samples, and checks for errors, console messages and requests."""
    errors, requests, contexts = [], [], []

    def view(*more, only=None, **options):
        file = tmp_path / "page.html"
        entries = [french, chinese, *more] if only is None else only
        file.write_text(page("A run", entries, {"seconds": 1}), "utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: errors.append(message.text))
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(file.as_uri())
        settled(tab)
        return tab

    yield view
    for context in contexts:
        context.close()
    assert errors == []
    assert len({url for url in requests if not url.startswith("data:")}) == 1


def settled(tab):
    """Wait until every map is drawn."""
    tab.evaluate("""async () => {
      const frame = () => new Promise(requestAnimationFrame);
      do { await frame(); await frame(); } while (document.querySelector("[aria-busy]"));
    }""")


def words(strip):
    return f".words[data-side={strip}] .word"


def tint(tab, strip, number):
    chip = tab.locator(words(strip)).nth(number)
    return float(chip.evaluate("e => getComputedStyle(e).getPropertyValue('--attended')"))


def choose(tab, name, value):
    where = f"[data-picker={name}] input" if name != "text" else "input[name=text]"
    tab.locator(f"{where}[value='{value}']").first.check(force=True)
    settled(tab)


def label(tab, place=0):
    return tab.locator(".cells").nth(place).get_attribute("aria-label")


def picture(tab):
    return tab.evaluate("document.querySelector('.cells canvas').toDataURL()")


def readout_of(tab, selector=".word-readout"):
    settled(tab)
    return tab.locator(selector).first.inner_text()


def share(weight):
    return f"{weight * 100:.0f} %" if weight >= 0.0995 else f"{weight * 100:.1f} %"


def test_pointing_at_a_word(view, french):
    tab = view()
    assert tab.locator(words("source")).all_inner_texts() == list(french.source_words)
    assert tab.locator(".aligned-words path").count() == len(french.links)
    tab.locator(words("target")).nth(5).hover()
    readout = readout_of(tab)
    assert readout.startswith("traversé confidence 90 %")
    weights = french.alignment_weights()[5]
    assert f"cross {share(weights[3])}" in readout
    tints = [tint(tab, "source", number) for number in range(len(french.source_words))]
    assert tints == pytest.approx([w**0.7 for w in weights], abs=0.02)
    assert tab.locator(".aligned-words path.linked").count() == 1
    tab.locator(words("source")).nth(3).hover()
    assert "seen by" in readout_of(tab)
    assert tab.locator(".aligned-words path.linked").count() == 2
    tab.hover("h1")
    assert readout_of(tab) == ""


def test_choosing_head_layer_and_kind(view, french):
    tab = view()
    assert label(tab).startswith("cross attention, layer 1, head 3")
    before = picture(tab)
    tab.locator("[data-picker=head] label").nth(3).click()
    settled(tab)
    assert "layer 1, head 2" in label(tab)
    assert picture(tab) != before
    choose(tab, "head", "mean")
    choose(tab, "kind", "decoder")
    assert "decoder attention, layer 1, mean of heads: 20 rows, 20 columns" in label(tab)
    assert tab.locator(".hidden-key").is_visible()
    choose(tab, "layer", "0")
    assert "decoder attention, layer 0, mean" in label(tab)
    choose(tab, "kind", "encoder")
    assert not tab.locator(".hidden-key").is_visible()
    tab.locator(words("source")).nth(7).hover()
    readout = readout_of(tab)
    assert "looked at" in readout
    assert "seen by" in readout
    assert tint(tab, "target", 0) == 0
    tab.hover("h1")
    assert tab.locator("[data-picker=head] small").all_inner_texts()[0].endswith(" bits")


def test_cells_by_pointer_and_by_keys(view, french):
    tab = view()
    plane = french.find("cross", 1).matrix(3)
    tab.locator(".cells").focus()
    tab.keyboard.press("ArrowDown")  # starts at the first cell
    assert readout_of(tab, ".value").startswith(f"▁L → ▁The {share(plane[0, 0])}")
    for _ in range(7):
        tab.keyboard.press("ArrowDown")
    for _ in range(5):
        tab.keyboard.press("ArrowRight")
    assert readout_of(tab, ".value").startswith(f"▁travers → ▁cross {share(plane[7, 5])}")
    assert "bits of at most 4.00" in readout_of(tab, ".value")
    tab.keyboard.press("Home")
    assert "▁travers → ▁The" in readout_of(tab, ".value")
    tab.locator(".cells").evaluate("e => e.blur()")
    assert readout_of(tab, ".value") == ""
    box = tab.locator(".cells canvas").bounding_box()
    seen = set()
    for step in range(20):
        tab.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 80 + step * 20)
        seen.add(readout_of(tab, ".value").split(" → ")[0])
    assert {"▁L", "▁travers", "é"} < seen


def test_hidden_cells_and_entropy(view, french):
    tab = view()
    choose(tab, "kind", "decoder")
    tab.locator(".cells").focus()
    tab.keyboard.press("ArrowDown")
    assert readout_of(tab, ".value").startswith("<s> → <s> 100 %")
    tab.keyboard.press("ArrowRight")
    assert readout_of(tab, ".value").startswith("<s> → ▁L hidden")
    box = tab.locator(".cells canvas").bounding_box()
    found = []
    for step in range(60, int(box["width"]), 20):  # the strip is right of the map, 40 pixels wide
        tab.mouse.move(box["x"] + step, box["y"] + 160)
        found.append(readout_of(tab, ".value"))
        if "spreads over" in found[-1]:
            break
    assert any(" → " in one for one in found)
    assert "bits of at most" in found[-1]


def test_zooming_and_moving(view, french):
    tab = view()
    cells = tab.locator(".cells")
    far = picture(tab)
    tab.get_by_role("button", name="Zoom in").click()
    settled(tab)
    assert picture(tab) != far
    assert "zoomed" in cells.get_attribute("class")
    tab.get_by_role("button", name="Fit").click()
    settled(tab)
    assert "zoomed" not in cells.get_attribute("class")
    cells.focus()
    tab.keyboard.press("+")
    settled(tab)
    assert "zoomed" in cells.get_attribute("class")
    tab.keyboard.press("0")
    settled(tab)
    assert "zoomed" not in cells.get_attribute("class")


def test_the_scale_of_colours(view, french):
    tab = view()
    most = french.find("cross", 1).matrix(3).max()
    assert tab.locator(".scale").inner_text().split("\n")[-1].strip().endswith(share(most))
    before = picture(tab)
    tab.get_by_label("colors to 100 %").check()
    settled(tab)
    assert "100 %" in tab.locator(".scale").inner_text()
    assert picture(tab) != before


def test_everything_is_reachable_by_keyboard(view, french):
    tab = view()
    where = (
        "e => e.closest('[data-picker]')?.dataset.picker || e.dataset.side || e.name || "
        "e.closest('.words')?.dataset.side || e.className || e.tagName"
    )
    seen = []
    for _ in range(14):
        tab.keyboard.press("Tab")
        seen.append(tab.evaluate(f"({where})(document.activeElement)"))
    wanted = ["language", "theme", "text", "source", "target", "kind", "layer", "head", "cells"]
    assert [name for name in seen if name in wanted] == wanted
    tab.locator(words("source")).nth(0).focus()
    tab.keyboard.press("ArrowRight")
    assert readout_of(tab).startswith("animal")
    tab.keyboard.press("ArrowDown")
    assert tab.locator(":focus").evaluate(where) == "target"
    tab.locator("[data-picker=head] input:checked").focus()
    tab.keyboard.press("ArrowLeft")
    settled(tab)
    assert "head 2" in label(tab)
    assert tab.locator(":focus").evaluate(where) == "head"


def test_another_text_keeps_the_choice(view, chinese):
    tab = view()
    choose(tab, "kind", "encoder")
    choose(tab, "layer", "0")
    choose(tab, "text", "1")
    assert tab.locator(words("target")).all_inner_texts() == list(chinese.target_words)
    assert tab.get_attribute(".words.target", "lang") == "zh"
    assert "encoder attention, layer 0" in label(tab)
    choose(tab, "kind", "cross")
    tab.locator(words("target")).nth(7).hover()
    assert readout_of(tab).startswith("它")


def test_two_models_side_by_side(view, french, chinese):
    tab = view((french, chinese))
    choose(tab, "text", "2")
    assert tab.locator(".regard").count() == 2
    choose(tab, "kind", "decoder")
    choose(tab, "layer", "2")
    assert label(tab, 0).startswith("decoder attention, layer 2, head 3")
    assert label(tab, 1).startswith("decoder attention, layer 2, head 3")
    choose(tab, "kind", "encoder")
    tab.locator(".pane").nth(0).locator(".source .word").nth(3).hover()
    settled(tab)
    readouts = tab.locator(".word-readout").all_inner_texts()
    assert [one.split("\n")[0] for one in readouts] == ["cross", "cross"]
    assert all("looked at" in one for one in readouts)
    tab.hover("h1")
    settled(tab)
    assert tab.locator(".word-readout").all_inner_texts() == ["", ""]
    tab.set_viewport_size({"width": 390, "height": 800})
    settled(tab)
    panes = "[...document.querySelectorAll('.pane')].map((pane) => pane.getBoundingClientRect())"
    first, second = tab.evaluate(f"{panes}.map(({{ top, bottom }}) => [top, bottom])")
    assert second[0] > first[1]
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_language_and_theme(view):
    tab = view(locale="zh-CN", color_scheme="light")
    assert tab.evaluate("document.documentElement.lang") == "zh"
    assert tab.locator(".attention h2").inner_text() == "注意力"
    assert "第 1 层" in label(tab)
    choose(tab, "language", "en")
    assert tab.locator(".attention h2").inner_text() == "Attention"
    assert label(tab).startswith("cross attention")
    tab.locator(words("target")).nth(5).hover()
    assert "looked at" in readout_of(tab)
    before = picture(tab)
    choose(tab, "theme", "dark")
    assert picture(tab) != before
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, ground[4:-1].split(","))) < 60
    tab.reload()
    settled(tab)
    assert tab.evaluate("[regard.language, document.documentElement.dataset.theme]") == [
        "en",
        "dark",
    ]


def test_words_with_html_stay_text(view):
    weights = np.full((2, 2, 2), 0.5, np.float32)
    maps = HeadMaps("cross", 0, (0, 1), weights, BAD, BAD)
    tab = view(
        SentenceView(
            BAD,
            BAD,
            BAD,
            BAD,
            ((0, 1),),
            (maps,),
            reference=BAD[0],
            title=BAD[1],
            model=BAD[0],
            source_language=BAD[0],
            target_language=BAD[1],
        )
    )
    choose(tab, "text", "2")
    assert tab.locator(words("source")).all_inner_texts() == list(BAD)
    tab.locator(words("target")).nth(0).hover()
    assert BAD[0] in readout_of(tab)
    assert BAD[0] in tab.inner_text(".reference")
    assert BAD[1] in tab.inner_text(".name")
    assert BAD[0] in tab.inner_text(".origin")
    tab.locator(".cells").focus()
    tab.keyboard.press("ArrowDown")
    assert readout_of(tab, ".value").startswith(f"{BAD[0]} → {BAD[0]} 50 %")
    assert tab.evaluate("window.bad") is None
    assert tab.locator("img").count() == 0


def test_single_text(view):
    rows = np.tril(np.random.default_rng(0).random((2, 7, 7), np.float32))
    rows /= rows.sum(-1, keepdims=True)
    tokens = ("The", "Ġani", "mal", "Ġslept", ".", "Ċ", "<|endoftext|>")
    plain = SentenceView.from_text([], tokens=tokens, language="en", model="gpt")
    maps = HeadMaps("decoder", 0, (0, 1), rows, plain.source_tokens, plain.source_tokens)
    made = SentenceView(
        plain.source_tokens,
        (),
        plain.source_words,
        (),
        maps=(maps,),
        source_groups=plain.source_groups,
        confidence=(0.5,) * 6,
    )
    tab = view(only=[made])
    assert tab.locator("nav").is_hidden()
    assert tab.locator(words("source")).all_inner_texts() == [
        "The",
        "animal",
        "slept",
        ".",
        "⏎",
        "<|endoftext|>",
    ]
    assert tab.locator(".words.target").count() == 0
    assert tab.locator(".alignment h2").inner_text() == "Words"
    tab.locator(words("source")).nth(1).hover()
    readout = readout_of(tab)
    assert "confidence 50 %" in readout
    assert "looked at" in readout
    assert "seen by" in readout
    expected = rows.mean(0)[1:3, 0].mean()
    assert tint(tab, "source", 0) == pytest.approx(expected**0.7, abs=0.01)


def test_without_maps_and_with_one_label(view):
    plain = SentenceView(("▁a", "▁b"), ("▁c",), ("a", "b"), ("c",), links=((1, 0),))
    weights = np.array([[[0.25, 0.75]]], np.float32)
    label_of = HeadMaps("cross", 0, (0,), weights, ("good",), ("▁a", "▁b"))
    classified = SentenceView(("▁a", "▁b"), ("good",), ("a", "b"), ("good",), maps=(label_of,))
    tab = view(only=[plain, classified])
    assert "no attention maps" in tab.inner_text(".no-maps")
    assert not tab.locator(".attention").is_visible()
    tab.locator(words("source")).nth(1).hover()
    assert readout_of(tab) == "b"
    assert tab.locator(".aligned-words path.linked").count() == 1
    choose(tab, "text", "1")
    tab.locator(words("target")).nth(0).hover()
    assert "b 75 %" in readout_of(tab)
    assert tab.locator("[data-picker=head]").is_hidden()


def test_narrow_and_dark(view):
    tab = view(viewport={"width": 360, "height": 740}, color_scheme="dark")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    assert "columns" in tab.get_attribute(".aligned-words", "class")
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, ground[4:-1].split(","))) < 60


def test_in_a_sandboxed_frame(browser, french, tmp_path):
    """As in notebooks: without local storage, nothing breaks."""
    from html import escape

    errors = []
    frame = f'<iframe sandbox="allow-scripts" srcdoc="{escape(page("A run", [french]))}"></iframe>'
    (tmp_path / "frame.html").write_text(frame, "utf-8")
    tab = browser.new_page()
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto((tmp_path / "frame.html").as_uri())
    inner = tab.frame_locator("iframe")
    inner.locator(".cells[aria-label^=cross]").wait_for()
    inner.locator("[data-picker=theme] input[value=dark]").check(force=True)
    inner.locator("[data-picker=language] input[value=zh]").check(force=True)
    assert inner.locator(".attention h2").inner_text() == "注意力"
    tab.close()
    assert errors == []


@pytest.mark.needs("axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(view, french, chinese, scheme, width):
    viewport = {"width": width, "height": 900}
    tab = view((french, chinese), color_scheme=scheme, viewport=viewport)
    for text in ("0", "2"):
        choose(tab, "text", text)
        tab.locator(words("source")).nth(2).hover()
        tab.evaluate(AXE.read_text("utf-8"))
        found = tab.evaluate("axe.run()")["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
