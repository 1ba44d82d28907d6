"""Sphinx settings of the Chinese pages: those of the English ones, in Chinese."""

import logging
import sys
from pathlib import Path

import jieba

sys.path.insert(0, str(Path(__file__).parent.parent))
from conf import *  # noqa: F403

jieba.setLogLevel(logging.WARNING)  # the search index is made of its words
language = "zh_CN"
extensions = [*extensions, "line_breaks"]  # noqa: F405
html_title = f"regard {release} 文档"  # noqa: F405
exclude_patterns = []
