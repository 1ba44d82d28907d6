"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def draw(self, node: nodes.Element) -> None:
    """Write a formula inline."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def draw_block(self, node: nodes.Element) -> None:
    """Write a formula on a line of its own."""
    self.body.append(convert(node.astext(), display="block"))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the two kinds of formula."""
    app.add_node(nodes.math, override=True, html=(draw, None))
    app.add_node(nodes.math_block, override=True, html=(draw_block, None))
    app.set_html_assets_policy("per_page")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
