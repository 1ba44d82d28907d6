"""The page: valid, self-contained, small, and safe for any words."""

import json
import re
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from regard.errors import InputError
from regard.views import HeadMaps, SentenceView, page
from regard.views.html.browser import SCRIPTS, scripts, style
from regard.views.html.page import MAX_BYTES, embed_json

BAD = (
    "<img src=x onerror=window.bad=1>",
    "</script><script>window.bad=1</script>",
    "\ud800&amp;'\"",
)
SVG = "http://www.w3.org/2000/svg"


def entries_of(text):
    tree = html.document_fromstring(text)
    found = [node for node in tree.iter("script") if (node.get("id") or "").startswith("entry-")]
    return [json.loads(node.text) for node in found]


def test_heading_facts_and_texts(french, chinese):
    text = page("A <b>run</b>", [french, chinese], {"exact match": "97.8 %", "seconds": 171})
    tree = html.document_fromstring(text)
    assert tree.get("lang") == "en"
    assert tree.findtext(".//h1") == tree.findtext(".//title") == "A <b>run</b>"
    assert [dt.text for dt in tree.iter("dt")] == ["exact match", "seconds"]
    assert [dd.text for dd in tree.iter("dd")] == ["97.8 %", "171"]
    labels = tree.get_element_by_id("texts").findall("label")
    assert [label.find(".//i").text for label in labels] == [
        s.translation for s in (french, chinese)
    ]
    assert [label.find(".//i").get("lang") for label in labels] == ["fr", "zh"]


def test_entries_are_texts_or_pairs(french, chinese):
    entries = entries_of(page("title", [french, (french, chinese)]))
    assert [len(entry) for entry in entries] == [1, 2]
    one, other = entries[1]
    assert one["sides"]["target"] == {"words": list(french.target_words), "language": "fr"}
    assert other["axes"]["inputs"]["tokens"] == ["<s>", *chinese.target_tokens[:-1]]
    assert one["links"] == [list(link) for link in french.links]
    assert one["alignmentHead"] == [1, 3]
    assert [(m["kind"], m["layer"], m["rows"], m["columns"], m["causal"]) for m in one["maps"]] == [
        (kind, layer, rows, columns, kind == "decoder")
        for kind, rows, columns in (
            ("cross", "target", "source"),
            ("encoder", "source", "source"),
            ("decoder", "inputs", "inputs"),
        )
        for layer in range(3)
    ]


def test_nothing_is_fetched(french):
    text = page("title", [french])
    tree = html.document_fromstring(text)
    assert "://" not in text.replace(SVG, "")
    for node in tree.iter():
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            assert (node.get(name) or "data:").startswith("data:"), (node.tag, name)
        assert node.get("style") is None
    assert "@import" not in text
    assert "url(" not in text
    forbidden = r"\b(fetch|XMLHttpRequest|import|innerHTML|outerHTML|insertAdjacentHTML|eval)\b"
    assert not re.search(forbidden, script_of(tree))


def script_of(tree):
    (script,) = (s for s in tree.iter("script") if s.get("type") is None)
    return script.text


def test_no_element_is_left_open(french):
    """Every element is closed in order."""
    body = re.sub(r"<(script|style)\b.*?</\1>", "", page("title", [french]), flags=re.S)
    opened = []
    for closing, tag in re.findall(r"<(/?)([a-z][a-z0-9]*)\b", body):
        if closing:
            assert opened.pop() == tag
        elif tag not in ("meta", "link", "input"):
            opened.append(tag)
    assert opened == []
    ids = re.findall(r'\bid="([^"]+)"', body)
    assert len(ids) == len(set(ids))


def test_words_cannot_inject_html():
    text = SentenceView(
        BAD,
        BAD[:1],
        BAD,
        BAD[:1],
        title=BAD[1],
        model=BAD[0],
        reference=BAD[1],
        source_language=BAD[1],
        target_language=BAD[0],
    )
    made = page(BAD[1], [text], {BAD[0]: BAD[1]})
    made.encode()  # a file can hold it
    tree = html.document_fromstring(made)
    assert [s.get("type") for s in tree.iter("script")] == ["application/json", None]
    assert not list(tree.iter("img"))
    ((one,),) = entries_of(made)
    assert one["sides"]["source"]["words"] == list(BAD)


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_embedded_json_survives_html(value):
    tree = html.fragment_fromstring(f'<script type="application/json">{embed_json(value)}</script>')
    assert json.loads(tree.text) == value


def test_twenty_sentences_stay_small(french):
    assert len(page("title", [french] * 20).encode()) < 2_500_000


def test_a_long_text_is_listed_by_its_beginning():
    text = SentenceView.from_text([], tokens=[f"▁word{number}" for number in range(500)])
    listed = html.document_fromstring(page("title", [text])).find(".//label").text_content()
    assert listed.startswith("word0 word1 ")
    assert listed.endswith("…")
    assert len(listed) < 310


def test_no_texts_and_no_maps():
    assert entries_of(page("empty", [])) == []
    ((one,),) = entries_of(page("plain", [SentenceView(("▁a",), ("▁b",), ("a",), ("b",))]))
    assert one["maps"] == []


def test_more_than_a_page_holds_is_packed_or_refused():
    """A smaller limit keeps fewer weights; one too small is an error."""
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(700, 0.1), (4, 700)).astype(np.float32)
    tokens = tuple(f"▁{number}" for number in range(700))
    maps = HeadMaps("encoder", 0, (0, 1, 2, 3), weights, tokens, tokens)
    groups = tuple((number,) for number in range(700))
    text = SentenceView(tokens, (), tokens, (), maps=(maps,), source_groups=groups)
    made = page("title", [text])
    ((one,),) = entries_of(made)
    assert (one["maps"][0]["largest"]["count"], one["maps"][0]["pooled"]["factor"]) == (32, 4)
    assert len(made.encode()) <= MAX_BYTES
    small = page("title", [text], max_bytes=400_000)
    ((one,),) = entries_of(small)
    assert one["maps"][0]["largest"]["count"] < 32
    assert len(small.encode()) <= 400_000
    with pytest.raises(InputError, match="show fewer"):
        page("title", [text], max_bytes=50_000)


@pytest.mark.parametrize("name", ["page.html", "page.css", "page.js"])
def test_files_are_in_the_package(name):
    assert files("regard.views.html").joinpath(name).is_file()


def test_scripts_stand_alone():
    """Each file keeps its names local."""
    assert scripts().count('"use strict";') == len(SCRIPTS)
    assert ":root" in style()
