"""Debian's Chromium, driven by tests that are marked `needs("chromium")`."""

from contextlib import contextmanager

from requirements import CHROMIUM

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
