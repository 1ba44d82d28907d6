"""The page in a notebook: a frame of its own, in a real browser."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import expect

from regard.errors import InputError
from regard.views import HeadMaps, Page, SentenceView, show
from regard.views.html.notebook import MAX_HEIGHT, MAX_NOTEBOOK_BYTES, WIDTH, frame

BAD = '"><img src=x onerror=parent.bad=1><script>parent.bad=1</script>'


def srcdoc(text):
    (found,) = re.findall(r'srcdoc="([^"]*)"', text)
    return html.unescape(found)


def test_frame_holds_the_escaped_page(french):
    page = Page(f"A {BAD}", (french,), {"seconds": 3, BAD: BAD})
    shown = page._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts" ') and shown.endswith("</iframe>")
    assert shown.count("<") == shown.count(">") == 2  # only its own tags
    assert srcdoc(shown) == page.html
    assert "<img" not in frame("<p>", BAD, 3)


def test_height_depends_on_the_content(french, chinese):
    without = SentenceView(*(("a",) for _ in range(4)))
    assert (
        Page("", (without,)).height == Page("", (without, without)).height
    )  # they are side by side
    assert Page("", (without,)).height < Page("", (without,), {"a": 1}).height
    assert Page("", (without,)).height < Page("", (french,)).height
    assert Page("", ((french, chinese),) * 9).height <= MAX_HEIGHT
    assert Page("", ()).height > 0


def test_notebook_page_is_smaller_than_a_file():
    tokens, rng = tuple(f"▁{n}" for n in range(500)), np.random.default_rng(0)
    weights = rng.random((8, 500, 500), np.float32) / 250
    maps = tuple(HeadMaps("encoder", n, tuple(range(8)), weights, tokens, tokens) for n in (0, 1))
    page = Page("long", (SentenceView(tokens, (), tokens, (), maps=maps),))
    assert len(page.html) > 2 * MAX_NOTEBOOK_BYTES
    assert MAX_NOTEBOOK_BYTES / 4 < len(srcdoc(page._repr_html_())) <= MAX_NOTEBOOK_BYTES


def test_saving(french, tmp_path):
    page = Page("Title", (french,))
    assert page.save(str(tmp_path / "a.html")).read_text("utf-8") == page.html
    with pytest.raises(InputError, match="there is no folder"):
        page.save(tmp_path / "none" / "a.html")
    assert repr(Page("Title", (french, french))) == "Page('Title', 2 texts)"


@pytest.mark.needs("chromium")
def test_in_a_browser(browser, french, tmp_path):
    foreign = show([np.full((1, 2, 3, 3), 1 / 3)], ["[CLS]", BAD, "[SEP]"], title=BAD)
    file = tmp_path / "notebook.html"
    frames = Page("A run", (french,))._repr_html_() + foreign._repr_html_()
    file.write_text(f"<!doctype html><meta charset=utf-8><body>{frames}", "utf-8")
    errors = []
    tab = browser.new_page(viewport={"width": 1000, "height": 2400})
    tab.on("console", lambda message: errors.append(message.text))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(file.as_uri())
    first, second = (tab.frame_locator("iframe").nth(n) for n in (0, 1))
    first.locator(".words.target .word").nth(5).hover()
    readout = first.locator(".readout").first
    expect(readout).to_contain_text("traversé")
    expect(readout).to_contain_text("cross")
    expect(second.locator(".words.source")).to_contain_text(BAD)
    assert tab.evaluate("window.bad") is None
    plain = replace(french, maps=(), alignment_head=None)
    for entries in ((french,), (plain,), (plain, plain), *((page,) for page in foreign.entries)):
        page = Page("A run", entries)
        tab.set_viewport_size({"width": WIDTH, "height": page.height})  # as a notebook's frame
        tab.goto(page.save(tmp_path / "page.html").as_uri())
        tab.locator(".word").first.hover()
        for _ in range(50):  # until the maps are laid out
            needed = tab.evaluate("document.body.getBoundingClientRect().height")
            if 0.85 * needed <= page.height <= 1.25 * needed:
                break
            tab.wait_for_timeout(100)
        assert 0.85 * needed <= page.height <= 1.25 * needed
    assert errors == []
