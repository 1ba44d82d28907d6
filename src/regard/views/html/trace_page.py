"""The stages of a traced text as one HTML file, without a server or network.

The reader chooses a word and goes through the stages; numbers are coloured cells, scores dots, the
next words bars. `stages/` has its scripts; texts are inserted as text, and a content security
policy blocks other scripts and all requests.
"""

from __future__ import annotations

from string import Template

from regard.errors import InputError
from regard.views.html.browser import STAGES, read, scripts, style
from regard.views.html.page import MAX_BYTES, data_element, embed_json, escape_text, policy_hash
from regard.views.html.trace_payload import trace_payload
from regard.views.maps.traced import TracedText


def trace_page(
    traced: TracedText, *, start: int | None = None, appendix: str = "", max_bytes: int = MAX_BYTES
) -> str:
    """The page as a string, to be written as UTF-8; `start` is the step that is shown first.

    `appendix` is HTML below the stages.
    `traced` has the steps of every word, without the weighted values.
    """
    blobs: dict[str, str] = {}
    payload = trace_payload(traced, blobs) | {"start": start}
    num_bytes = sum(map(len, blobs.values()))
    if num_bytes > max_bytes:
        tokens = max(len(side.tokens) for side in traced.sides.values())
        raise InputError(
            f"the numbers of {tokens} tokens take {num_bytes / 1e6:.0f} MB, and a page holds "
            f"{max_bytes / 1e6:g}; give a shorter sentence, or one layer with --layer."
        )
    css = "\n".join((style(), read("page.css"), read("stages/stages.css")))
    script = scripts(*STAGES, "stages/page.js")
    facts = {"model": f"{traced.model}: {traced.kind}", "text": traced.text}
    facts |= {"output": traced.output} if traced.output else {}
    return Template(read("stages/stages.html")).substitute(
        title=escape_text(f"Trace of “{traced.word}”"),
        style=css,
        script=script,
        style_hash=policy_hash(css),
        script_hash=policy_hash(script),
        facts="".join(
            f'<div><dt data-message="fact.{name}"></dt>'
            f'<dd dir="auto">{escape_text(value)}</dd></div>'
            for name, value in facts.items()
        ),
        more=appendix,
        data=embed_json(payload),
        blobs="\n".join(
            data_element("application/octet-stream", name, text) for name, text in blobs.items()
        ),
    )
