"""The HTML tokenizer: nothing is lost, tokens end where browsers end them, time is linear."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import LINEAR, growth
from regard.documents.html import parse_html
from regard.documents.html.tokens import tokens

FRAGMENTS = (
    *("<!--", "-->", "--!>", "<!-->", "<!--->", "-- >", "<!x", "</ x", "<?x", "<", ">", "/>"),
    *("<p>", "</p>", "<b title='x y'>", "</b>", "<i title=a\u00a0/b=1>", "<a b=", "'", '"', "="),
    *("<script>", "</script>", "</ script>", "<!--<script>", "<textarea>", "</textarea>", "/"),
    *("<title>", "</title>", "<style>", "</STYLE >", "<xmp>", "<noscript>", "<plaintext>", "</"),
    *("<svg>", "<svg/>", "</svg>", "<g>", "<desc>", "</desc>", "<math>", "<mi>", "</mi>", " "),
    *("</math>", "<![CDATA[", "]]>", "<template>", "<select>", "<col>", "<code>", "</code>", "a"),
    *("one two ", "&lt;", "猫", "\r\n"),
)
SOURCES = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=3)), max_size=20)


def cut(source):
    return [(token.kind, token.raw) for token in tokens(source)]


@given(SOURCES.map("".join))
def test_no_character_is_lost(source):
    assert "".join(token.raw for token in tokens(source)) == source


@given(SOURCES.map("".join))
def test_attribute_spans(source):
    for token in tokens(source):
        for name, start, end, quote in token.values:
            assert token.kind == "start" and name and start <= end < len(token.raw)
            if quote:
                assert token.raw[start - 1] == token.raw[end] == quote
                assert quote not in token.raw[start:end]
            else:
                assert not set(token.raw[start:end]) & set("\t\n\f\r >")


@pytest.mark.parametrize(
    ("source", "first"),
    [
        ("<!-- x -- ><p>--> y", "<!-- x -- ><p>-->"),
        ("<!-- x --!>y-->", "<!-- x --!>"),
        ("<!-->y-->", "<!-->"),
        ("<!--->y-->", "<!--->"),
        ("<!--!>y-->z", "<!--!>y-->"),
        ("<!-- <!-- -->y", "<!-- <!-- -->"),
        ("</ p>y", "</ p>"),
        ("</>y", "</>"),
        ("<?x?>y", "<?x?>"),
        ("<![CDATA[ a > ]]>", "<![CDATA[ a >"),
        ("<!doctype html>y", "<!doctype html>"),
    ],
)
def test_comments_and_the_like(source, first):
    assert cut(source)[0] == ("comment", first)


@pytest.mark.parametrize("source", ["<!-- x", "<!-", "<p title='x>", "<p ", "</p", "<?x"])
def test_an_unclosed_token_is_the_rest(source):
    assert cut(f"a{source} <p>y"[: len(source) + 1]) == [("text", "a"), ("rest", source)]


@pytest.mark.parametrize(
    ("source", "content"),
    [
        ("<script>a</ script>b</scripts>c</SCRIPT\n>", "a</ script>b</scripts>c"),
        ("<script><!--<script></script>--></script>", "<!--<script></script>-->"),
        ("<script><!--</script>-->", "<!--"),
        ("<script><!--><script></script>", "<!--><script>"),
        ("<script><!--<scripts></script>", "<!--<scripts>"),
        ("<textarea><p></ textarea></textarea>", "<p></ textarea>"),
        ("<title>a<b>&lt;</title>", "a<b>&lt;"),
        ("<style></ſtyle></style>", "</ſtyle>"),
        ("<plaintext></plaintext>", "</plaintext>"),
    ],
)
def test_content_without_tags(source, content):
    assert cut(source)[1][1] == content


def test_attributes():
    (token,) = tokens("<IMG a alt='x>y' ALT=z =b c = \"d\" e=f/g h=\u00a0i/ />")
    found = {one.name: token.raw[one.start : one.end] for one in token.values}
    assert found == {"alt": "x>y", "c": "d", "e": "f/g", "h": "\u00a0i/"}
    assert token.name == "img" and token.self_closing
    assert not next(tokens("<a b=c/>")).self_closing


def test_foreign_content_has_its_own_rules():
    drawing = "<svg><style><a/></style><![CDATA[</svg>]]><desc><p>x</p></desc></svg>"
    assert [token.foreign for token in tokens(f"{drawing}<p>")] == [True] * 11 + [False]
    left = "<svg><p><style></svg>"  # a browser leaves the drawing at <p>
    assert cut(left) == [("start", "<svg>"), ("rest", "<p><style></svg>")]


ENDLESS = (
    *("<a ", '<p title="', "<!--", "<i>a</i> ", "</ ", "<", "<svg><g>", "<p><button>", "<a b='"),
    *("a<b>b</b>", "<li>", "<script><!--", "</b>", "<b translate=no>", "a<sup>1</sup>", "<svg>"),
    *("<![CDATA[", "<table><td>", "-", "<title>", "<img alt=a> ", "<code>x</code> "),
)


@pytest.mark.parametrize("piece", ENDLESS)
def test_time_is_linear(piece):
    assert growth(lambda size: parse_html(piece * (size // len(piece))), 20_000) < LINEAR
