"""What each format translates, and how translations are written; capitals stand for them."""

import io
import zipfile

import pytest

from documents.samples import docx, odt
from documents.translators import backwards, spelled, through, upper
from regard.documents.document import DocumentOptions
from regard.documents.registry import parse_document
from regard.errors import InputError

OPTIONS = DocumentOptions("en", "fr")


def made(name, source, translate=upper, **options):
    document = parse_document(source.encode(), name, DocumentOptions("en", "fr", **options))
    return through(document, translate).decode()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# one `two` {#id}\n", "# ONE `two` {#id}\n"),
        ("one\ntwo\n\n    code\n", "ONE TWO\n\n    code\n"),
        ("> one\n> two\n\nthree  \nfour", "> ONE TWO\n\nTHREE  \nFOUR"),
        (
            "- one\n  two\n\n  three\n\n      code\n1. x\n",
            "- ONE TWO\n\n  THREE\n\n      code\n1. X\n",
        ),
        ("[one](a 'two') ![three](b) <http://c>\n", "[ONE](a 'TWO') ![THREE](b) <http://c>\n"),
        (
            "see [one], [one][] and [two][one]\n\n[one]: http://x",
            "SEE [ONE][one], [ONE][one] AND [TWO][one]\n\n[one]: http://x",
        ),
        ("a|b\n-|-\nc \\| d|`e`\n\nf", "A|B\n-|-\nC \\| D|`e`\n\nF"),
        ("one\n===\n~~~\ntwo\n~~~\n", "ONE\n===\n~~~\ntwo\n~~~\n"),
        ("<div>\none <b>two</b>\n</div>\n\nthree", "<div>\nONE <b>TWO</b>\n</div>\n\nTHREE"),
        ("---\ntitle: one\nlayout: two\n---\nthree", "---\ntitle: ONE\nlayout: two\n---\nTHREE"),
        (
            "a \\*b\\* c_d 2 * 3 &lt;e&gt; f[^1] $x$\n\n[^1]: g",
            "A \\*B\\* C_D 2 * 3 \\<E> F[^1] $x$\n\n[^1]: G",
        ),
        ("one <kbd>two</kbd> <!-- three -->", "ONE <kbd>two</kbd> <!-- three -->"),
        ("- \\[ ] one\n- [ ] two\n", "- \\[ ] ONE\n- [ ] TWO\n"),
        ("***one** two* ~~three~~", "***ONE** TWO* ~~THREE~~"),
    ],
)
def test_markdown(source, expected):
    assert made("markdown", source) == expected


def test_markdown_cannot_be_made_by_a_translation():
    hostile = "# <b>x</b> [y](z) *a* `b` | 1"
    text = made("markdown", "one\n", lambda text: spelled(text, hostile))
    assert text == "\\# \\<b>x\\</b> \\[y](z) \\*a\\* \\`b\\` | 1\n"
    text = made("markdown", "a|b\n-|-\n", lambda text: spelled(text, "x | y"))
    assert text == "x \\| y|x \\| y\n-|-\n"


def test_emphasis_encloses_words_without_spaces():
    assert made("markdown", "one **two three** four", backwards) == "four **three two** one"
    swapped = spelled("one two", "deux un")._replace(alignment=[(0, 1), (1, 0)])
    assert made("markdown", "one _two_", lambda _: swapped) == "_deux_ un"
    joined = spelled("one two", "一二")._replace(words=["一", "二"])
    assert made("markdown", "one _two_", lambda _: joined) == "一*二*"  # _ is none inside a word


def test_messages():
    header = 'msgid ""\nmsgstr "Plural-Forms: nplurals=3; plural=0;\\n"\n\n'
    source = header + (
        '#. note\n#, c-format\n#| msgid "old"\nmsgctxt "c"\nmsgid ""\n"one\\n"\n"  two \\"%s\\""\n'
        'msgstr ""\n\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n\n'
        '#, fuzzy\nmsgid "c"\nmsgstr "d"\n'
    )
    assert made("po", source) == header + (
        '#. note\n#, fuzzy, c-format\n#| msgid "old"\nmsgctxt "c"\nmsgid ""\n"one\\n"\n'
        '"  two \\"%s\\""\nmsgstr ""\n"ONE\\n"\n"  TWO \\"%S\\""\n\n#, fuzzy\nmsgid "a"\n'
        'msgid_plural "b"\nmsgstr[0] "A"\nmsgstr[1] "B"\nmsgstr[2] "B"\n\n'
        '#, fuzzy\nmsgid "c"\nmsgstr "d"\n'
    )
    assert made("po", 'msgid "c"\nmsgstr "d"', fuzzy=False, replace=True) == 'msgid "c"\nmsgstr "C"'
    assert made("po", 'msgid "a"\r\nmsgstr ""\r\n') == '#, fuzzy\r\nmsgid "a"\r\nmsgstr "A"\r\n'


def test_units_of_xliff():
    source = (
        '<xliff version="2.0" srcLang="en"><file><unit><segment><source>a <pc id="1">b</pc> '
        '<ph id="2"/></source></segment>\n  <segment state="initial"><source>c</source>'
        "<target>c</target></segment></unit><unit translate='no'><segment><source>d</source>"
        "</segment></unit></file></xliff>"
    )
    assert made("xliff", source) == (
        '<xliff version="2.0" srcLang="en" trgLang="fr"><file><unit><segment state="initial">'
        '<source>a <pc id="1">b</pc> <ph id="2"/></source><target>A <pc id="1">B</pc> '
        '<ph id="2"/></target></segment>\n  <segment state="initial"><source>c</source>'
        "<target>C</target></segment></unit><unit translate='no'><segment><source>d</source>"
        "</segment></unit></file></xliff>"
    )
    start = '<xliff version="1.2"><file target-language="fr"><body xml:space="preserve">'
    end = "</trans-unit></body></file></xliff>"
    unit = "\n <trans-unit>\n  <source>a\n  b</source>\n "
    target = '<target state="translated">A\n  B</target>'
    assert (
        made("xliff", start + unit + end, fuzzy=False)
        == start + unit.replace("</source>", f"</source>\n  {target}") + end
    )


DECLARED = {
    "po": 'msgid ""\nmsgstr ""\n"Language: {}\\n"\n\nmsgid "one"\nmsgstr ""\n',
    "xliff": "<xliff version='1.2'><file target-language=''/><file target-language='{}'>"
    "<trans-unit><source>one</source></trans-unit></file></xliff>",
    "xliff 2": "<xliff version='2.0' trgLang='{}'><file><unit><segment><source>one</source>"
    "</segment></unit></file></xliff>",
    "tmx": "<tmx><header><prop type='targetlang'>{}</prop></header>"
    "<tu><tuv lang='en'><seg>one</seg></tuv></tu></tmx>",
}


@pytest.mark.parametrize("form", DECLARED)
def test_the_declared_target_language_is_that_of_the_translation(form):
    name = form.partition(" ")[0]
    for same in ("fr", "fr-CA", "fr_FR.UTF-8", "FRA", "French", ""):
        assert "ONE" in made(name, DECLARED[form].format(same)), same
    for other in ("de", "de_AT@euro", "ger", "tlh"):
        source = DECLARED[form].format(other)
        with pytest.raises(InputError, match=r"^the document: the file declares .*French \(fr\)"):
            made(name, source)
        assert "ONE" in made(name, source, force_language=True)


def test_units_of_a_memory():
    source = "<tmx><tu>\n <tuv xml:lang='en-GB'>\n  <seg>a</seg>\n </tuv>\n</tu></tmx>"
    new = ' <tuv xml:lang="fr">\n  <seg>A</seg>\n </tuv>\n'
    assert made("tmx", source) == source.replace("</tu>", f"{new}</tu>")
    empty = "<tmx><tu><tuv lang='en'><seg>a</seg></tuv><tuv lang='fr-CA'><seg/></tuv></tu></tmx>"
    assert made("tmx", empty) == empty.replace("<seg/>", "<seg>A</seg>")
    with pytest.raises(InputError, match="languages to translate from and to must be known"):
        parse_document(source.encode(), "tmx", DocumentOptions())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a: one # c\n", "a: ONE # c\n"),
        ("a: 'it''s'\nb: \"x \\\"y\\\"\"\n", "a: 'IT''S'\nb: \"X \\\"Y\\\"\"\n"),
        (
            "a: |\n  one\n    two\n\nb: >-\n  x\n  y\n\n  z\n",
            "a: |\n  ONE\n    TWO\n\nb: >-\n  X Y\n\n  Z\n",
        ),
        ("a: &x one\nb: *x\nc: [d, {e: f}]\n", "a: &x ONE\nb: *x\nc: [D, {e: F}]\n"),
        ("a: yes\nb: 2024-01-01\nc: http://x.y", "a: yes\nb: 2024-01-01\nc: http://x.y"),
        ("a: plain\n  goes on\n", "a: PLAIN GOES ON\n"),
    ],
)
def test_yaml(source, expected):
    assert made("yaml", source) == expected


def test_yaml_is_quoted_where_it_must_be():
    for target, written in [("no", "'no'"), ("a: b", "'a: b'"), ("- x", "'- x'"), ("12", "'12'")]:
        assert (
            made("yaml", "a: one\n", lambda text, t=target: spelled(text, t)) == f"a: {written}\n"
        )


def test_json_keeps_its_escapes():
    assert made("json", '{"a": "caf\\u00e9 \\/ x"}') == '{"a": "CAF\\u00c9 \\/ X"}'
    assert (
        made("json", '["é <b>x</b>\\n y", "http://z", 1]') == '["É <b>X</b>\\n Y", "http://z", 1]'
    )
    assert made("json", '["a &amp; b"]') == '["A &amp; B"]'


def test_subtitles():
    times = "1\n00:00:01,000 --> 00:00:02,000 X1:40\n"
    source = f"{times}<i>one two</i>\nthree four\n\n{times}- five\n- six --> x\n"
    assert made("srt", source) == (
        f"{times}<i>ONE TWO</i>\nTHREE FOUR\n\n{times}- FIVE\n- SIX → X\n"
    )
    assert made("vtt", "WEBVTT a\n\nNOTE b\n\n00:01.000 --> 00:02.000\n<v Bob>c &amp; d</v>\n") == (
        "WEBVTT a\n\nNOTE b\n\n00:01.000 --> 00:02.000\n<v Bob>C &amp; D</v>\n"
    )


def member(data, name):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(name).decode()


def run(text, form=""):
    return f'<w:r>{form}<w:t xml:space="preserve">{text}</w:t></w:r>'


def test_runs_follow_their_words():
    bold = "<w:rPr><w:b/></w:rPr>"
    code = '<w:rPr><w:rStyle w:val="VerbatimChar"/></w:rPr>'
    link = '<w:hyperlink r:id="a">{}</w:hyperlink>'
    parts = [run("one "), run("two", bold), run(" "), link.format(run("three", bold)), run(" ")]
    data = docx(f"<w:p>{''.join(parts)}{run('x', code)}</w:p>")
    document = parse_document(data, "docx", OPTIONS)
    assert document.texts == ["one two three `x`"]
    text = member(through(document, backwards), "word/document.xml")
    assert text.partition("<w:p>")[2].startswith(
        run("x", code) + run(" ") + link.format(run("three", bold)) + run(" ") + run("two", bold)
    )


def test_order_of_an_archive_is_kept():
    for data, name, text in [
        (docx(f"<w:p>{run('a')}</w:p>"), "docx", "word/document.xml"),
        (odt("<text:p>a</text:p>"), "odt", "content.xml"),
    ]:
        changed = through(parse_document(data, name, OPTIONS), upper)
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(io.BytesIO(changed)) as new:
            assert old.namelist() == new.namelist()
            assert [own.compress_type for own in old.infolist()] == [
                own.compress_type for own in new.infolist()
            ]
            assert [n for n in old.namelist() if old.read(n) != new.read(n)] == [text]


def test_an_encoding_without_the_letters_of_the_translation():
    options = DocumentOptions("en", "fr", encoding="latin-1")
    for name, source, expected in [
        ("html", "<p>é", b"<p>&#23383;"),
        ("markdown", "é", b"&#23383;"),
    ]:
        document = parse_document(source.encode("latin-1"), name, options)
        assert through(document, lambda text: spelled(text, "字")) == expected
    document = parse_document(b"a: b", "yaml", options)
    with pytest.raises(InputError, match="'字', which latin-1 cannot write"):
        through(document, lambda text: spelled(text, "字"))
