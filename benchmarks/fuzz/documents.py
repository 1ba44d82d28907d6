"""Targets: every format of documents, read and then rendered with its words in another order."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from benchmarks.fuzz.target import MakeTarget, Target
from regard.documents.document import DocumentOptions
from regard.documents.registry import FORMATS

SEEDS = {
    "text": "One  two\r\n\r\nthree.\n",
    "html": "<!DOCTYPE html><html lang=en><p title='a &amp; b'>one <b>two <i>three</b></i>&nbsp;"
    "<br><script>a<b</script><svg><![CDATA[x]]></svg><!-- no --><table><td>four</table></html>",
    "markdown": "---\ntitle: one\n---\n# one `code` *two* {#id}\n\n"
    '> a **b _c_** [d](e "f") ![g](h)\n'
    "> <https://i.j>  \n\n- k\n  1) l\n\n| a | b |\n|:--|--:|\n| c \\| d | e |\n\n```js\nx\n```\n\n"
    "<div>\n<!-- no -->\n</div>\n\n[m]: http://n.o 'p'\n",
    "po": 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
    '"Plural-Forms: nplurals=2; plural=n>1;\\n"\n\n#, c-format\nmsgctxt "a"\n'
    'msgid "one <b>%s</b>"\nmsgid_plural "two"\nmsgstr[0] ""\nmsgstr[1] ""\n\n'
    '#~ msgid "three"\n#~ msgstr ""\n',
    "xliff": "<?xml version='1.0'?><xliff version='1.2'><file source-language='en'><body>"
    "<trans-unit id='1'><source>one &amp; <g id='2'>two</g></source><target/></trans-unit>"
    "<trans-unit translate='no'><source>three</source></trans-unit></body></file></xliff>",
    "tmx": "<tmx version='1.4'><!-- < --><body><tu><tuv xml:lang='en'><seg>one &#x62;<ph>&lt;br>"
    "</ph></seg></tuv><tuv xml:lang='fr'><seg>un</seg></tuv></tu></body></tmx>",
    "srt": "1\n00:00:01,000 --> 00:00:02,000\n<i>one</i>\ntwo {\\an8}three\n\n",
    "vtt": "WEBVTT\n\nNOTE a\n\nSTYLE\n::cue { a: b }\n\nid\n00:01.000 --> 00:02.000 line:0\n"
    "- <v Bob>one &amp; two\n",
    "json": '{"a": "one <0/> two\\n three", "b": ["four", 1.5e3, null, "\\ud83d\\ude00 five"]}',
    "yaml": "%YAML 1.1\n---\na: &b  one two # c\n'd': 'don''t'\ne: \"f\\u00e9 \\\n  g\"\nh: |+\n"
    " i\nj: >-\n  k\n\n  l\nm: [n, {o: p}]\nq: *b\n? complex key\n: r\n",
    "docx": '<w:p w:rsidR="1"><w:pPr><w:pStyle w:val="Code"/></w:pPr><w:r>'
    "<w:t xml:space='preserve'>one </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>two</w:t>"
    "<w:tab/></w:r><w:hyperlink r:id='a'>"
    "<w:r><w:t>three</w:t></w:r></w:hyperlink></w:p>",
    "odt": '<text:p text:style-name="P1">one<text:s text:c="2"/><text:span>two</text:span> &amp; '
    "<text:note><text:note-body><text:p>three</text:p></text:note-body></text:note>"
    "<text:line-break/></text:p>",
}
"""A small document of each format; of an office format, the paragraphs in it."""

WORDS = (
    "\\ \r \r\n \n\n --- | ` ``` < > </ /> <!-- --> <? ?> &# &#x &amp; ]]> <![CDATA[ <!DOCTYPE { } "
    "[ ] ]( ![ \" ' \0 \ufeff \u2028 \t % * ** _ - : ? & ! | > # ~~~ |-- :-- <a <b> </b> <p> "
    "<pre> <script> <table> <svg> <br/> msgid msgstr msgstr[9] msgctxt #, #~ charset=utf-16 "
    "encoding='ascii' --> WEBVTT {\\an8} %s <source> <target> <seg> <tuv <g <ph> xml:lang='en' "
    "translate='no' "
    "\\u0000 \\ud800 !!int !!binary 1e999 <w:p> </w:p> <w:r> <w:t> <w:tab/> "
    "<text:p> <text:s text:c='9'/>"
)
"""What readers have rules for."""
TOKENS = tuple(word.encode() for word in WORDS.split(" ") if word)

SPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


class ReorderedText(NamedTuple):
    """A translation, its words and their links."""

    text: str
    source_words: list[str]
    words: list[str]
    alignment: list[tuple[int, int]]


def reorder(text: str) -> ReorderedText:
    """A translation that has the words in the other order.

    >>> reorder("one two").text
    'two one'
    """
    words = text.split()
    links = [(number, len(words) - 1 - number) for number in range(len(words))]
    return ReorderedText(" ".join(words[::-1]), words, words[::-1], links)


def translate(form: str, data: bytes) -> bytes:
    """A document with its words in another order."""
    options = DocumentOptions("en", "fr", replace=len(data) % 2 == 1, name="the file")
    document = FORMATS[form].parse(data, options)
    assert document.has_markup in (True, False)
    return document.render([reorder(text) for text in document.texts])


def office_file(form: str, content: bytes) -> bytes:
    """An office document with paragraphs."""
    if form == "docx":
        name = "word/document.xml"
        begin, end = f"<w:document {SPACE}><w:body>", "</w:body></w:document>"
    else:
        name = "content.xml"
        begin, end = '<office:document-content xmlns:office="o">', "</office:document-content>"
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        archive.writestr(name, begin.encode() + content + end.encode())
    return output.getvalue()


def _target(read: Callable[[bytes], object], seed: bytes) -> MakeTarget:
    return lambda _: Target(read, [seed], TOKENS)


def _targets() -> Mapping[str, MakeTarget]:
    targets: dict[str, MakeTarget] = {}
    for form, text in SEEDS.items():
        seed = text.encode()
        if FORMATS[form].is_binary:
            targets[f"{form}-text"] = _target(_inside(form), seed)
            seed = office_file(form, seed)
        targets[form] = _target(partial(translate, form), seed)
    return targets


def _inside(form: str) -> Callable[[bytes], object]:
    return lambda content: translate(form, office_file(form, content))


DOCUMENTS = _targets()
