"""Chinese text has no spaces: a line break in the source is none in the page either."""

import re

from docutils import nodes
from sphinx.application import Sphinx

WIDE = "\u3000-\u30ff\u3400-\u9fff\uff00-\uffef"
STOP = "\u3000-\u303f\uff00-\uff0f\uff1a-\uff20“”"
BREAK = re.compile(f"[{STOP}]\n|\n[{STOP}]|[{WIDE}]\n[{WIDE}]")


def join_lines(app: Sphinx, doctree: nodes.document) -> None:
    """Remove the breaks between Chinese characters, and beside Chinese punctuation."""
    for element in doctree.findall(nodes.TextElement):
        for place in range(1, len(element) - 1):
            before, after = (element[at].astext() for at in (place - 1, place + 1))
            if element[place] == "\n" and BREAK.search(f"{before[-1:]}\n{after[:1]}"):
                element[place] = nodes.Text("")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-read", join_lines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
