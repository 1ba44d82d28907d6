"""The page at / in a browser: typing, languages, links, files, hostile strings."""

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from pages import BAD, opened
from regard.server.page.page import page_files
from regard.server.queue.catalogue import Catalogue
from requirements import AXE
from servers import serving
from trained import taught, trained

pytestmark = pytest.mark.needs("chromium")

FRENCH, CHINESE = taught("en-fr"), taught("en-zh")
SOURCE, TARGET = FRENCH[0]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Models one of whose names is markup, and one that says it translates back."""
    root = tmp_path_factory.mktemp("hostile")
    folder, back = root / BAD.replace("/", ""), root / "back"
    for copied in (folder, back):
        shutil.copytree(trained("rnn", tmp_path_factory), copied)
    settings = back / "config.yaml"
    settings.write_text(settings.read_text("utf-8").replace("en-fr", "fr-en"), "utf-8")
    own = [trained(name, tmp_path_factory) for name in ("en-fr", "en-zh")]
    return Catalogue([str(one) for one in (*own, folder, back)], threads=1)


@pytest.fixture(scope="module")
def address(hostile):
    with serving(hostile) as one:
        yield one.address


@pytest.fixture
def tab(browser, address):
    with opened(browser, address) as one:
        expect(one.locator("#target option")).not_to_have_count(0)  # it knows what the server can
        yield one


def translation(tab):
    return tab.locator("#translation")


def test_the_files_and_their_headers(client):
    answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy
    assert "unsafe" not in policy and "http" not in policy
    assert " style=" not in answer.text and "<script>" not in answer.text
    for name, kind in (
        ("main.js", "text/javascript"),
        ("view.js", "text/javascript"),
        ("styles/page.css", "text/css"),
        ("icon.svg", "image/svg+xml"),
    ):
        part = client.get(f"/page/{name}")
        assert part.headers["content-type"].startswith(kind)
        assert part.headers["x-content-type-options"] == "nosniff"
        again = client.get(f"/page/{name}", headers={"if-none-match": part.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert client.get(f"/page/{name}", headers={"if-none-match": '"x"'}).status_code == 200
    assert client.head("/").status_code == 200
    scripts = set(re.findall(r'href="page/([\w/]+\.js)"', answer.text)) | {"main.js", "view.js"}
    assert {name for name in page_files() if name.endswith(".js")} == scripts  # all fetched at once
    for name in ("index.html", "../page.py", "%2e%2e/page.py", "nothing.js"):
        assert client.get(f"/page/{name}").status_code == 404


def test_the_translation_appears_while_typing(tab):
    expect(tab.locator("#intro")).to_be_visible()
    tab.locator("#text").press_sequentially(SOURCE, delay=5)
    expect(translation(tab)).to_have_value(TARGET)
    expect(tab.locator("#detected")).to_contain_text("English detected")
    expect(tab.locator("#count")).to_have_text(f"{len(SOURCE)} of 20,000 characters")
    expect(tab.locator("#look")).to_be_visible()
    expect(tab.locator("#said")).to_have_text(TARGET)  # for screen readers, when it is done
    expect(tab.locator("#intro")).to_be_hidden()
    tab.click("#clear")
    expect(translation(tab)).to_have_value("")
    expect(tab.locator("#look")).to_be_hidden()
    tab.click("#example")
    expect(translation(tab)).not_to_have_value("")


def test_languages_and_models(tab):
    tab.fill("#text", SOURCE)
    expect(translation(tab)).to_have_value(TARGET)
    expect(tab.locator("#model")).to_be_visible()
    tab.click("#swap")
    expect(tab.locator("#source")).to_have_value("fr")
    expect(tab.locator("#target")).to_have_value("en")
    expect(tab.locator("#text")).to_have_value(TARGET)
    expect(tab.locator("#view-first .words.target")).to_have_attribute("lang", "en")
    tab.select_option("#source", "auto")
    tab.select_option("#target", "zh")
    expect(tab.locator("#swap")).to_be_disabled()  # nobody translates back
    tab.fill("#text", CHINESE[0][0])
    expect(translation(tab)).to_have_value(CHINESE[0][1])
    expect(translation(tab)).to_have_attribute("lang", "zh")
    expect(tab.locator("#model")).to_be_hidden()  # there is but one
    tab.select_option("#source", "en")
    expect(tab.locator("#detected")).to_have_text("")
    expect(translation(tab)).to_have_value(CHINESE[0][1])


def test_copying_and_a_link_that_brings_everything_back(browser, address):
    rights = {"permissions": ["clipboard-read", "clipboard-write"]}
    with opened(browser, address, **rights) as tab:
        tab.fill("#text", SOURCE)
        expect(translation(tab)).to_have_value(TARGET)
        tab.click("#copy")
        expect(tab.locator("#copy")).to_have_text("Copied")
        assert tab.evaluate("navigator.clipboard.readText()") == TARGET
        assert "#" not in tab.url  # nothing of the text stays in the history unasked
        tab.select_option("#compare", index=1)
        expect(tab.locator("#second")).to_be_visible()
        tab.locator("#view-first summary").click()
        tab.locator("#view-first .heads label").nth(2).click()
        tab.click("#off")
        expect(tab.locator("#edits li")).to_have_count(1)
        tab.click("#share")
        expect(tab.locator("#share")).to_have_text("Link copied")
        link = tab.evaluate("navigator.clipboard.readText()")
        shown = translation(tab).input_value()
        assert link == tab.url and SOURCE.split()[1] in link.partition("#")[2]
    with opened(browser, address, link[len(address) + 1 :]) as tab:
        expect(translation(tab)).to_have_value(shown)
        expect(tab.locator("#text")).to_have_value(SOURCE)
        expect(tab.locator("#edits li")).to_have_count(1)
        expect(tab.locator("#second")).to_be_visible()
        expect(tab.locator("#view-first details")).to_have_attribute("open", "")
        expect(tab.locator("#view-first .heads input:checked")).to_have_value("1")
        tab.fill("#text", FRENCH[1][0])
        expect(tab).to_have_url(f"{address}/")


GARBAGE = (
    "#",
    "#%",
    "#q=%E0%A4%A&t=fr",
    f"#q={BAD}&s={BAD}&t={BAD}&m={BAD}&c={BAD}&off={BAD}&held={BAD}&n={BAD}&map={BAD}",
    '#q=x&off=[{"kind":"cross","layer":-1,"head":"0"}]&held={"number":0}&n=1e9&map={"kind":1}',
    '#q=x&held={"number":0,"source":"x","prefix":"","rows":[{"kind":"cross","layer":0,"head":0,'
    '"row":1,"weights":[0,0]}]}&off=[null]',
    "#q=" + "x" * 200_000,
)


def test_links_of_garbage(tab, address):
    for fragment in GARBAGE:
        tab.goto("about:blank")
        tab.goto(f"{address}/{fragment}")
        expect(tab.locator("#target option")).not_to_have_count(0)
        tab.fill("#text", SOURCE)
        tab.select_option("#target", "fr")
        expect(translation(tab)).to_have_value(TARGET)


def test_hostile_strings_are_text(browser, address):
    name = BAD.replace("/", "")
    with opened(browser, address) as tab:
        expect(tab.locator("#model option", has_text=name)).to_have_count(1)
        tab.fill("#text", f"{BAD}</textarea></script><svg onload=window.bad=1> {SOURCE}")
        expect(tab.locator("#look")).to_be_visible()
        expect(tab.locator("#view-first .words.source")).to_contain_text("onerror")
        tab.select_option("#compare", name)
        expect(tab.locator("#second-who")).to_have_text(name)
        expect(tab.locator("#second-view-title")).to_have_text(name)
        tab.click("#translation")
        tab.keyboard.press("End")
        tab.keyboard.type(f" {BAD}")
        expect(tab.locator("#held")).to_be_visible()
        assert BAD in translation(tab).input_value()
        assert tab.locator("img, svg[onload]").count() == 0


def test_a_file_and_its_hostile_name(tab, tmp_path):
    path = tmp_path / BAD.replace("/", "")
    files = [{"name": f"{path.name}.txt", "mimeType": "text/plain", "buffer": SOURCE.encode()}]
    tab.set_input_files("#file", files)
    link = tab.locator("#file-note a")
    expect(link).to_contain_text(path.name)
    with tab.expect_download() as waiting:
        link.click()
    assert Path(waiting.value.path()).read_text("utf-8") == TARGET
    tab.set_input_files("#file", [{**files[0], "name": "x.exe"}])
    expect(tab.locator("#file-note")).to_contain_text(".txt")
    expect(tab.locator("#file-note a")).to_have_count(0)


DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, {type: "text/plain"}));
  const drop = new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer: data});
  document.getElementById("drop").dispatchEvent(drop);
}"""


def test_a_dropped_file(tab):
    expect(tab.locator("#target option")).not_to_have_count(0)
    tab.evaluate(DROP, ["a.txt", SOURCE])
    expect(tab.locator("#file-note a")).to_be_visible()


def test_on_a_phone_nothing_is_wider_than_the_screen(browser, address):
    with opened(browser, address, viewport={"width": 390, "height": 800}) as tab:
        width = "document.documentElement.scrollWidth"
        assert tab.evaluate(width) <= 390
        tab.fill("#text", f"{SOURCE} {'x' * 200} {FRENCH[1][0]}")
        tab.select_option("#compare", index=1)
        expect(tab.locator("#second")).to_be_visible()
        expect(tab.locator("#view-second details")).to_be_visible()
        tab.locator("#view-first summary").click()
        expect(tab.locator("#hold")).to_be_visible()
        assert tab.evaluate(width) <= 390
        tab.click("#settings")
        expect(tab.locator("#dialog")).to_be_visible()
        assert tab.evaluate(width) <= 390


def test_in_chinese_and_in_the_dark(tab):
    tab.click("#tongue")
    expect(tab.locator("html")).to_have_attribute("lang", "zh")
    expect(tab.locator("#share")).to_have_text("分享链接")
    expect(tab.locator("#target option:checked")).to_have_text("法语")
    tab.fill("#text", SOURCE)
    expect(translation(tab)).to_have_value(TARGET)
    tab.locator("#view-first summary").click()
    expect(tab.locator("#hold-hint")).to_contain_text("头")
    expect(tab.locator("#detected")).to_contain_text("英语")
    visible = tab.locator("body").inner_text()
    assert "page." not in visible and "{" not in visible
    latin = {"regard", SOURCE, TARGET, "English", "API"}
    for name in ("#settings", "#undo", "#hold-title", "#look-title", "#copy", "#clear"):
        assert tab.locator(name).text_content() not in latin
        assert not tab.locator(name).text_content().isascii()
    tab.click("#settings")
    tab.locator("input[name=theme][value=dark]").check()
    tab.keyboard.press("Escape")
    tab.reload()
    expect(tab.locator("html")).to_have_attribute("lang", "zh")
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, ground[4:-1].split(","))) < 60


def test_by_keyboard_alone(tab):
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "text"
    tab.keyboard.type(SOURCE)
    expect(translation(tab)).to_have_value(TARGET)
    expect(tab.locator("#look")).to_be_visible()
    seen = []
    for _ in range(10):
        tab.keyboard.press("Tab")
        seen.append(tab.evaluate("document.activeElement.id || document.activeElement.className"))
    assert [one for one in seen if one in ("translation", "copy")] == ["translation", "copy"]
    assert any("word" in one for one in seen)
    widths = "getComputedStyle(document.activeElement).outlineWidth"
    assert float(tab.evaluate(widths).removesuffix("px")) >= 2


def test_changes_between_translations(tab):
    found = tab.evaluate(
        """async () => {
          const { diffWords, wordSpans } = await import("/page/state/word_diff.js");
          const { withPrefix, restoreTyped } = await import("/page/requests/translations.js");
          return [
            diffWords(["a", "b", "c"], ["a", "x", "c", "d"]), diffWords([], ["a"]),
            wordSpans("l'a b", ["l'", "a", "zz", "b"]),
            withPrefix("Le ", "Le chat.", 2), withPrefix("Le xyz ", "Le ⁇ dort.", 4),
            withPrefix("", "Oui", 0),
            restoreTyped("⁇ a", "Zaphod ", "⁇ est", 1),
            restoreTyped("⁇ les", "Zaphod le ", "⁇ le chat", 4),
            restoreTyped("Le chien", "Le ", "Le chat", 2),
          ];
        }"""
    )
    assert found[0] == {"removed": [False, True, False], "added": [False, True, False, True]}
    assert found[1] == {"removed": [], "added": [True]}
    assert found[2] == [[0, 2], [2, 3], [3, 3], [4, 5]]
    assert found[3:6] == ["Le chat.", "Le xyz dort.", "Oui"]
    assert found[6:] == ["Zaphod a", "Zaphod les", "Le chien"]


@pytest.mark.needs("axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, address, scheme):
    code = AXE.read_text("utf-8")
    with opened(browser, address, color_scheme=scheme) as tab:

        def check():
            tab.evaluate(code)
            found = tab.evaluate("axe.run().then((all) => all.violations)")
            told = [(one["id"], one["impact"], one["nodes"][0]["target"]) for one in found]
            assert told == []

        expect(tab.locator("#target option")).not_to_have_count(0)
        check()
        tab.fill("#text", f"{SOURCE} {FRENCH[1][0]}")
        expect(tab.locator("#look")).to_be_visible()
        tab.locator("#view-first summary").click()
        tab.locator("#view-first .heads label").nth(1).click()
        tab.click("#off")
        expect(tab.locator("#edits li")).to_have_count(1)
        cells = tab.locator("#view-first .cells")
        cells.click(position={"x": cells.bounding_box()["width"] / 2, "y": 150})
        expect(tab.locator("#row")).to_be_visible()
        tab.locator("#row .only").nth(0).click()
        tab.select_option("#compare", index=1)
        expect(tab.locator("#second")).to_be_visible()
        tab.wait_for_timeout(300)
        check()
        tab.locator("#view-first .words.target .word").nth(1).click()
        expect(tab.locator("#menu [role=menuitem]").first).to_be_visible()
        check()
        tab.keyboard.press("Escape")
        tab.click("#settings")
        check()
