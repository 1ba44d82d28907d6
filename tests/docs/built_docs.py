"""The documentation built by Sphinx, and a search in it as a reader's browser does it."""

import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

DOCS = Path(__file__).parents[2] / "docs"
LANGUAGES = {"en": DOCS, "zh": DOCS / "zh"}
NAMES = (
    "加性注意力",
    "缩放点积注意力",
    "掩蔽 softmax",
    "多头注意力",
    "位置编码",
    "查询",
    "键",
    "值",
    "核回归",
    "Nadaraya–Watson 核回归",
    "上下文向量",
    "残差连接",
    "层标准化",
    "masked_softmax",
    "AdditiveAttention",
    "DotProductAttention",
    "AttentionDecoder",
    "MultiHeadAttention",
    "PositionalEncoding",
    "show_heatmaps",
    "valid_lens",
)
"""Names of the documents that regard was made from; each has its row on the page PAGE."""
PAGE = "guide/09-from-the-documents"


def sphinx(source, out, *options):
    """Build a folder of pages."""
    words = ["-q", "-b", "html", "-d", f"{out}-doctrees", *options, str(source), str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words], capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return out


def found(tab, site, query):
    """The addresses of the pages that the search of a built site finds."""
    tab.goto(f"{(site / 'search.html').as_uri()}?q={quote(query)}")
    tab.wait_for_function("() => document.querySelector('.search-summary')?.textContent.trim()")
    links = tab.locator("ul.search > li > a")
    return links.evaluate_all("all => all.map((one) => one.getAttribute('href'))")
