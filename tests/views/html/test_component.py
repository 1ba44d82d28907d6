"""`regard.view` on any page: its methods, its events, and several views at a time."""

import json

import pytest

from regard.views.html.browser import scripts, style
from regard.views.html.page import embed_json
from regard.views.html.payload import sentence_payload

pytestmark = pytest.mark.needs("chromium")
LISTENERS = """
const events = [];
for (const name of ["regard:word", "regard:row", "regard:chosen"])
  document.addEventListener(name, ({ target, detail }) =>
    events.push([name.slice(7), target.id, detail]));
"""


@pytest.fixture
def tab(browser, tmp_path, french, chinese):
    """A page with two containers for views, and the data of two sentences."""
    texts = embed_json({"french": sentence_payload(french), "chinese": sentence_payload(chinese)})
    file = tmp_path / "own.html"
    file.write_text(
        f"<!doctype html><html lang=en><meta charset=utf-8><title>own</title><style>{style()}"
        f"</style><div id=one></div><div id=two></div><script>{scripts()}</script>"
        f"<script>const texts = {texts}; let view, other; {LISTENERS}</script>",
        "utf-8",
    )
    errors = []
    tab = browser.new_page()
    tab.on("console", lambda message: errors.append(message.text))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(file.as_uri())
    yield tab
    tab.close()
    assert errors == []


def make(tab, options=None, place="one", text="french"):
    tab.evaluate(
        f"view = regard.view(document.getElementById('{place}'), texts.{text}, "
        f"{json.dumps(options or {})}); view.ready"
    )


def events_of(tab):
    return tab.evaluate("events.splice(0)")


def test_choosing_by_script_and_by_click(tab):
    make(tab)
    assert tab.evaluate("view.state") == {"kind": "cross", "layer": 1, "head": 3}
    assert events_of(tab) == []
    tab.evaluate("view.choose({ layer: 2, head: 'mean' })")
    chosen = {"kind": "cross", "layer": 2, "head": "mean"}
    assert tab.evaluate("view.state") == chosen
    assert events_of(tab) == [["chosen", "one", chosen]]
    assert tab.locator("[data-picker=layer] input:checked").input_value() == "2"
    tab.evaluate("view.choose({ layer: 2 })")
    assert events_of(tab) == []  # it was chosen already
    tab.locator("[data-picker=kind] input[value=decoder]").check(force=True)
    assert events_of(tab) == [["chosen", "one", {"kind": "decoder", "layer": 2, "head": "mean"}]]
    assert tab.evaluate("[view.has({ layer: 2, head: 3 }), view.has({ layer: 9 })]") == [
        True,
        False,
    ]
    tab.evaluate("view.choose({ layer: 9, head: 7 })")  # missing: the nearest choice
    assert tab.evaluate("view.state") == {"kind": "decoder", "layer": 2, "head": "mean"}


def test_clicking_words_and_rows(tab, french):
    make(tab, {"clickable": True})
    tab.locator(".words.target .word").nth(2).click()
    tab.locator(".words.source .word").nth(1).focus()
    tab.keyboard.press("Enter")
    tab.locator(".cells").focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    row = {"kind": "cross", "layer": 1, "head": 3, "row": 1}
    assert events_of(tab) == [
        ["word", "one", {"side": "target", "word": 2}],
        ["word", "one", {"side": "source", "word": 1}],
        ["row", "one", row],
    ]
    box = tab.locator(".cells canvas").bounding_box()
    tab.mouse.click(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.5)
    ((name, _, detail),) = events_of(tab)
    assert name == "row"
    token = tab.evaluate(f"texts.french.axes.target.tokens[{detail['row']}]")
    assert tab.locator(".value").inner_text().startswith(f"{token} → ")


def test_replacing_the_text(tab, chinese):
    make(tab)
    tab.evaluate("view.choose({ kind: 'encoder', layer: 0, head: 2 })")
    tab.evaluate("view.replace(texts.chinese); view.ready")
    assert tab.evaluate("view.data === texts.chinese")
    assert tab.evaluate("view.state") == {"kind": "encoder", "layer": 0, "head": 2}
    found = tab.locator(".words.target .word").all_inner_texts()
    assert found == list(chinese.target_words)
    tab.evaluate("view.replace({ ...texts.chinese, maps: [] }); view.ready")
    assert tab.locator(".attention").is_hidden()
    tab.evaluate("view.replace(texts.french); view.ready")
    assert tab.locator(".attention").is_visible()


def test_several_views_and_destroy(tab):
    make(tab)
    tab.evaluate("other = view")
    make(tab, {}, "two", "chinese")
    tab.evaluate("view.choose({ head: 0 })")
    assert tab.evaluate("other.state.head") == 3
    assert [target for _, target, _ in events_of(tab)] == ["two"]
    names = tab.evaluate("[...document.querySelectorAll('input[type=radio]')].map((i) => i.name)")
    assert len(set(names)) == 6
    tab.evaluate("view.destroy()")
    assert tab.locator("#two").inner_html() == ""
    tab.evaluate("regard.setLanguage('zh'); regard.setTheme('dark')")
    assert tab.locator("#one .attention h2").inner_text() == "注意力"


def test_maps_closed_at_first(tab):
    make(tab, {"maps": False})
    assert not tab.locator(".cells").is_visible()
    tab.locator(".words.target .word").nth(5).hover()
    tab.wait_for_function(
        "document.querySelector('.word-readout').textContent.includes('looked at')"
    )
    tab.locator("summary").click()
    tab.wait_for_function("document.querySelector('.cells canvas').height > 300")
    assert tab.locator(".cells").get_attribute("aria-label").startswith("cross attention, layer 1")


def test_added_messages_and_language(tab):
    tab.evaluate("regard.addMessages({ greeting: ['Hello {name}', '你好 {name}'] })")
    assert tab.evaluate("regard.message('greeting', { name: '<b>' })") == "Hello <b>"
    tab.evaluate("document.getElementById('two').dataset.message = 'greeting'")
    tab.evaluate("regard.setLanguage('zh')")
    assert tab.locator("#two").inner_text() == "你好 {name}"
    assert tab.evaluate("document.documentElement.lang") == "zh"
    unknown = "regard.message('nothing of the kind')"
    assert tab.evaluate(unknown) == "nothing of the kind"


def test_broken_map_is_reported(tab):
    tab.evaluate("texts.french.maps.forEach((map) => { map.whole = map.whole.map(() => 'AAAA'); })")
    make(tab)
    assert "could not be read" in tab.locator(".packing").inner_text()
    assert tab.locator(".words.source .word").count() == 12


def test_pinch_and_drag(browser, tab):
    """Two fingers zoom in; one finger drags a zoomed map."""
    make(tab)
    box = tab.locator(".cells canvas").bounding_box()
    x, y = box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.5
    fire = """([kind, points]) => { const box = document.querySelector('.cells');
      box.setPointerCapture = () => {};
      points.forEach(([id, x, y]) => box.dispatchEvent(new PointerEvent(kind,
        { pointerId: id, pointerType: 'touch', clientX: x, clientY: y, bubbles: true }))); }"""
    tab.evaluate(fire, ["pointerdown", [[1, x - 20, y], [2, x + 20, y]]])
    for apart in (30, 40, 60):
        tab.evaluate(fire, ["pointermove", [[1, x - apart, y], [2, x + apart, y]]])
    tab.evaluate(fire, ["pointerup", [[1, x, y], [2, x, y]]])
    assert "zoomed" in tab.locator(".cells").get_attribute("class")
    before = tab.evaluate("({ ...view.map.origin })")
    tab.evaluate(fire, ["pointerdown", [[1, x, y]]])
    tab.evaluate(fire, ["pointermove", [[1, x - 30, y - 40]]])
    tab.evaluate(fire, ["pointerup", [[1, x - 30, y - 40]]])
    after = tab.evaluate("view.map.origin")
    assert after["x"] > before["x"]
    assert after["y"] > before["y"]
