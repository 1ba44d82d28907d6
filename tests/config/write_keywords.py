"""Writes `regard/config/search_keywords.py`: `python tests/config/write_keywords.py`.

A type checker reads keywords only where they are written out, so that file is made of the schema.
"""

from pathlib import Path

from regard.config import SearchOptions, search_keywords
from regard.config.schema import options_of

PATH = Path(search_keywords.__file__)
HEAD = '''\
"""The fields of `SearchOptions` as keywords, which a type checker reads.

Made of them by `python tests/config/write_keywords.py`; a test compares.
"""

from typing import TypedDict


class SearchKeywords(TypedDict, total=False):
    """Options of the search that replace the model's own; see `SearchOptions`."""

'''


def keywords() -> str:
    """The text of the module."""
    fields = (
        f"    {name}: {getattr(option.type, '__name__', option.type)}\n"
        for name, option in options_of(SearchOptions).items()
    )
    return HEAD + "".join(fields)


if __name__ == "__main__":
    PATH.write_text(keywords(), "utf-8")
