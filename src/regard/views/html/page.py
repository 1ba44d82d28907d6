"""One HTML file with the attention maps of texts: it needs no server, no network, nothing else.

Texts travel as JSON in the page, one piece for each board, long runs of numbers beside them. The
page's own script puts every text in as text; a content security policy lets no other script or
request through.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from regard.errors import InputError
from regard.views.html.browser import BUDGET, scripts, style
from regard.views.html.packing import size
from regard.views.html.payload import place, summaries
from regard.views.maps.sentence import Viewed

Board = Viewed | tuple[Viewed, Viewed]
"""A text, or one text as two models saw it, to be shown side by side."""

LARGEST = 20_000_000
"""Bytes that a page may have."""

MARGIN = 10_000  # bytes: names of blobs, and what else depends on how maps are packed
LISTED = 300  # characters of a text in the list of texts


def page(
    title: str,
    boards: Sequence[Board],
    facts: Mapping[str, object] | None = None,
    *,
    largest: int = LARGEST,
) -> str:
    """The page as a string, to be written as UTF-8; facts stand below its heading as given.

    Maps that would make it larger than `largest` bytes are packed: the largest weights of each row
    exactly, the rest as the largest of squares of cells, which the page says.
    """
    groups = [board if isinstance(board, tuple) else (board,) for board in boards]
    texts = [one for group in groups for one in group]

    def whole(shown: Sequence[dict[str, Any]], blobs: Mapping[str, str]) -> str:
        left = iter(shown)
        return _page(title, groups, [[next(left) for _ in g] for g in groups], blobs, facts or {})

    words = len(whole(place([[]] * len(texts), texts, None, budget=0), {}).encode())
    budget = min(BUDGET, largest - words - MARGIN)
    found = summaries(texts) if budget > 0 else []
    for _ in range(3):  # once as a rule; again if what is not maps takes more than was left for it
        if budget < 0:
            break
        blobs: dict[str, str] = {}
        shown = place(found, texts, blobs, budget=budget)
        made = whole(shown, blobs)
        if (taken := len(made.encode())) <= largest:
            return made
        maps = sum(map(len, blobs.values())) + sum(size(one["maps"]) for one in shown)
        budget = largest - (taken - maps) - MARGIN
    raise InputError(
        f"A page holds {largest / 1e6:g} MB, and {len(texts)} texts do not fit into it; show fewer "
        "of them, or shorter ones."
    )


def embedded(data: object) -> str:
    """JSON that may stand inside a script element: no character in it means anything to HTML.

    >>> embedded("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _page(
    title: str,
    groups: Sequence[Sequence[Viewed]],
    shown: Sequence[Sequence[dict[str, Any]]],
    blobs: Mapping[str, str],
    facts: Mapping[str, object],
) -> str:
    look, code = f"{style()}\n{_part('page.css')}", f"{scripts()}\n{_part('page.js')}"
    return Template(_part("page.html")).substitute(
        title=_text(title),
        style=look,
        script=code,
        style_hash=_hash(look),
        script_hash=_hash(code),
        facts=_facts(facts),
        texts="\n".join(_choice(number, group[0]) for number, group in enumerate(groups)),
        boards="\n".join(
            _inert("application/json", f"board-{number}", embedded(board))
            for number, board in enumerate(shown)
        ),
        blobs="\n".join(
            _inert("application/octet-stream", name, text) for name, text in blobs.items()
        ),
    )


def _inert(kind: str, name: str, text: str) -> str:
    """A script element that is data and runs nothing."""
    return f'<script type="{kind}" id="{name}">{text}</script>'


def _facts(facts: Mapping[str, object]) -> str:
    rows = (f"<div><dt>{_text(k)}</dt><dd>{_text(str(v))}</dd></div>" for k, v in facts.items())
    return f'<dl class="facts">{"".join(rows)}</dl>' if facts else ""


def _choice(number: int, text: Viewed) -> str:
    """One entry of the list of texts, readable also where no script runs."""
    checked = " checked" if number == 0 else ""
    title = f"<small>{_text(text.title)}</small>" if text.title else ""
    source, translation = _text(_beginning(text.source)), _text(_beginning(text.translation))
    written = f"<i{_lang(text.target_language)}>{translation}</i>" if translation else ""
    return (
        f'<label><input type="radio" name="text" value="{number}"{checked}>'
        f"<span>{title}<b{_lang(text.source_language)}>{source}</b>{written}</span></label>"
    )


def _beginning(text: str) -> str:
    return text if len(text) <= LISTED else f"{text[:LISTED]}…"


def _lang(language: str) -> str:
    return f' lang="{_text(language.replace("_", "-"))}" dir="auto"' if language else ' dir="auto"'


def _text(text: str) -> str:
    """Text for HTML; lone halves of surrogate pairs, which no file can hold, read as "?"."""
    return escape(text.encode("utf-8", "replace").decode(), quote=True)


def _hash(code: str) -> str:
    """What the content security policy knows a style or script by."""
    return f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"


def _part(name: str) -> str:
    return files("regard.views.html").joinpath(name).read_text("utf-8")
