"""Debian's Chromium, driven by tests; where there is none, they are skipped and say so."""

import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--disable-sync"
)
NO_BROWSER = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on the path (Debian: apt-get install chromium)"
)


@contextmanager
def chromium():
    """A browser; what tests expect of a page may take a while where others are at work."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    playwright.expect.set_options(timeout=20_000)
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        yield browser
        browser.close()
