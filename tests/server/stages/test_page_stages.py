"""The stages on the page: a word's way through the model, and writing word by word."""

import pytest
from playwright.sync_api import expect

from browsers import axe, count, settled, stage, walk
from pages import BAD, opened
from regard.tasks import tracing
from trained import taught

pytestmark = pytest.mark.needs("chromium")

SOURCE, TARGET = taught("en-fr")[0]
OTHER = taught("en-fr")[1][0]
KEYS = "#follow-close"


@pytest.fixture
def tab(browser, client):
    with opened(browser, client.address) as one:
        expect(one.locator("#target option")).not_to_have_count(0)
        one.fill("#text", SOURCE)
        expect(one.locator("#follow")).to_be_visible()
        yield one


def drawn(tab, part=".picture > *"):
    expect(tab.locator(part).first).to_be_visible()
    settled(tab)


@pytest.mark.needs("axe-core")
def test_every_stage_by_keyboard(tab):
    tab.locator("#follow-stages").press("Enter")
    drawn(tab)
    assert tab.evaluate("document.activeElement.dataset.go") == "next"
    tab.keyboard.press("ArrowRight")
    settled(tab)
    assert count(tab)[0] == 2
    seen = walk(tab, keys=KEYS)
    assert len(seen) == count(tab)[1] and stage(tab)[0] == "word"
    assert all(equation and picture for *_, equation, picture in seen)
    assert not any("could not be read" in picture for *_, picture in seen)
    walk(tab, "raw scores", "Decoder", KEYS)
    assert axe(tab) == []
    tab.fill("#text", OTHER)  # the stage stays, of another sentence
    expect(tab.locator(".choose")).to_contain_text(OTHER.split()[1])
    drawn(tab)
    assert stage(tab)[0] == "raw scores"
    tab.locator(KEYS).press("Enter")
    expect(tab.locator(".stage")).to_have_count(0)
    assert tab.evaluate("document.activeElement.id") == "follow-stages"


def test_another_model(tab):
    tab.select_option("#model", "rnn")
    tab.click("#follow-stages")
    drawn(tab)
    assert walk(tab, "energies", keys=KEYS)
    tab.click("#clear")
    expect(tab.locator("#follow")).to_be_hidden()


@pytest.mark.needs("axe-core")
def test_writing_word_by_word(tab):
    words = tab.locator(".next-word")
    tab.locator("#follow-words").press("Enter")
    drawn(tab, ".next-word")
    assert stage(tab)[0] == "probabilities" and words.count() == 10
    expect(tab.locator("#follow-now")).to_be_hidden()
    first = words.first.locator(".name").inner_text()
    assert TARGET.startswith(first)
    words.first.click()  # what is written there anyway: nothing is asked
    expect(tab.locator(".so-far")).to_have_text(f"<s>{first}?")
    other = words.nth(1).locator(".name").inner_text()
    words.nth(1).focus()
    tab.keyboard.press("Enter")
    expect(tab.locator("#follow-now")).to_be_visible()
    expect(tab.locator("#follow-text")).to_contain_text(f"{first} {other}")
    drawn(tab, ".next-word")
    expect(tab.locator(".so-far")).to_have_text(f"<s>{first}{other}?")
    assert tab.evaluate("document.activeElement.className") == "next-word"
    assert axe(tab) == []
    tab.locator(".temperature input").fill("29")
    assert words.count() == 10
    tab.click("#follow-again")
    expect(tab.locator("#follow-now")).to_be_hidden()
    expect(tab.locator(".so-far")).to_have_text("<s>?")


def test_what_is_refused_is_told(tab, monkeypatch):
    monkeypatch.setattr(tracing, "MAX_TOKENS", 3)
    tab.fill("#text", f"{SOURCE[:-1]} {BAD}")
    expect(tab.locator("#view-first")).to_contain_text("onerror")
    tab.click("#follow-stages")
    expect(tab.locator("#follow-said")).to_contain_text("tokens, too many to show every number")
    expect(tab.locator(".stage")).to_have_count(0)
    monkeypatch.undo()
    tab.click("#follow-stages")
    drawn(tab)
    assert tab.locator("#follow img").count() == 0
