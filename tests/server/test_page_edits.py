"""Edits on the page: pointing, maps, prefixes, alternatives, changed attention, two models."""

import json
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from pages import opened
from regard.server.queue.catalogue import Catalogue
from servers import serving
from trained import taught, trained

pytestmark = pytest.mark.needs("chromium")

FRENCH = taught("en-fr")
SOURCE, TARGET = FRENCH[0]
SECOND_SOURCE, SECOND = FRENCH[1]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folders = [str(trained(name, tmp_path_factory)) for name in ("en-fr", "rnn")]
    with serving(Catalogue(folders, threads=1)) as one:
        yield one


@pytest.fixture
def tab(browser, server):
    """The page with a sentence translated and its view there."""
    with opened(browser, server.address, viewport={"width": 1280, "height": 1000}) as one:
        one.fill("#text", SOURCE)
        expect(one.locator("#translation")).to_have_value(TARGET)
        expect(one.locator("#hold")).to_be_visible()
        yield one


def open_maps(tab):
    tab.locator("#view-first summary").click()
    expect(tab.locator("#view-first .heads label").first).to_be_visible()


def choose(tab, what, text):
    tab.locator(f"#view-first .{what} label", has_text=re.compile(f"^{text}")).click()


def put_caret(tab, place):
    tab.locator("#translation").focus()
    tab.evaluate(f"document.getElementById('translation').setSelectionRange({place}, {place})")


def press_row(tab, row):
    """A row of the map by keys: the first key goes to the map's first cell.

    A map that is drawn anew, as after a choice or where its room changes, forgets its cursor.
    """
    drawn = "async () => { for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame); }"
    tab.evaluate(drawn)
    tab.locator("#view-first .cells").focus()
    tab.keyboard.press("Home")
    for _ in range(row):
        tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")


def test_pointing_at_a_word_shows_its_links(tab):
    words = tab.locator("#view-first .words.target .word")
    assert "".join(words.all_inner_texts()).replace(" ", "") == TARGET.replace(" ", "")
    expect(tab.locator("#view-first svg path")).not_to_have_count(0)
    words.nth(1).hover()
    expect(words.nth(1)).to_have_class(re.compile("active"))
    expect(tab.locator("#view-first .readout.word-readout")).to_contain_text("confidence")
    expect(tab.locator("#view-first .readout.word-readout")).to_contain_text("looked at")


def test_the_maps_by_kind_layer_and_head(tab):
    expect(tab.locator("#hold-hint")).to_contain_text("Open the maps")
    open_maps(tab)
    expect(tab.locator("#view-first .cells")).to_be_visible()
    choose(tab, "kinds", "encoder")
    choose(tab, "layers", "0")
    choose(tab, "heads", "1")
    expect(tab.locator("#chosen-name")).to_have_text("encoder attention, layer 0, head 1")
    choose(tab, "heads", "mean")
    expect(tab.locator("#chosen")).to_be_hidden()
    expect(tab.locator("#hold-hint")).to_contain_text("mean of all heads")


def test_a_beginning_is_typed_held_and_released(tab):
    put_caret(tab, 0)
    tab.keyboard.type("Une ")
    expect(tab.locator("#held")).to_be_visible()
    box = tab.locator("#translation")
    expect(box).to_have_value(re.compile("^Une (?!Une)."))
    assert tab.evaluate("document.getElementById('translation').selectionStart") == 4
    expect(tab.locator("#translation-mirror .held")).to_have_text("Une ")
    expect(tab.locator("#untouched")).to_contain_text("Untouched:")
    assert tab.locator("#untouched del").count() or TARGET.startswith("Une ")
    tab.keyboard.type("xyzzy")  # a word that the model does not know stays as it is typed
    expect(box).to_have_value(re.compile("^Une xyzzy"))
    expect(tab.locator("#translation-mirror .held")).to_have_text("Une xyzzy")
    tab.keyboard.press("Escape")
    expect(box).to_have_value(TARGET)
    expect(tab.locator("#held")).to_be_hidden()
    put_caret(tab, 0)
    tab.keyboard.type("Une ")
    expect(tab.locator("#held")).to_be_visible()
    tab.click("#release")
    expect(box).to_have_value(TARGET)
    tab.fill("#text", SECOND_SOURCE)
    expect(box).to_have_value(SECOND)


def test_alternatives_by_mouse(tab):
    words = tab.locator("#view-first .words.target .word")
    place, name = 2, words.nth(2).inner_text()
    words.nth(place).click()
    menu, items = tab.locator("#menu"), tab.locator("#menu [role=menuitem]")
    expect(menu).to_contain_text(f"Instead of “{name}”")
    expect(items.first).to_contain_text("%")
    chosen = items.first.locator("b").inner_text()
    items.first.click()
    expect(menu).to_be_hidden()
    expect(tab.locator("#held")).to_be_visible()
    expect(words.nth(place)).to_have_text(chosen)
    expect(words.nth(place)).to_be_focused()
    assert tab.locator("#translation-mirror .held").inner_text().endswith(chosen)


def test_alternatives_by_keys(tab):
    put_caret(tab, TARGET.index(" ") + 2)
    tab.keyboard.press("Alt+ArrowDown")
    items = tab.locator("#menu [role=menuitem]")
    expect(items.first).to_be_focused()
    tab.keyboard.press("ArrowUp")
    expect(items.last).to_be_focused()
    tab.keyboard.press("Escape")
    expect(tab.locator("#menu")).to_be_hidden()
    expect(tab.locator("#translation")).to_be_focused()
    tab.keyboard.press("Alt+ArrowDown")
    expect(items.first).to_be_focused()
    chosen = items.first.locator("b").inner_text()
    tab.keyboard.press("Enter")
    expect(tab.locator("#translation-mirror .held")).to_contain_text(chosen)
    expect(tab.locator("#translation")).to_be_focused()


def test_a_click_on_a_word_of_the_text_opens_the_menu_beside_it(tab):
    tab.locator("#translation").click(position={"x": 40, "y": 28})
    expect(tab.locator("#menu [role=menuitem]").first).to_be_visible()
    expect(tab.locator("#translation")).to_be_focused()  # so that typing goes on
    tab.keyboard.press("ArrowDown")
    expect(tab.locator("#menu [role=menuitem]").first).to_be_focused()
    tab.mouse.click(5, 5)
    expect(tab.locator("#menu")).to_be_hidden()


def test_heads_switched_off_and_everything_undone(tab):
    open_maps(tab)
    for layer in ("0", "1"):
        choose(tab, "layers", layer)
        for head in ("0", "1"):
            choose(tab, "heads", head)
            tab.click("#off")
            expect(tab.locator("#off")).to_have_attribute("aria-pressed", "true")
    expect(tab.locator("#edits li")).to_have_count(4)
    expect(tab.locator("#translation")).not_to_have_value(TARGET)
    expect(tab.locator("#untouched-text")).to_have_text(TARGET)
    expect(tab.locator("#translation-mirror mark.changed").first).to_be_attached()
    expect(tab.locator("#view-first .word.changed").first).to_be_visible()
    expect(tab.locator("#now-text mark").first).to_be_visible()
    expect(tab.locator("#view-first .heads label.off")).to_have_count(2)
    mark, cells = tab.locator("#view-first .off-mark"), tab.locator("#view-first .cells")
    expect(mark).to_have_text("Head 1 is switched off")
    expect(mark).to_be_visible()
    expect(cells).to_have_attribute("aria-description", "Head 1 is switched off")
    tab.evaluate("regard.setLanguage('zh')")
    expect(mark).to_have_text("第 1 头已关闭")
    expect(tab.locator("#view-first .heads label.off")).to_have_count(2)
    tab.evaluate("regard.setLanguage('en')")
    expect(mark).to_have_text("Head 1 is switched off")
    choose(tab, "heads", "mean")
    expect(mark).to_have_text("All heads of this layer are switched off")
    tab.locator("#edits button").first.click()
    expect(tab.locator("#edits li")).to_have_count(3)
    choose(tab, "layers", "0")
    choose(tab, "heads", "0")
    expect(mark).to_be_hidden()
    choose(tab, "heads", "1")
    expect(mark).to_have_text("Head 1 is switched off")
    tab.click("#undo")
    expect(tab.locator("#translation")).to_have_value(TARGET)
    expect(tab.locator("#edits")).to_be_hidden()
    expect(tab.locator("#untouched")).to_be_hidden()
    expect(tab.locator("#view-first .word.changed")).to_have_count(0)
    expect(mark).to_be_hidden()
    expect(cells).not_to_have_attribute("aria-description", re.compile("off"))


def test_a_row_set_by_hand(tab):
    open_maps(tab)
    choose(tab, "layers", "0")
    choose(tab, "heads", "0")
    press_row(tab, 1)
    editor = tab.locator("#row")
    expect(editor).to_be_visible()
    own = editor.locator("output").all_inner_texts()
    assert len(own) == tab.evaluate("document.querySelectorAll('#row input').length")
    editor.locator("select").select_option(index=2)
    sliders, shares = editor.locator("input"), editor.locator("output")
    sliders.nth(0).focus()
    with tab.expect_request(lambda request: "overwrite" in (request.post_data or "")) as waiting:
        editor.locator(".only").last.click()
    edit = json.loads(waiting.value.post_data)["edits"][0]
    assert (edit["layer"], edit["heads"], edit["rows"]) == (None, None, [1])
    assert edit["weights"][-1] == 1 and sum(edit["weights"]) == 1
    expect(shares.last).to_have_text("100 %")
    expect(tab.locator("#edits li")).to_have_count(1)
    expect(tab.locator("#edits li")).to_contain_text("all layers and heads")
    expect(tab.locator("#untouched")).to_be_visible()
    sliders.nth(0).focus()
    for _ in range(3):
        tab.keyboard.press("PageUp")
    expect(shares.last).not_to_have_text("100 %")
    editor.locator("button", has_text="Even").click()
    expect(shares.first).to_have_text(shares.last.inner_text())
    editor.locator("button", has_text="As the model has it").click()
    expect(tab.locator("#edits")).to_be_hidden()
    expect(tab.locator("#translation")).to_have_value(TARGET)
    expect(shares.first).to_have_text(own[0])
    tab.keyboard.press("Escape")
    expect(editor).to_be_hidden()


def test_a_row_of_the_decoders_own_attention(tab):
    """It sees what was read so far, the start first; its first row has nothing to choose."""
    open_maps(tab)
    choose(tab, "kinds", "decoder")
    press_row(tab, 0)
    expect(tab.locator("#row")).to_contain_text("sees one word only")
    expect(tab.locator("#row input")).to_have_count(0)
    press_row(tab, 2)
    expect(tab.locator("#row input")).to_have_count(3)
    expect(tab.locator("#row .token").first).to_have_text("<s>")
    with tab.expect_request(lambda request: "overwrite" in (request.post_data or "")) as waiting:
        tab.locator("#row .only").first.click()
    edit = json.loads(waiting.value.post_data)["edits"][0]
    assert (edit["kind"], edit["rows"], edit["weights"]) == ("causal", [2], [1, 0, 0])
    answer = waiting.value.response().json()
    assert answer["unused"] == 0
    expect(tab.locator("#row output").first).to_have_text("100 %")


def test_what_met_no_attention_is_told(browser, server, tab):
    tokens = tab.evaluate("document.querySelectorAll('#view-first .words.source .word').length")
    row = {"kind": "cross", "layer": 0, "head": 0, "row": 45, "weights": [1] * (tokens + 1)}
    held = {"number": 0, "source": SOURCE, "prefix": "", "rows": [row]}
    link = f"#q={quote(SOURCE)}&s=en&t=fr&held={quote(json.dumps(held))}"
    with opened(browser, server.address, link) as other:
        expect(other.locator("#translation")).to_have_value(TARGET)
        expect(other.locator("#unused")).to_contain_text("met no attention")
        expect(other.locator("#untouched")).to_contain_text("the same")


def test_two_models_side_by_side(tab):
    tab.select_option("#compare", "rnn")
    expect(tab.locator("#second-who")).to_have_text("rnn")
    expect(tab.locator("#second-text")).not_to_be_empty()
    assert tab.locator("#second-text").inner_text() != TARGET
    expect(tab.locator("#second-text mark").first).to_be_attached()
    expect(tab.locator("#view-second .words.target .word").first).to_be_visible()
    open_maps(tab)
    expect(tab.locator("#view-second details")).to_have_attribute("open", "")
    choose(tab, "kinds", "encoder")  # the other has none: it stays as it is
    choose(tab, "kinds", "cross")
    expect(tab.locator("#view-second .cells")).to_have_attribute("aria-label", re.compile("^cross"))
    tab.select_option("#model", "rnn")
    expect(tab.locator("#translation")).not_to_have_value(TARGET)
    tab.select_option("#compare", "en-fr")
    expect(tab.locator("#second-text")).to_have_text(TARGET)
    put_caret(tab, 0)
    tab.keyboard.type("Une ")  # both go on from the same beginning
    expect(tab.locator("#second-text")).to_have_text(re.compile("^Une "))
    expect(tab.locator("#view-second .words.target .word").first).to_have_text("Une")
    tab.select_option("#compare", "")
    expect(tab.locator("#second")).to_be_hidden()
    expect(tab.locator("#view-second")).to_be_empty()


def test_several_sentences(tab):
    tab.fill("#text", f"{SOURCE}\n\n{SECOND_SOURCE}")
    both = f"{TARGET}\n\n{SECOND}"
    expect(tab.locator("#translation")).to_have_value(both)
    buttons = tab.locator("#sentences button")
    expect(buttons).to_have_count(2)
    buttons.nth(1).click()
    expect(tab.locator("#view-first .words.source .word").first).to_have_text(
        re.match(r"\w+", SECOND_SOURCE).group()
    )
    put_caret(tab, 3)
    tab.keyboard.press("ArrowRight")  # the sentence at the caret is looked at
    expect(buttons.nth(0)).to_have_attribute("aria-pressed", "true")
    put_caret(tab, len(TARGET) + 2)
    tab.keyboard.type("Une ")
    expect(tab.locator("#translation-mirror .held")).to_have_text("Une ")
    assert tab.locator("#translation").input_value().startswith(f"{TARGET}\n\nUne ")
    expect(buttons.nth(1)).to_have_attribute("aria-pressed", "true")
    tab.fill("#text", f"{SECOND_SOURCE}\n\n{SOURCE}")  # the beginning goes with its sentence
    expect(tab.locator("#translation")).to_have_value(re.compile(rf"^Une .*\n\n{TARGET}$"))
    tab.click("#undo")
    expect(tab.locator("#translation")).to_have_value(f"{SECOND}\n\n{TARGET}")
    expect(tab.locator("#held")).to_be_hidden()
    tab.fill("#text", f"{SOURCE} " * 13)
    many = tab.locator("#sentences select")
    many.select_option("12")
    expect(many.locator("option:checked")).to_have_text("Sentence 13 of 13")
    expect(tab.locator("#sentences button").last).to_be_disabled()
    tab.locator("#sentences button").first.click()
    expect(many).to_have_value("11")
