"""Errors on the page: keys, a full queue, limits, no server, no storage."""

import pytest
from playwright.sync_api import expect

from pages import opened
from regard.server.access.keys import make_key, read_keys
from servers import held_up, serving
from trained import taught

pytestmark = pytest.mark.needs("chromium")

FRENCH = taught("en-fr")
SOURCE, TARGET = FRENCH[0]


def translation(tab):
    return tab.locator("#translation")


def test_a_key_is_asked_for_and_stays_in_the_tab(browser, catalogue, tmp_path):
    secret = make_key(tmp_path / "keys", "someone")
    keys = read_keys(tmp_path / "keys")
    wanted = {"key_required": True}
    with serving(catalogue, keys, **wanted) as server, opened(browser, server.address) as tab:
        expect(tab.locator("#key")).to_be_focused()  # asked for at once, before anybody types
        expect(tab.locator("#key-said")).to_contain_text("wants an API key")
        tab.keyboard.press("Escape")
        tab.locator("#text").press_sequentially(SOURCE, delay=30)
        expect(tab.locator("#notice")).to_contain_text("API key")
        expect(tab.locator("#text")).to_have_value(SOURCE)  # and never while somebody does
        expect(tab.locator("#text")).to_be_focused()
        tab.click("#notice-key")
        expect(tab.locator("#key")).to_be_focused()
        tab.fill("#key", "wrong")
        tab.keyboard.press("Enter")
        expect(tab.locator("#notice")).to_contain_text("Invalid API key")
        expect(tab.locator("#dialog")).to_be_hidden()
        tab.click("#notice-key")
        expect(tab.locator("#key-said")).to_contain_text("Invalid API key")
        tab.fill("#key", secret)
        tab.keyboard.press("Enter")
        expect(translation(tab)).to_have_value(TARGET)
        expect(tab.locator("#notice")).to_be_hidden()
        assert secret not in tab.evaluate("JSON.stringify(localStorage)")
        tab.click("#share")
        assert secret not in tab.url


def test_a_busy_server_is_asked_again(browser, catalogue):
    with serving(catalogue, waiting=1) as server, opened(browser, server.address) as tab:
        expect(tab.locator("#target option")).not_to_have_count(0)
        with held_up(server.service.batcher):
            tab.fill("#text", SOURCE)
            expect(tab.locator("#notice")).to_contain_text("busy; asking again in 1 s")
        expect(translation(tab)).to_have_value(TARGET)
        expect(tab.locator("#notice")).to_be_hidden()
        go = []

        def busy_once(route):
            """The maps alone meet a busy server."""
            if '"maps":true' in route.request.post_data and not go:
                go.append(1)
                route.fulfill(status=503, headers={"Retry-After": "1"}, json={"error": "busy"})
            else:
                route.continue_()

        tab.route("**/v1/view", busy_once)
        tab.fill("#text", FRENCH[1][0])
        expect(tab.locator("#notice")).to_contain_text("busy")
        expect(tab.locator("#notice")).to_be_hidden()


def test_without_a_place_to_keep_anything(browser, client):
    """A browser that blocks a site's data throws where it is asked for."""
    blocked = """for (const name of ["sessionStorage", "localStorage"])
      Object.defineProperty(window, name, {
        get() { throw new DOMException("", "SecurityError"); },
      });
    """
    with opened(browser, client.address) as tab:
        tab.add_init_script(blocked)
        tab.reload()
        tab.fill("#text", SOURCE)
        expect(translation(tab)).to_have_value(TARGET)


def test_limits_and_a_server_out_of_reach(browser, catalogue):
    limits = {"characters": len(SOURCE), "rate": 7}
    with serving(catalogue, **limits) as server, opened(browser, server.address) as tab:
        tab.fill("#text", f"{SOURCE}!!")
        expect(tab.locator("#notice")).to_contain_text("too long")
        tab.context.set_offline(True)
        tab.fill("#text", SOURCE)
        expect(tab.locator("#notice")).to_contain_text("cannot be reached")
        expect(tab.locator("#notice-again")).to_be_visible()
        tab.context.set_offline(False)
        expect(translation(tab)).to_have_value(TARGET)  # by itself
        expect(tab.locator("#notice")).to_be_hidden()
        tab.fill("#text", f"{SOURCE}!!")
        expect(tab.locator("#stale")).to_be_visible()
        expect(tab.locator("#copy")).to_be_hidden()
        for n in range(8):
            tab.fill("#text", f"{SOURCE[:-2]}{n}")
            tab.wait_for_timeout(120)
        expect(tab.locator("#notice")).to_contain_text("Too many requests")
