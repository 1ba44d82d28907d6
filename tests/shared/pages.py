"""The served page in a real browser, which reaches nothing but its own server."""

import re
from contextlib import contextmanager

BAD = '<img src=x onerror="window.bad=1">'
WATCH = """
window.broken = [];
addEventListener("securitypolicyviolation", (event) => window.broken.push(event.violatedDirective));
"""


@contextmanager
def opened(browser, address, fragment="", **options):
    """A tab at the page; afterwards nothing was complained of, and nobody else was asked."""
    said, asked = [], []
    context = browser.new_context(locale="en-GB", **options)
    context.add_init_script(WATCH)

    def pass_on(route):
        url = route.request.url
        if url.startswith(f"{address}/"):
            route.continue_()
        else:
            asked.append(url)
            route.abort()

    context.route("**/*", pass_on)
    tab = context.new_page()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(error.stack or str(error)))
    tab.goto(f"{address}/{fragment}")
    yield tab
    refused = re.compile("Failed to load resource: (the server responded with|net::ERR_INTERNET)")
    complaints = [text for text in said if not refused.match(text)]
    assert not complaints, complaints
    assert asked == []
    assert tab.evaluate("window.broken") == []
    assert tab.evaluate("window.bad") is None
    context.close()
