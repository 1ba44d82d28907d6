"""Sphinx settings of the documentation; `docs/zh/conf.py` takes them over for the Chinese pages."""

import sys
from pathlib import Path

from regard import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "regard"
author = "The regard authors"
copyright = "The regard authors"
release = version = __version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "generated",
    "docstrings",
    "notebooks",
    "study_pages",
    "benchmark_results",
]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_block"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "zh", "log.md", "studies/models", "studies/*/*.md"]
nitpicky = False
show_warning_types = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False
default_role = "code"
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"regard {__version__}"
html_static_path = [str(HERE / "_static")]
html_css_files = ["regard.css"]
html_copy_source = False
html_show_sphinx = False
templates_path = [str(HERE / "_templates")]
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1a5a9e",
        "color-brand-content": "#1a5a9e",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6fb3f7",
        "color-brand-content": "#6fb3f7",
    },
}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/language.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
