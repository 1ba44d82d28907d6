"""One HTML file with the attention maps of texts, without a server or network.

The texts are embedded as JSON, one script element per entry, and long blobs of numbers beside them.
The page's script inserts every text as text; a content security policy blocks other scripts and
all requests.
"""

from __future__ import annotations

import json
import operator
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from string import Template
from typing import Any

from regard.errors import InputError
from regard.views.html.browser import STAGES, read, scripts, style
from regard.views.html.packing import blob_size
from regard.views.html.payload import MAPS_BUDGET, pack_views, summarize_views
from regard.views.html.trace_payload import trace_payload
from regard.views.maps.sentence import SentenceView
from regard.views.maps.traced import TracedText

PageEntry = SentenceView | tuple[SentenceView, SentenceView]
"""A text, or one text of two models, shown side by side."""

MAX_BYTES = 20_000_000
"""Bytes that a page may have."""

MARGIN = 10_000  # bytes for names of blobs and what else depends on the packing
MAX_LISTED = 300  # characters of a text in the list of texts


def page(
    title: str,
    entries: Sequence[PageEntry],
    facts: Mapping[str, object] | None = None,
    stages: Sequence[TracedText | None] = (),
    *,
    max_bytes: int = MAX_BYTES,
) -> str:
    """The page as a string, to be written as UTF-8; `facts` are listed below its heading.

    `stages` are the steps of every word of each text (of a pair: of one, then of the other); None
    where there are none.

    Maps that would exceed `max_bytes` are packed: the largest weights of each row are exact, the
    rest is the maximum of squares of cells, as the page says.
    """
    groups = [entry if isinstance(entry, tuple) else (entry,) for entry in entries]
    views = [view for group in groups for view in group]
    traced, numbers = _pack_stages(stages)

    def render(payloads: Sequence[dict[str, Any]], blobs: Mapping[str, str]) -> str:
        names = [f"stages-{number}" for number in range(len(views))] if stages else []
        known = [{"stages": name if name in traced else None} for name in names]
        rest = map(operator.or_, payloads, known or [{}] * len(views))
        grouped = [[next(rest) for _ in group] for group in groups]
        return _render(title, groups, grouped, {**blobs, **numbers}, facts or {}, traced)

    without_maps = pack_views([[]] * len(views), views, None, budget=0)
    budget = min(MAPS_BUDGET, max_bytes - len(render(without_maps, {}).encode()) - MARGIN)
    summaries = summarize_views(views) if budget > 0 else []
    for _ in range(3):  # once as a rule; again if the rest takes more than was left for it
        if budget < 0:
            break
        blobs: dict[str, str] = {}
        payloads = pack_views(summaries, views, blobs, budget=budget)
        html = render(payloads, blobs)
        if (num_bytes := len(html.encode())) <= max_bytes:
            return html
        maps = sum(map(len, blobs.values())) + blob_size([data["maps"] for data in payloads])
        budget = max_bytes - (num_bytes - maps) - MARGIN
    raise InputError(
        f"A page holds {max_bytes / 1e6:g} MB, and {len(views)} texts do not fit into it; show "
        "fewer of them, or shorter ones."
    )


def embed_json(data: object) -> str:
    """JSON for a script element: without characters that have a meaning in HTML.

    >>> embed_json("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.translate({ord(character): f"\\u{ord(character):04x}" for character in "<>&"})


def escape_text(text: str) -> str:
    """Text for HTML; lone surrogates, which no file can hold, become "?"."""
    return escape(text.encode("utf-8", "replace").decode(), quote=True)


def _render(
    title: str,
    groups: Sequence[Sequence[SentenceView]],
    payloads: Sequence[Sequence[dict[str, Any]]],
    blobs: Mapping[str, str],
    facts: Mapping[str, object],
    traced: Mapping[str, object],
) -> str:
    css, script = f"{style()}\n{read('page.css')}", scripts("page.js")
    if traced:
        css, script = f"{css}\n{read('stages/stages.css')}", scripts(*STAGES, "page.js")
    elements = {f"entry-{number}": entry for number, entry in enumerate(payloads)}
    return Template(read("page.html")).substitute(
        title=escape_text(title),
        style=css,
        script=script,
        style_hash=policy_hash(css),
        script_hash=policy_hash(script),
        facts=_facts(facts),
        texts="\n".join(_list_item(number, group[0]) for number, group in enumerate(groups)),
        entries="\n".join(
            data_element("application/json", name, embed_json(data))
            for name, data in {**elements, **traced}.items()
        ),
        blobs="\n".join(
            data_element("application/octet-stream", name, text) for name, text in blobs.items()
        ),
    )


def _pack_stages(
    stages: Sequence[TracedText | None],
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """The payloads of traced texts by the names of their elements, and their blobs."""
    payloads, blobs = {}, dict[str, str]()
    for number, traced in enumerate(stages):
        if traced is not None:
            name = f"stages-{number}"
            payloads[name] = trace_payload(traced, blobs, prefix=f"{name}-")
    return payloads, blobs


def data_element(mime_type: str, name: str, text: str) -> str:
    """A script element with data, which is not executed."""
    return f'<script type="{mime_type}" id="{name}">{text}</script>'


def _facts(facts: Mapping[str, object]) -> str:
    rows = (
        f"<div><dt>{escape_text(name)}</dt><dd>{escape_text(str(value))}</dd></div>"
        for name, value in facts.items()
    )
    return f'<dl class="facts">{"".join(rows)}</dl>' if facts else ""


def _list_item(number: int, view: SentenceView) -> str:
    """One item of the list of texts, readable also without scripts."""
    checked = " checked" if number == 0 else ""
    title = f"<small>{escape_text(view.title)}</small>" if view.title else ""
    source = f"<b{_lang(view.source_language)}>{_beginning(view.source)}</b>"
    target = f"<i{_lang(view.target_language)}>{_beginning(view.translation)}</i>"
    return (
        f'<label><input type="radio" name="text" value="{number}"{checked}>'
        f"<span>{title}{source}{target if view.translation else ''}</span></label>"
    )


def _beginning(text: str) -> str:
    return escape_text(text if len(text) <= MAX_LISTED else f"{text[:MAX_LISTED]}…")


def _lang(language: str) -> str:
    name = escape_text(language.replace("_", "-"))
    return f' lang="{name}" dir="auto"' if language else ' dir="auto"'


def policy_hash(code: str) -> str:
    """The hash by which the content security policy allows a style or script."""
    return f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"
