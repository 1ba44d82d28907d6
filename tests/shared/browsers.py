"""Debian's Chromium, driven by tests that are marked `needs("chromium")`; stages in it."""

import re
from contextlib import contextmanager

from requirements import AXE, CHROMIUM

QUIET = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--disable-sync"
)


@contextmanager
def chromium():
    """A browser; what tests expect of a page may take a while where others are at work."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=20_000)
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        yield browser
        browser.close()


def settled(tab):
    """Wait until the stage is drawn."""
    tab.evaluate("""async () => {
      const frame = () => new Promise(requestAnimationFrame);
      do { await frame(); } while (document.querySelector("[aria-busy]"));
    }""")


def press(tab, *keys):
    for key in keys:
        tab.keyboard.press(key)
        settled(tab)


def stage(tab):
    return tab.locator(".stage h2").inner_text(), tab.locator(".place").inner_text()


def count(tab):
    return [int(n) for n in re.findall(r"\d+", tab.locator(".count").inner_text())]


WALK = """async ([name, side, keys]) => {
  const text = (selector) => document.querySelector(selector).textContent, seen = [];
  const press = async (key) => {
    const event = new KeyboardEvent("keydown", { key, bubbles: true });
    document.querySelector(keys).dispatchEvent(event);
    while (document.querySelector("[aria-busy]")) await new Promise((done) => setTimeout(done));
  };
  await press("Home");
  for (;;) {
    const stage = [".stage h2", ".place", ".equation", ".picture"].map(text);
    const before = text(".count");
    seen.push(stage);
    if (stage[0] === name && stage[1].startsWith(side)) return seen;
    await press("ArrowRight");
    if (text(".count") === before) return seen;
  }
}"""


def walk(tab, name="", side="", keys="body"):
    """Go on with the arrow key from the first stage to one of that name, or to the end.

    Returns title, place, equation and text of each; the keys are pressed within the page, which
    is much faster than from here.
    """
    seen = tab.evaluate(WALK, [name, side, keys])
    settled(tab)
    assert name in ("", stage(tab)[0])
    return seen


def axe(tab):
    tab.evaluate(AXE.read_text("utf-8"))
    found = tab.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found]
