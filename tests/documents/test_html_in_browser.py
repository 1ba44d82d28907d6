"""Pages before and after translation in a real browser: translation adds no active content."""

import random
import re

import pytest

from regard.documents.html import parse_html
from regard.tasks.translation.translation import Sentence, Translation
from regard.text import words

RUN = "ran=(window.ran||0)+1"
BAD = f"<script>{RUN}</script>"
HIT = f"<img src=data:, onerror={RUN}>"
ESCAPED = BAD.replace("<", "&lt;").replace(">", "&gt;")

pytestmark = pytest.mark.needs("chromium")

SEEN = """async pages => {
    const seen = [];
    for (const page of pages) {
        const frame = document.createElement('iframe');
        const loaded = new Promise(done => frame.onload = done);
        frame.srcdoc = page;
        document.body.append(frame);
        await Promise.race([loaded, new Promise(done => setTimeout(done, 1000))]);
        await new Promise(done => setTimeout(done, 0));
        const view = frame.contentWindow;
        seen.push([view.ran || 0, view.document.documentElement.outerHTML]);
        frame.remove();
    }
    return seen;
}"""


@pytest.fixture(scope="module")
def seen(browser):
    """How many scripts ran, and the tree, of each page."""
    tab = browser.new_page()
    tab.set_content("<body></body>")
    yield lambda pages: tab.evaluate(SEEN, pages)


def made(source, translate):
    page = parse_html(source)
    return page.render([translate(text) for text in page.texts])


def same(text):
    own = tuple(word.text for word in words(text))
    links = tuple((n, n) for n in range(len(own)))
    return Translation(text, text, (Sentence(text, text, 0.0, (), (), own, own, links),))


def hostile(text):
    """Words in the other order, and markup between them."""
    own = tuple(word.text for word in words(text))
    other = (f"\"'>--></title></textarea></script>{BAD}{HIT}", *reversed(own))
    target = " ".join(other)
    links = tuple((n, len(own) - n) for n in range(len(own)))
    return Translation(target, text, (Sentence(text, target, 0.0, (), (), own, other, links),))


def tree(source):
    return re.sub(r"\s+|&nbsp;", "", source)  # white space is not promised


HOSTILE = [
    f"<!-- x -- >{BAD}<p>A dog</p> -->",
    f"<!-- x --!>A dog<!-- {BAD} <p>never closed",
    f"<!--> a <!-- {BAD} -->",
    f"<textarea></ textarea>{BAD}</textarea>",
    f"<textarea>{ESCAPED.replace('&lt;', '&lt;/textarea&gt;&lt;', 1)}</textarea>",
    f"<title>&lt;/title&gt;{ESCAPED}</title>A dog",
    f'<script>var a="</ script>{HIT}"</script>A dog',
    f"<iframe></ iframe>{BAD}</iframe>A dog",
    f"<script><!--<script></script>A dog{BAD}--></script>A cat",
    f"<img src=data:, title=cat\u00a0/onerror={RUN}>",
    f"<img src=data:, title=cat\u2003onerror={RUN}>A dog",
    f"<p title='A dog\" onclick=x'>A dog</p><p title=`A{HIT}`>",
    f"<svg><text><![CDATA[a < b {HIT}]]></text></svg><p>The cat</p>",
    f"<svg><desc><![CDATA[{HIT}]]></desc><style><a title='</style>{HIT}'></style></svg>A dog",
    f"<svg><p><style><a title='</style>{HIT}'></style></svg>A dog",
    f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;{HIT}'>A dog",
    f"<select><style></select><a title='</style>{BAD}'>A dog</a>",
    f"<noscript><p title='</noscript>{HIT}'>A dog</noscript>A cat",
    f"<xmp><p title='</xmp>{HIT}'>A dog</xmp>A cat",
    f"<template><col><style></template><script></style></template>A dog;{RUN}</script>",
    f"A dog <a title='x {BAD}",
    f"A {ESCAPED} dog <b>runs {ESCAPED}</b>",
    f"<p translate=no>A{BAD}<p>dog <code>{ESCAPED}</code>.",
    f"<![CDATA[ > {BAD} ]]> A dog",
    f"<?php echo '>' {BAD} ?> A dog",
    f"<plaintext>{BAD}</plaintext>A dog",
    "A dog.<img src=data:, translate=no><p>H<sub>2</sub>O<sup><a href=x>[1]</a></sup>, x",
]


@pytest.mark.parametrize("source", HOSTILE)
def test_nothing_new_runs(seen, source):
    before, after, turned = seen([source, made(source, same), made(source, hostile)])
    assert after[0] == before[0] and turned[0] <= before[0]
    assert tree(after[1]) == tree(before[1])


PIECES = (
    *("<!--", "-->", "--!>", "-- >", "</ x", ">", "<", "<p>", "</p>", "<b>", "</b>", "<i title=a>"),
    *(BAD, HIT, ESCAPED, "<script>", "</script>", "</ script>", "<textarea>", "</textarea>"),
    *("<title>", "</title>", "<style>", "</style>", "<svg>", "</svg>", "<desc>", "</desc>"),
    *("<math>", "<mi>", "</mi>", "</math>", "<li>"),
    *("<![CDATA[", "]]>", "<select>", "<option>", "<table>", "<td>", "<template>", "</template>"),
    *("<code>", "</code>", "<sup>", "</sup>", "1", "one two ", " ", "'", '"', "<a b=", "猫"),
)


def test_nothing_new_runs_in_any_of_many_pages(seen):
    chance = random.Random(7)
    sources = ["".join(chance.choices(PIECES, k=chance.randint(2, 12))) for _ in range(60)]
    pages = [(one, made(one, same), made(one, hostile)) for one in sources]
    found = seen([page for own in pages for page in own])
    for n, source in enumerate(sources):
        before, after, turned = found[3 * n : 3 * n + 3]
        assert (after[0], tree(after[1])) == (before[0], tree(before[1])), source
        assert turned[0] <= before[0], source
