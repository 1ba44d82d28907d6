"""Chinese for the words of the theme, which has no Chinese translation of its own."""

from collections.abc import Callable
from typing import Any

from sphinx.application import Sphinx

WORDS = {
    "Next": "下一页",
    "Previous": "上一页",
    "Home": "首页",
    "On this page": "本页内容",
    "Back to top": "回到顶部",
    "Made with": "主题 ",
    "Copyright &#169; %(copyright)s": "版权 &#169; %(copyright)s",
}


def translate(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Give the template of a page a translation that knows these words, too."""
    known: Callable[[str], str] = app.builder.templates.environment.globals["gettext"]
    context["gettext"] = lambda words: WORDS.get(" ".join(words.split())) or known(words)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("html-page-context", translate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
