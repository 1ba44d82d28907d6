"""Every page of the learning path is a Jupyter notebook too, written beside its HTML page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from blocks import CODE, parts

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDED = re.compile(r"^\{dropdown\}|^\{solution\}")


def notebook(page: str) -> dict[str, object]:
    """The notebook of a page: a cell for each part; a folded solution comes unfolded."""
    cells = []
    for part in parts(page):
        if FOLDED.match(part.kind):
            cells += notebook(part.body)["cells"]  # type: ignore[operator]
            continue
        kind = "code" if part.kind in CODE else "markdown"
        fenced = kind == "markdown" and part.kind != "text"
        body = f"```{part.kind}\n{part.body}```" if fenced else part.body.strip("\n")
        cell = {"cell_type": kind, "metadata": {}, "source": body.splitlines(keepends=True)}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 4,
    }


def write_notebooks(app: Sphinx, failed: Exception | None) -> None:
    """Write the notebooks when the pages have been written."""
    if failed or app.builder.name != "html":
        return
    for source in sorted((Path(app.srcdir) / "learn").glob("[0-9]*.md")):
        target = Path(app.outdir) / "learn" / f"{source.stem}.ipynb"
        text = json.dumps(notebook(source.read_text("utf-8")), ensure_ascii=False, indent=1)
        target.write_text(f"{text}\n", "utf-8")


def add_link(app, pagename, templatename, context, doctree) -> None:
    """Give the template of a learning page the name of its notebook."""
    if re.match(r"learn/\d", pagename) and "body" in context:
        name = f"{pagename.rpartition('/')[2]}.ipynb"
        words = (
            "下载本页的 Jupyter 笔记本"
            if app.config.language == "zh_CN"
            else "This page as a Jupyter notebook"
        )
        context["body"] += f'<p class="notebook"><a href="{name}" download>{words}</a></p>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Write notebooks after the pages, and link them."""
    app.connect("build-finished", write_notebooks)
    app.connect("html-page-context", add_link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
