"""The search of the Chinese pages: pairs of neighboring characters, in the index and in a query.

Chinese has no spaces between words. Sphinx's own Chinese search has the index made by a segmenter
that the browser does not have, and does not find names that the segmenter cuts. With pairs, every
name of two or more characters is found as it stands; single characters are in the index, too.
"""

import re

from sphinx.application import Sphinx
from sphinx.search import SearchEnglish

RUN = re.compile(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+")


class CharacterPairs(SearchEnglish):
    """Chinese characters in pairs; other words as on English pages."""

    lang = "zh"
    js_splitter_code = r"""
var splitQuery = (query) =>
  (query.match(/[\u3400-\u9fff]+|[\p{Letter}\p{Number}_]+/gu) || []).flatMap((run) =>
    run.split(/([\u3400-\u9fff]+)/u).filter(Boolean).flatMap((part) =>
      /^[\u3400-\u9fff]{2,}$/u.test(part)
        ? Array.from({ length: part.length - 1 }, (_, at) => part.slice(at, at + 2))
        : [part]));
"""

    def split(self, input: str) -> list[str]:
        """The words of a text."""
        words: list[str] = []
        for run in RUN.findall(input):
            if "\u3400" <= run[0] <= "\u9fff":
                words += run  # each character
                words += (run[at : at + 2] for at in range(len(run) - 1))
            else:
                words.append(run)
        return words


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_search_language(CharacterPairs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
