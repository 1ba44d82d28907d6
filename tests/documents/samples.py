"""A nasty file or several of every format of documents."""

import io
import zipfile


def archive(members):
    """A zip archive."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return output.getvalue()


def docx(body):
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    start = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'
    text = f"{start}<w:document {space}><w:body>{body}</w:body></w:document>"
    return archive({"[Content_Types].xml": "<Types/>", "word/document.xml": text, "a.png": "x"})


def odt(body):
    text = f'<office:document-content xmlns:office="o">{body}</office:document-content>'
    return archive({"mimetype": "application/vnd", "content.xml": text, "meta.xml": "<a/>"})


PO = """\
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\nPlural-Forms: nplurals=2; plural=n>1;\\n"

#  a comment
#, c-format
msgctxt "menu"
msgid "open <b>%s</b>"
msgstr "ouvrir <b>%s</b>"

#~ msgid "gone"
#~ msgstr ""
"""
XLIFF = (
    "<?xml version='1.0'?><!DOCTYPE xliff [<!ENTITY a 'b'>]>\n<xliff version='1.2'><file  "
    "source-language='en'><body><trans-unit id=\"1\" ><source>a &a; <g id='1'>b</g></source>"
    "<target state='final' ><![CDATA[x]]></target><alt-trans><target/></alt-trans></trans-unit>"
    "<trans-unit translate='no'><source>no</source></trans-unit></body></file></xliff >"
)
TMX = (
    "<tmx version='1.4'><!-- < --><body><tu><tuv xml:lang='EN-us'><seg>a &#x62;</seg></tuv>\n"
    '<tuv xml:lang="fr" ><seg>c<ph>&lt;br></ph></seg></tuv></tu></body></tmx>'
)
SRT = (
    "1\n00:00:01,000 --> 00:00:02,000\n<i>one</i>\ntwo {\\an8}three\n\n2\n00:00:03,000 --> x\nno\n"
)
VTT = (
    "WEBVTT - title\n\nNOTE a b\nc\n\nSTYLE\n::cue { a: b }\n\nid\n00:01.000 --> 00:02.000 line:0\n"
    "- <v Bob>one &amp; two\n- three <00:01.500>four\n"
)
MARKDOWN = """\
---
title: "a page"
layout: post
---
# one `code` *two* {#id}

a **b _c_** [d *e*](f "g") ![h](i) <https://j.k> <b class='x'>l</b> &copy; \\*m\\*
n [o][p] [p] $x_1$ snake_case 2 * 3\x20\x20
after a break

> quote
> > deeper
lazy

- item
  goes on

      code
* * *
1) [x] done
```js
let a = "b";
```

| a | `b` |
|:--|--:|
| c \\| d | e |

<div align=center>
<!-- no --> text <br/>
</div>

[p]: http://q.r 'title'
[^1]: a note
"""
YAML = """\
%YAML 1.1
---
# a comment
a: &b  one two   # more
'c': 'don''t'
"d": "e\\u00e9 \\
  f"
g: |+
   line one
     two

h: >-
  folded
  text

  more
i: [j, "k", {l: m n}]
o: *b
p: yes
q: !!str r
? complex key
: s
t: 12:30
...
"""
JSON = (
    '{\n\t"a" : "b <0/> c\\n d", "e":[ "f", 1.50, null, "\\ud83d\\ude00 g" ],'
    '\r\n"h": {"i":"j\\/k"} }\n'
)
RUNS = (
    '<w:p w:rsidR="1"><w:pPr><w:jc w:val="left"/></w:pPr><w:r><w:t xml:space="preserve">one '
    "</w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>two</w:t><w:tab/><w:t>three</w:t></w:r>"
    '<w:hyperlink r:id="r"><w:r><w:t>four</w:t></w:r></w:hyperlink><w:r><w:pict><w:txbxContent>'
    "<w:p><w:r><w:t>five</w:t></w:r></w:p></w:txbxContent></w:pict></w:r></w:p><w:p/>"
)
TEXT_P = (
    '<text:p text:style-name="P1">one<text:s text:c="2"/><text:span text:style-name="T1">two'
    "</text:span> &amp; <text:note><text:note-body><text:p>three</text:p></text:note-body>"
    "</text:note><text:line-break/>four<text:bookmark-start text:name='a'/></text:p>"
)
HTML = (
    "<!DOCTYPE html>\r\n<html dir=rtl><p title='a &amp; b'>one <b>two <i>three</b></i>&nbsp;four"
    "<br>\tمرحبا <bdi>שלום</bdi><script>a<b</script><svg><![CDATA[x]]></svg><!-- no --></html>"
)
FILES = {
    "text": ["one\r\n\r\n  two \t\nthree", "\u202eabc\u2028d", "1 2 3\n"],
    "html": [HTML, "a &lt; b &quot;c&quot; &copy d"],
    "markdown": [MARKDOWN, MARKDOWN.replace("\n", "\r\n"), "***a*** b__c__", "    code\n\ta"],
    "po": [PO, PO.replace("\n", "\r\n"), "", "# only\n"],
    "xliff": [XLIFF],
    "tmx": [TMX],
    "srt": [SRT, SRT.replace("\n", "\r\n"), ""],
    "vtt": [VTT],
    "json": [JSON, '"one"', "[]", '{"a":"' + "b " * 500 + '"}'],
    "yaml": [YAML, "one", "- a\n- 'b'\n", "a: >\n b\n  c\n d\n"],
    "docx": [docx(RUNS)],
    "odt": [odt(TEXT_P)],
}

LONG = {
    "text": "one two ",
    "html": "a <b>b</b> &amp; ",
    "markdown": "**a** [b](c) `d` _e_ ",
    "srt": "<i>a</i> b ",
    "vtt": "<i>a</i> &amp; b ",
}
BEFORE = {"srt": "1\n00:00:01,000 --> 00:00:02,000\n", "vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\n"}
AROUND = {
    "po": ('msgid "', "a <b>b</b> ", '"\nmsgstr ""\n'),
    "xliff": (
        "<xliff version='1.2'><file><trans-unit><source>",
        "a <g id='1'>b</g> &amp; ",
        "</source></trans-unit></file></xliff>",
    ),
    "tmx": (
        "<tmx><tu><tuv xml:lang='en'><seg>",
        "a <bpt i='1'/>b<ept i='1'/> ",
        "</seg></tuv></tu></tmx>",
    ),
    "json": ('["', "a <b>b</b> ", '"]'),
    "yaml": ("['", "a <b>b</b> ", "']"),
    **{name: (BEFORE.get(name, ""), piece, "\n") for name, piece in LONG.items()},
}
MEMBERS = {
    "docx": (
        docx,
        "<w:p>",
        "<w:r><w:t>a </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>b</w:t></w:r>",
        "</w:p>",
    ),
    "odt": (odt, "<text:p>", "a <text:span>b</text:span> ", "</text:p>"),
}


def one_line(name, size):
    """A document of a format with one long line."""
    if name in MEMBERS:
        make, before, piece, after = MEMBERS[name]
        return make(before + piece * (size // len(piece)) + after)
    before, piece, after = AROUND[name]
    return (before + piece * (size // len(piece)) + after).encode()


CASES = [(name, number) for name, files in FILES.items() for number in range(len(files))]


def data_of(name, number):
    """The bytes of a file."""
    content = FILES[name][number]
    return content if isinstance(content, bytes) else content.encode()
