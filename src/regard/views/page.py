"""One HTML file with the attention maps of sentences: it needs no server, no network, nothing else.

Sentences and maps travel as JSON in the page, weights in steps of 1/255. The page's own script puts
every text in as text; a content security policy lets no other script or request through.
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

import numpy as np

from regard.views.sentence import AXES, HeadMaps, Viewed


def page(title: str, sentences: Sequence[Viewed], facts: Mapping[str, object] | None = None) -> str:
    """The page as a string, to be written as UTF-8; facts stand below its heading as given."""
    style, script = _part("page.css"), _part("page.js")
    return Template(_part("page.html")).substitute(
        title=_text(title),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        facts=_facts(facts or {}),
        sentences="\n".join(_choice(number, one) for number, one in enumerate(sentences)),
        data=embedded([_data(one) for one in sentences]),
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


def quantised(maps: HeadMaps) -> str:
    """Weights in steps of 1/255, head by head and row by row, in base64."""
    steps = np.rint(np.clip(np.nan_to_num(maps.weights), 0, 1) * 255).astype(np.uint8)
    return b64encode(steps.tobytes()).decode()


def _data(sentence: Viewed) -> dict[str, Any]:
    axes = {name: sentence.axis(name) for name in ("source", "target", "inputs")}
    confidence = sentence.confidence
    return {
        "sourceWords": sentence.source_words,
        "targetWords": sentence.target_words,
        "sourceLanguage": sentence.source_language,
        "targetLanguage": sentence.target_language,
        "translation": sentence.translation,
        "reference": sentence.reference,
        "title": sentence.title,
        "model": sentence.model,
        "links": sentence.links,
        "alignedBy": sentence.aligned_by,
        "confidence": None if confidence is None else [round(float(c), 4) for c in confidence],
        "axes": {
            name: {"tokens": axis.tokens, "groups": axis.groups} for name, axis in axes.items()
        },
        "maps": [
            {
                "kind": maps.kind,
                "layer": maps.layer,
                "heads": maps.heads,
                "rows": AXES[maps.kind][0],
                "columns": AXES[maps.kind][1],
                "weights": quantised(maps),
            }
            for maps in sentence.maps
        ],
    }


def _facts(facts: Mapping[str, object]) -> str:
    rows = (f"<div><dt>{_text(k)}</dt><dd>{_text(str(v))}</dd></div>" for k, v in facts.items())
    return f'<dl class="facts">{"".join(rows)}</dl>' if facts else ""


def _choice(number: int, sentence: Viewed) -> str:
    """One entry of the list of sentences, readable also where no script runs."""
    checked = " checked" if number == 0 else ""
    title = f"<small>{_text(sentence.title)}</small>" if sentence.title else ""
    return (
        f'<label><input type="radio" name="sentence" value="{number}"{checked}>'
        f"<span>{title}<b{_lang(sentence.source_language)}>{_text(sentence.source)}</b>"
        f"<i{_lang(sentence.target_language)}>{_text(sentence.translation)}</i></span></label>"
    )


def _lang(language: str) -> str:
    return f' lang="{_text(language.replace("_", "-"))}" dir="auto"' if language else ' dir="auto"'


def _text(text: str) -> str:
    """Text for HTML; lone halves of surrogate pairs, which no file can hold, read as "?"."""
    return escape(text.encode("utf-8", "replace").decode(), quote=True)


def _hash(code: str) -> str:
    """What the content security policy knows a style or script by."""
    return f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"


def _part(name: str) -> str:
    return files("regard.views").joinpath(name).read_text("utf-8")
