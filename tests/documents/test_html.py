"""HTML translation: markup is kept, text is escaped."""

import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import LINEAR, growth
from regard.documents.html import parse_html
from regard.errors import InputError
from regard.tasks.translation.translation import Sentence, Translation
from regard.text import normalize, words


def translation(source, target, links):
    """A translation of one sentence, with these word links."""
    own, other = ([word.text for word in words(text)] for text in (source, target))
    sentence = Sentence(source, target, 0.0, (), (), tuple(own), tuple(other), tuple(links))
    return Translation(target, source, (sentence,))


def same(text):
    """The text itself, each word linked to itself."""
    return translation(text, text, [(n, n) for n in range(len(words(text)))])


def backwards(text):
    """The words in the other order."""
    own = [word.text for word in words(text)]
    last = len(own) - 1
    return translation(text, " ".join(reversed(own)), [(n, last - n) for n in range(len(own))])


def through(source, translate):
    page = parse_html(source)
    return page.render([translate(text) for text in page.texts])


@pytest.mark.parametrize(
    "source",
    [
        "plain text",
        "<p>The <b>black</b> cat</p>\n<p>sleeps</p>",
        "<!DOCTYPE html><html><head><title>Cats</title><style>a > b {}</style></head></html>",
        '<a href="x?a=1&amp;b=2">one <i>two</i></a> three<br/>four <img src=x> five',
        "<ul>\n  <li>one</li>\n  <li>two</li>\n</ul>\n",
        "a &lt; b &amp; c",
        "<p>run <code>ls &lt; x</code> now</p><pre>  as\n it is </pre>",
        "text <!-- a comment --> text",
        "<p>one <b>two",
        "one</b> two",
        "<b><p>one</p></b>",
        '<p translate="no">stays <b>so</b></p><p>goes</p>',
        "猫<b>睡</b>了。",
        "",
        "<script>if (a < b) alert('</p>')</script>",
        '<p title="A cat &amp; a dog">one <img src="x" alt="It\'s black"/> two</p>',
        '<input placeholder=\'Say "x"\' value="y"> <a aria-label=\'Go\' title = "There">go</a>',
        """<p data-x=' title="no"' title="yes" title="twice">one</p>""",
        '<span translate="no" title="stays">so</span> <svg title="x"/>',
        '<img alt=""> <img alt="42"> <img alt>',
        "A dog<sup>1</sup> runs.",
        'A dog<sup><a href="#1">[1]</a></sup>, <b>2<sup>nd</sup></b> of x<sub>i</sub>.',
        "H<sub>2</sub>O, <b>un</b>happy, <u>日本<b>語</b></u>です",
        "Use <code>x</code>.",
        "Use <code>x</code>, <img><img> <img>or <i class=x></i> that <b><img>one</b>.",
        "a <svg><text><![CDATA[a < b]]></text></svg>, <math><mi>x</mi></math> c",
        "<p>one<!-- x --!> two<!-- never closed <p>three",
        "<textarea>&lt;/textarea&gt;</textarea><iframe><p></iframe><SCRIPT >a</ script></Script>",
        "<p>one</p ><P CLASS=x>two</P><br/>three<p/>four",
    ],
)
def test_untranslated_pages_are_unchanged(source):
    assert through(source, same) == source


def test_texts_are_blocks_without_markup():
    page = parse_html("<h1>A &amp; b</h1><p>The <b>black</b>\n cat</p><script>x</script><br>end")
    assert page.texts == ["A & b", "The black cat", "end"]


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('<p>A dog.<img src=x translate="no"></p><p>The cat.</p>', ["A dog.", "The cat."]),
        ("<p translate=no>One<p>Two", ["Two"]),
        ("<div><p translate=NO>One <b>two</div>Three", ["Three"]),
        ("<ul><li translate=no>One<ul><li>two</ul><li>Three</ul>", ["Three"]),
        ("<table><tr><td translate=no>One<td>Two<tr><th>Three</table>", ["Two", "Three"]),
        ("<dl><dt translate=no>One<dd>Two</dl>", ["Two"]),
        ("<select><option translate=no>One<option>Two</select>", ["Two"]),
        ("<p translate=no>One<button><p>two</button>three</p>Four", ["Four"]),
        ("<div translate=no><div>One</div>two</div>Three", ["Three"]),
        ("<svg><text><![CDATA[a < b]]></text></svg><p>The cat", ["The cat"]),
        ("One<svg><p>two", ["One"]),  # a browser leaves the drawing: too odd to translate
        ("<title>One &amp; <b></title>", ["One & <b>"]),
        ("<link title=One><p title='?a&copy=1 &copy; &amp; two'>", ["?a&copy=1 © & two"]),
        (
            "A dog<sup>1</sup> <b>x<sup>2</sup></b> m<sup>2</sup>n 2<sup>nd</sup>",
            ["A dog x m2n 2nd"],
        ),
    ],
)
def test_what_is_not_translated(source, texts):
    assert parse_html(source).texts == texts


def test_prose_attributes_are_translated():
    source = (
        '<h1 title="one two">three</h1><p>four <img src="a b" alt="five six"> '
        "<b ARIA-LABEL='seven eight' class=\"x y\">nine</b></p><hr title=ten>"
        "<input placeholder='eleven &amp; twelve'><code title='no no'>no no</code>"
    )
    page = parse_html(source)
    assert sorted(page.texts) == sorted(
        ["one two", "three", "four nine", "five six", "seven eight", "ten", "eleven & twelve"]
    )
    assert through(source, backwards) == (
        '<h1 title="two one">three</h1><p><b ARIA-LABEL=\'eight seven\' class="x y">nine</b> four'
        ' <img src="a b" alt="six five"></p><hr title=ten>'
        "<input placeholder='twelve &amp; eleven'><code title='no no'>no no</code>"
    )


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_translation_cannot_leave_its_attribute(quote):
    hostile = """"><script>alert(1)</script><p x='y"""
    made = parse_html(f"<p title={quote}x{quote}></p>").render([Translation(hostile, "x", ())])
    (attributes,) = [dict(attributes) for name, attributes in tags_of(made) if name == "p"]
    assert attributes == {"title": hostile}
    assert [name for name, _ in tags_of(made)] == ["p"]


def tags_of(source):
    """Tags and their attributes, as a browser would understand them."""
    found = []
    reader = HTMLParser()
    reader.handle_starttag = lambda name, attributes: found.append((name, attributes))
    reader.feed(source)
    return found


def test_tags_follow_their_words():
    assert through("one <b>two</b> three", backwards) == "three <b>two</b> one"
    assert through("<i>one <b>two</b></i> three", backwards) == "three <i><b>two</b> one</i>"
    found = translation("the black cat", "le chat noir", [(0, 0), (1, 2), (2, 1)])
    assert parse_html("the <b>black</b> cat").render([found]) == "le chat <b>noir</b>"


@pytest.mark.parametrize(
    ("page", "target", "links", "made"),
    [
        (
            "A dog<sup>1</sup> runs.",
            "Un chien court.",
            "0-0 1-1 2-2 3-3",
            "Un chien<sup>1</sup> court.",
        ),
        ("The 19<sup>th</sup> cat", "Le 19e chat", "0-0 1-1 2-2", "Le 19<sup>e</sup> chat"),
        (
            "The 2<sup>nd</sup> cat",
            "Le deuxième chat",
            "0-0 1-1 2-2",
            "Le deuxième<sup></sup> chat",
        ),
        ("un<b>happy</b> cat", "chat malheureux", "0-1 1-0", "chat <b>malheureux</b>"),
        ("Use <code>x</code>.", "Nimm `x`.", "0-0 1-1", "Nimm <code>x</code>."),
        (
            "Use <b><code>x</code></b> and <code>y</code>.",
            "Nimm `y` und `x`.",
            "0-0 2-6 4-4",
            "Nimm <code>y</code> und <b><code>x</code></b>.",
        ),
        ("Use <code>x</code>.", "Nimm ` X `, bitte.", "0-0 4-6", "Nimm <code>x</code>, bitte."),
        ("Use <code>x</code>.", "Nimm .", "0-0 4-1", "Nimm <code>x</code>."),
        ("Use <code>x</code>.", "Nimm bitte .", "0-0 4-2", "Nimm <code>x</code> bitte ."),
        (
            "It <i>didn't cross</i> it",
            "Il n' a pas traversé ça",
            "0-0 1-1 2-4 3-5",
            "Il <i>n' a pas traversé</i> ça",
        ),
        (
            "It <i>didn't cross</i> it",
            "Il n' ça a traversé",
            "0-0 1-1 3-2 3-3 2-4",
            "Il <i>n'</i> ça a traversé",
        ),
        ("Press <img>", "Drücken Sie", "0-0", "Drücken Sie <img>"),
        ("one <b><img>two</b>", "zwei eins", "0-1 1-0", "<b><img>zwei</b> eins"),
    ],
)
def test_tags_keep_to_their_part_of_a_sentence(page, target, links, made):
    (source,) = parse_html(page).texts
    pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
    own = [word.text for word in words(source)]
    other = target.split() if "n'" in target else [word.text for word in words(target)]
    sentence = Sentence(source, target, 0.0, (), (), tuple(own), tuple(other), tuple(pairs))
    assert parse_html(page).render([Translation(target, source, (sentence,))]) == made


@pytest.mark.parametrize("piece", ["<i>a</i> ", "a<b>b</b>", "a <img>", "<p>a", "<b title=a>c</b>"])
def test_rendering_takes_linear_time(piece):
    pages = {size: parse_html(piece * (size // len(piece))) for size in (2000, 20_000)}
    texts = {size: [same(text) for text in page.texts] for size, page in pages.items()}
    assert growth(lambda size: pages[size].render(texts[size]), 20_000) < LINEAR


def test_a_word_without_links_keeps_its_tags():
    found = translation("one two three", "a b c", [(0, 0)])
    assert parse_html("one <b>two</b> three").render([found]) == "a<b> b</b> c"


def test_translations_are_escaped():
    made = Translation("<script>alert(1)</script> & co", "x", ())
    assert parse_html("<p>x</p>").render([made]) == (
        "<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp; co</p>"
    )


def test_endless_nesting_is_refused():
    with pytest.raises(InputError, match="inside each other"):
        parse_html("<b>" * 5000)


TAGS = st.sampled_from(
    ["<b>", "</b>", "<i class='x'>", "</i>", "<i title='a'>", "<p>", "</p>", "<br>", "<!-- c -->"]
)
PARTS = st.lists(st.one_of(TAGS, st.text("abc <&;é猫", max_size=8).map(html.escape)), max_size=12)


@given(PARTS)
def test_no_tag_and_no_word_is_lost(parts):
    source = "".join(parts)
    for translate in (same, backwards):
        made = through(source, translate)
        tags = re.compile(r"<[^>]*>")
        assert sorted(tags.findall(made)) == sorted(tags.findall(source))
        letters = [
            sorted(re.sub(r"\s", "", normalize(html.unescape(tags.sub("", one)))))
            for one in (made, source)
        ]
        assert letters[0] == letters[1]
