"""The page: valid, self-contained, small, and harmless whatever the words are."""

import base64
import json
import re
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from regard.views import Viewed, page
from regard.views.page import embedded, quantised

BAD = (
    "<img src=x onerror=window.bad=1>",
    "</script><script>window.bad=1</script>",
    "\ud800&amp;'\"",
)


def data_of(text):
    tree = html.document_fromstring(text)
    return json.loads(tree.get_element_by_id("data").text)


def test_heading_facts_and_sentences(french, chinese):
    text = page("A <b>run</b>", [french, chinese], {"exact match": "97.8 %", "seconds": 171})
    tree = html.document_fromstring(text)
    assert tree.get("lang") == "en"
    assert tree.findtext(".//h1") == tree.findtext(".//title") == "A <b>run</b>"
    assert [dt.text for dt in tree.iter("dt")] == ["exact match", "seconds"]
    assert [dd.text for dd in tree.iter("dd")] == ["97.8 %", "171"]
    labels = tree.get_element_by_id("sentences").findall("label")
    assert [label.find(".//i").text for label in labels] == [
        s.translation for s in (french, chinese)
    ]
    assert [label.find(".//i").get("lang") for label in labels] == ["fr", "zh"]


def test_nothing_is_fetched(french):
    text = page("title", [french])
    tree = html.document_fromstring(text)
    assert "://" not in text
    for node in tree.iter():
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            assert (node.get(name) or "data:").startswith("data:"), (node.tag, name)
    assert "@import" not in text
    assert "url(" not in text
    assert not re.search(r"\b(fetch|XMLHttpRequest|import|innerHTML|eval)\b\s*\(?", script_of(tree))


def script_of(tree):
    (script,) = (s for s in tree.iter("script") if s.get("type") is None)
    return script.text


def test_no_element_is_left_open(french):
    """What a browser repairs is what a page got wrong: every element closes where it should."""
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


def test_words_cannot_leave_their_place():
    sentence = Viewed(BAD, BAD[:1], BAD, BAD[:1], title=BAD[1], model=BAD[0], reference=BAD[1])
    text = page(BAD[1], [sentence], {BAD[0]: BAD[1]})
    text.encode()  # a file can hold it
    tree = html.document_fromstring(text)
    assert len(list(tree.iter("script"))) == 2
    assert not list(tree.iter("img"))
    (one,) = data_of(text)
    assert one["sourceWords"] == list(BAD)


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_embedded_json_survives_html(value):
    tree = html.fragment_fromstring(f'<script type="application/json">{embedded(value)}</script>')
    assert json.loads(tree.text) == value


def test_weights_come_back_within_half_a_step(french):
    (one,) = data_of(page("title", [french]))
    for maps, sent in zip(french.maps, one["maps"], strict=True):
        steps = np.frombuffer(base64.b64decode(sent["weights"]), np.uint8)
        found = steps.reshape(maps.weights.shape) / 255
        np.testing.assert_allclose(found, maps.weights, atol=0.5 / 255 + 1e-7)
        rows, columns = (one["axes"][sent[side]]["tokens"] for side in ("rows", "columns"))
        assert (len(sent["heads"]), len(rows), len(columns)) == maps.weights.shape
        assert sent["weights"] == quantised(maps)


def test_twenty_sentences_stay_small(french):
    assert len(page("title", [french] * 20).encode()) < 1_500_000


def test_no_sentences_at_all():
    assert data_of(page("empty", [])) == []


@pytest.mark.parametrize("name", ["page.html", "page.css", "page.js"])
def test_parts_travel_with_the_package(name):
    assert files("regard.views").joinpath(name).is_file()
