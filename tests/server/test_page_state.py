"""The page's edits stay: when the text changes, in several sentences, beside unknown words."""

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
    with serving(Catalogue([str(trained("en-fr", tmp_path_factory))], threads=1)) as one:
        yield one


@pytest.fixture
def tab(browser, server):
    """The page with two sentences translated."""
    with opened(browser, server.address, viewport={"width": 1280, "height": 1000}) as one:
        one.fill("#text", f"{SOURCE}\n\n{SECOND_SOURCE}")
        expect(one.locator("#translation")).to_have_value(f"{TARGET}\n\n{SECOND}")
        expect(one.locator("#hold")).to_be_visible()
        yield one


def put_caret(tab, place):
    tab.locator("#translation").focus()
    tab.evaluate(f"document.getElementById('translation').setSelectionRange({place}, {place})")


def hold_both(tab):
    """Both sentences begin with a word of ours."""
    put_caret(tab, 0)
    tab.keyboard.type("Une ")
    expect(tab.locator("#translation-mirror .held")).to_have_count(1)
    value = tab.locator("#translation").input_value()
    put_caret(tab, value.index("\n\n") + 2)
    tab.keyboard.type("Des ")
    expect(tab.locator("#translation-mirror .held")).to_have_text(["Une ", "Des "])


def test_several_sentences_are_held_and_a_link_has_them_all(browser, server, tab):
    hold_both(tab)
    edits = tab.locator("#edits li")
    expect(edits).to_contain_text(
        ["Sentence 1: begins with “Une”", "Sentence 2: begins with “Des”"]
    )
    expect(tab.locator("#translation")).to_have_value(re.compile("^Une .*\n\nDes "))
    both = tab.locator("#translation").input_value()
    tab.click("#share")
    fragment = tab.url[len(server.address) + 1 :]
    with opened(browser, server.address, fragment) as other:
        expect(other.locator("#translation")).to_have_value(both)
        expect(other.locator("#edits li")).to_have_count(2)
    edits.first.locator("button").focus()
    tab.keyboard.press("Enter")
    expect(edits).to_have_count(1)
    expect(edits.first.locator("button")).to_be_focused()
    expect(tab.locator("#translation")).to_have_value(re.compile(f"^{TARGET}\n\nDes "))
    tab.click("#undo")
    expect(tab.locator("#translation")).to_have_value(f"{TARGET}\n\n{SECOND}")
    expect(edits).to_have_count(0)


def test_what_is_held_waits_for_its_sentence(tab):
    hold_both(tab)
    both = tab.locator("#translation").input_value()
    tab.fill("#text", SOURCE)
    expect(tab.locator("#translation")).to_have_value(both.partition("\n\n")[0])
    expect(tab.locator("#gone")).to_be_visible()
    tab.fill("#text", f"{SECOND_SOURCE}\n\n{SOURCE}")
    first, _, second = both.partition("\n\n")
    expect(tab.locator("#translation")).to_have_value(f"{second}\n\n{first}")
    expect(tab.locator("#gone")).to_be_hidden()
    tab.fill("#text", SOURCE)
    tab.click("#forget")
    expect(tab.locator("#gone")).to_be_hidden()
    tab.fill("#text", SECOND_SOURCE)
    expect(tab.locator("#translation")).to_have_value(SECOND)
    expect(tab.locator("#gone")).to_be_visible()


def test_an_unknown_word_survives_the_choice_of_another(tab):
    put_caret(tab, 0)
    tab.keyboard.type("Zaphod ")
    expect(tab.locator("#translation-mirror .held")).to_have_text("Zaphod ")
    words = tab.locator("#view-first .words.target .word")
    expect(words.first).not_to_have_text(TARGET.split()[0])
    expect(words.first).not_to_have_class(re.compile("changed"))
    words.last.click() if words.count() < 3 else words.nth(2).click()
    items = tab.locator("#menu [role=menuitem]")
    expect(items.first).to_be_visible()
    told = re.search("“(.*)”", tab.locator("#menu").inner_text()).group(1)
    assert told not in items.locator("b").all_inner_texts()
    items.first.click()
    expect(tab.locator("#translation-mirror .held").first).to_have_text(re.compile("^Zaphod ."))
    expect(tab.locator("#translation")).to_have_value(re.compile("^Zaphod "))
    put_caret(tab, 3)
    tab.keyboard.press("Control+z")
    expect(tab.locator("#translation-mirror .held")).to_have_text("Zaphod ")


def test_the_menu_goes_with_its_word(tab):
    words, menu = tab.locator("#view-first .words.target .word"), tab.locator("#menu")
    words.nth(1).click()
    expect(menu).to_be_visible()
    tab.locator("#copy").focus()
    expect(menu).to_be_hidden()
    words.nth(1).click()
    expect(tab.locator("#menu [role=menuitem]").first).to_be_visible()
    tab.evaluate("""() => {
      const text = document.getElementById("text");
      text.value = "";
      text.dispatchEvent(new InputEvent("input"));
    }""")
    expect(menu).to_be_hidden()


def test_an_answer_does_not_break_into_a_composition(tab):
    put_caret(tab, 0)
    keys = tab.context.new_cdp_session(tab)
    keys.send("Input.imeSetComposition", {"text": "Un", "selectionStart": 2, "selectionEnd": 2})
    tab.evaluate(
        """(text) => {
      const box = document.getElementById("text");
      box.value = text;
      box.dispatchEvent(new InputEvent("input"));
    }""",
        f"{SOURCE}\n\n{SOURCE}",
    )
    tab.wait_for_timeout(1500)
    expect(tab.locator("#translation")).to_have_value(f"Un{TARGET}\n\n{SECOND}")
    keys.send("Input.insertText", {"text": "Une "})
    expect(tab.locator("#translation-mirror .held")).to_have_text("Une ")
    expect(tab.locator("#translation")).to_have_value(re.compile(f"^Une .*\n\n{TARGET}$"))


def test_what_does_not_fit_can_be_undone(browser, server, tab):
    row = {"kind": "cross", "layer": 0, "head": 0, "row": 1, "weights": [1, 2]}
    held = {"number": 0, "source": SOURCE, "prefix": "", "rows": [row]}
    link = f"#q={quote(SOURCE)}&s=en&t=fr&held={quote(json.dumps(held))}"
    with opened(browser, server.address, link) as other:
        expect(other.locator("#notice")).to_contain_text("The server says")
        expect(other.locator("#source")).to_have_value("en")
        other.click("#notice-undo")
        expect(other.locator("#translation")).to_have_value(TARGET)
        expect(other.locator("#notice")).to_be_hidden()
        expect(other.locator("#text")).to_be_focused()
    put_caret(tab, 0)
    tab.keyboard.insert_text("Une artiste " * 100)
    expect(tab.locator("#notice")).to_contain_text("The beginning you typed is longer")
    tab.click("#notice-undo")
    expect(tab.locator("#translation")).to_have_value(f"{TARGET}\n\n{SECOND}")


def test_a_server_that_has_other_models_by_now(browser, tmp_path_factory):
    catalogue = Catalogue([str(trained("en-fr", tmp_path_factory))], threads=1)
    other = Catalogue([str(trained("en-zh", tmp_path_factory))], threads=1)
    with (
        serving(other, cors=("*",)) as after,
        serving(catalogue) as before,
        opened(browser, before.address) as tab,
    ):
        tab.fill("#text", SOURCE)
        expect(tab.locator("#translation")).to_have_value(TARGET)

        def elsewhere(route):
            path = route.request.url.removeprefix(before.address)
            route.fulfill(response=route.fetch(url=f"{after.address}{path}"))

        tab.route("**/*", elsewhere)
        tab.fill("#text", SECOND_SOURCE)
        expect(tab.locator("#target")).to_have_value("zh")
        expect(tab.locator("#translation")).not_to_have_value("")
        expect(tab.locator("#notice")).to_be_hidden()
        expect(tab.locator("#look")).to_be_visible()
        tab.unroute_all(behavior="wait")


def test_the_text_can_be_undone(tab):
    before = tab.locator("#text").input_value()
    tab.click("#clear")
    expect(tab.locator("#translation")).to_have_value("")
    tab.keyboard.press("Control+z")
    expect(tab.locator("#text")).to_have_value(before)
    expect(tab.locator("#translation")).to_have_value(f"{TARGET}\n\n{SECOND}")


def test_a_glossary_is_typed_and_kept(browser, server, tab):
    other = next(w for _, text in FRENCH[2:] for w in text.split() if w.isalpha() and len(w) > 5)
    word = SOURCE.split()[1]
    assert other not in tab.locator("#translation").input_value()
    tab.click("#terms summary")
    tab.fill("#terms-text", f"# terms\n{word} = {other}\nwithout a translation")
    expect(tab.locator("#translation")).to_have_value(re.compile(other))
    expect(tab.locator("#terms-said")).to_contain_text("without a translation")
    tab.reload()
    tab.fill("#text", SOURCE)
    expect(tab.locator("#translation")).to_have_value(re.compile(other))
    tab.click("#terms summary")
    tab.fill("#terms-text", "")
    expect(tab.locator("#translation")).to_have_value(TARGET)
