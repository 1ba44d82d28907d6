"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

NAME = re.compile(r"<m([io])>([A-Za-z]{2,})</m\1>(<mo[^>]*>&#x00028;)?")


def mathml(formula: str, display: str = "inline") -> str:
    """The formula; a thin space is set around the names of functions, none before `(`."""

    def spaced(found: re.Match[str]) -> str:
        bracket = found[3] or ""
        after = "0" if bracket else "0.17em"
        return f'<mo lspace="0.17em" rspace="{after}">{found[2]}</mo>{bracket}'

    return NAME.sub(spaced, convert(formula, display=display))


def draw(self, node: nodes.Element) -> None:
    """Write a formula inline."""
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def draw_block(self, node: nodes.Element) -> None:
    """Write a formula on a line of its own."""
    self.body.append(mathml(node.astext(), display="block"))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the two kinds of formula."""
    app.add_node(nodes.math, override=True, html=(draw, None))
    app.add_node(nodes.math_block, override=True, html=(draw_block, None))
    app.set_html_assets_policy("per_page")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
