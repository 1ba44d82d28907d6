"""Sphinx settings of the Chinese pages: those of the English ones, in Chinese."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from conf import *  # noqa: F403

language = "zh_CN"
extensions = [*extensions, "line_breaks", "chinese_search", "chinese_words"]  # noqa: F405
html_title = f"regard {release} 文档"  # noqa: F405
exclude_patterns = []
