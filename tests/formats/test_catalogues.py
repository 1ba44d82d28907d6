"""TMX, PO and XLIFF as translation tools write them."""

import gzip
import subprocess
import sys

import pytest

from regard.corpus.pairs import clean
from regard.errors import InputError
from regard.formats import ReadReport, read_pairs

TMX = """<?xml version="1.0" encoding="{encoding}"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
  <header srclang="en-US" datatype="plaintext" segtype="sentence"/>
  <body>
    <tu tuid="1">
      <note>a note</note>
      <tuv xml:lang="en-US"><prop type="x">y</prop><seg>The animal &amp; the street.</seg></tuv>
      <tuv xml:lang="FR-fr"><seg>L'animal &amp; la rue.</seg></tuv>
    </tu>
    <tu>
      <tuv xml:lang="fr"><seg>Un mot <bpt>&lt;b&gt;</bpt>gras<ept>&lt;/b&gt;</ept>.</seg></tuv>
      <tuv xml:lang="en-GB"><seg>A bold<!-- so --> <hi>word</hi>.</seg></tuv>
      <tuv xml:lang="en"><seg>A <ph>{{x}}</ph>bold word.</seg></tuv>
    </tu>
    <tu><tuv xml:lang="en"><seg>No French</seg></tuv><tuv xml:lang="de"><seg>X</seg></tuv></tu>
    <tu><tuv lang="en"><seg>Old</seg></tuv><tuv lang="fr"><seg>Vieux</seg></tuv></tu>
  </body>
</tmx>
"""

PO = r"""# Copyright
msgid ""
msgstr ""
"Language: fr_FR\n"
"Content-Type: text/plain; charset={charset}\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\n"

#: main.c:1
msgid "Hello, \"world\"!"
msgstr "Bonjour, « monde » !"

#, fuzzy
msgid "Guess"
msgstr "Devine"

msgid "Untranslated"
msgstr ""

msgctxt "menu"
msgid ""
"Two\n"
"lines"
msgstr ""
"Deux\n"
"lignes"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d fichier"
msgstr[1] "%d fichiers"

#~ msgid "Gone"
#~ msgstr "Parti"
"""

XLIFF_1 = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file original="a" source-language="en-US" target-language="fr" datatype="plaintext"><body>
  <trans-unit id="1"><source>Hello <g id="1">big</g> world<x id="2"/>.</source>
   <target state="translated">Bonjour le <g id="1">grand</g> monde<x id="2"/>.</target>
   <alt-trans><target>Salut</target></alt-trans></trans-unit>
  <group><trans-unit id="2"><source>Untranslated</source></trans-unit></group>
  <trans-unit id="3"><source>Later</source><target state="needs-translation">X</target></trans-unit>
  <trans-unit id="4" translate="no"><source>Code</source><target>Code</target></trans-unit>
 </body></file>
 <file original="b" source-language="en" target-language="fr"><body>
  <trans-unit id="1"><source>Bye</source><target>Adieu</target></trans-unit>
 </body></file>
</xliff>
"""

XLIFF_2 = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="2.0" srcLang="en" trgLang="fr" xmlns="urn:oasis:names:tc:xliff:document:2.0">
 <file id="f1"><unit id="1">
  <notes><note>n</note></notes>
  <segment><source>One <pc>two</pc>.</source><target>Un <pc>deux</pc>.</target></segment>
  <segment state="initial"><source>Three.</source><target>?</target></segment>
  <segment state="final"><source>Bell<cp hex="00e9"/>.</source><target>Cloche.</target></segment>
 </unit><unit id="2"><segment><source>Alone</source></segment></unit></file>
</xliff>
"""


def read(tmp_path, name, content, languages=("en", "fr")):
    data = content.encode() if isinstance(content, str) else content
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return list(read_pairs(path, languages))


def sides(pairs):
    return [(pair.source, pair.target) for pair in pairs]


TMX_PAIRS = [
    ("The animal & the street.", "L'animal & la rue."),
    ("A bold word.", "Un mot gras."),
    ("Old", "Vieux"),
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
@pytest.mark.parametrize("name", ["a.tmx", "a.tmx.gz"])
def test_tmx(tmp_path, name, encoding):
    declared = encoding.removesuffix("-sig").upper()
    pairs = read(tmp_path, name, TMX.format(encoding=declared).encode(encoding))
    assert sides(pairs) == TMX_PAIRS
    assert [pair.line for pair in pairs] == [6, 11, 17]


def test_tmx_reversed_and_by_region(tmp_path):
    content = TMX.format(encoding="UTF-8")
    backwards = [(target, source) for source, target in TMX_PAIRS]
    assert sides(read(tmp_path, "a.tmx", content, ("fr", "en"))) == backwards
    assert sides(read(tmp_path, "a.tmx", content, ("en-gb", "fr"))) == [
        ("A bold word.", "Un mot gras.")
    ]


def test_tmx_without_the_languages_says_which_there_are(tmp_path):
    content = TMX.format(encoding="UTF-8")
    with pytest.raises(InputError, match="FR-fr, de, en, en-GB, en-US, fr"):
        read(tmp_path, "a.tmx", content, ("en", "zh"))
    with pytest.raises(InputError, match="name the two"):
        read(tmp_path, "a.tmx", content, None)


def test_tmx_does_not_load_other_files(tmp_path):
    (tmp_path / "secret").write_text("secret")
    doctype = f'<!DOCTYPE tmx [<!ENTITY s SYSTEM "file://{tmp_path}/secret">]>'
    unit = "<tu><tuv xml:lang='en'><seg>a&s;b</seg></tuv><tuv xml:lang='fr'><seg>c</seg></tuv></tu>"
    pairs = read(tmp_path, "a.tmx", f"{doctype}<tmx><body>{unit}</body></tmx>")
    assert sides(pairs) == [("ab", "c")]


PEAK = """
import resource, sys
from lxml import etree
from regard.formats import ReadReport, read_pairs
pairs = read_pairs(sys.argv[1], ("en", "fr"))
next(pairs)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert sum(1 for _ in pairs) == 39999
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_large_tmx_is_streamed(tmp_path):
    unit = "<tu><tuv xml:lang='en'><seg>a b</seg></tuv><tuv xml:lang='fr'><seg>c</seg></tuv></tu>\n"
    path = tmp_path / "a.tmx"
    path.write_text(f"<tmx><body>\n{unit * 40_000}</body></tmx>")
    command = [sys.executable, "-c", PEAK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 8000  # kB; read whole it takes some 60,000


PO_PAIRS = [
    ('Hello, "world"!', "Bonjour, « monde » !"),
    ("Two\nlines", "Deux\nlignes"),
    ("%d file", "%d fichier"),
    ("%d files", "%d fichiers"),
]


@pytest.mark.parametrize("charset", ["zlib", "rot13", "punycode", "utf-7", "idna", "base64"])
def test_a_charset_that_is_no_encoding_of_files(tmp_path, charset):
    path = tmp_path / "fr.po"
    path.write_text(PO.format(charset=charset), "utf-8")
    with pytest.raises(InputError, match=f"line 5: the encoding {charset} is unknown; convert"):
        list(read_pairs([path], ("en", "fr")))


@pytest.mark.parametrize("charset", ["UTF-8", "ISO-8859-1", "CHARSET", "utf-8-sig"])
@pytest.mark.parametrize("name", ["a.po", "a.po.gz"])
def test_po(tmp_path, name, charset):
    declared = "UTF-8" if charset == "utf-8-sig" else charset
    data = PO.format(charset=declared).encode("UTF-8" if charset == "CHARSET" else charset)
    pairs = read(tmp_path, name, data)
    assert sides(pairs) == PO_PAIRS
    assert [pair.line for pair in pairs] == [8, 19, 27, 27]


def test_po_with_windows_line_ends(tmp_path):
    data = PO.format(charset="UTF-8").replace("\n", "\r\n")
    assert sides(read(tmp_path, "a.po", data)) == PO_PAIRS


def test_po_reversed_and_of_another_language(tmp_path):
    content = PO.format(charset="UTF-8")
    backwards = [(target, source) for source, target in PO_PAIRS]
    assert sides(read(tmp_path, "a.po", content, ("fr", "en"))) == backwards
    assert sides(read(tmp_path, "a.po", content, None)) == PO_PAIRS
    with pytest.raises(InputError, match="must be en and zh, got"):
        read(tmp_path, "a.po", content, ("en", "zh"))


def test_po_with_one_plural_form_is_paired_with_both(tmp_path):
    content = (
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nPlural-Forms: nplurals=1; '
        'plural=0;\\n"\n\nmsgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "%d 个文件"\n'
    )
    assert sides(read(tmp_path, "zh.po", content, ("en", "zh"))) == [
        ("%d file", "%d 个文件"),
        ("%d files", "%d 个文件"),
    ]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (PO.format(charset="UTF-8").encode("latin-1"), 10),
        (PO.format(charset="x-nonsense").encode(), 5),
        (PO.format(charset="UTF-8").encode() + b'\nmsgid "open\nmsgstr nothing\n', 35),
    ],
    ids=["latin-1", "unknown charset", "syntax"],
)
def test_broken_po_names_the_line(tmp_path, content, line):
    with pytest.raises(InputError, match=rf"^{tmp_path}/a\.po, line {line}: .*\.$"):
        read(tmp_path, "a.po", content)


@pytest.mark.parametrize("name", ["a.xlf", "a.xliff", "a.xlf.gz"])
def test_xliff_1(tmp_path, name):
    pairs = read(tmp_path, name, XLIFF_1)
    assert sides(pairs) == [
        ("Hello big world.", "Bonjour le grand monde."),
        ("Bye", "Adieu"),
    ]
    assert [pair.line for pair in pairs] == [4, 12]


def test_xliff_2(tmp_path):
    pairs = read(tmp_path, "a.xlf", XLIFF_2)
    assert sides(pairs) == [("One two.", "Un deux."), ("Bellé.", "Cloche.")]
    assert sides(read(tmp_path, "a.xlf", XLIFF_2, ("fr", "en")))[0] == ("Un deux.", "One two.")
    with pytest.raises(InputError, match="line 5: the languages must be de and fr, got en and fr"):
        read(tmp_path, "a.xlf", XLIFF_2, ("de", "fr"))


@pytest.mark.parametrize("name", ["a.tmx", "a.xlf"])
def test_broken_xml_names_the_line(tmp_path, name):
    content = (TMX.format(encoding="UTF-8") if name == "a.tmx" else XLIFF_1).splitlines()
    content[8] = "<seg>unclosed & wrong"
    with pytest.raises(InputError, match=rf"^{tmp_path}/{name}, line \d+: .*well-formed.*\.$"):
        read(tmp_path, name, "\n".join(content))


def test_xml_of_another_kind_is_not_xliff(tmp_path):
    with pytest.raises(InputError, match="not an XLIFF document"):
        read(tmp_path, "a.xlf", "<html><body/></html>")


def test_importing_the_package_is_cheap():
    heavy = "sentencepiece translate lxml torch numpy"
    modules = (
        "regard.formats, regard.text, regard.text.sentencepiece_tokenizer, regard.corpus.pairs"
    )
    script = f"import sys, {modules}; print(sorted(set(sys.modules) & set('{heavy}'.split())))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("a.po", PO.format(charset="UTF-8"), {"fuzzy or unfinished": 1, "untranslated": 1}),
        ("a.xlf", XLIFF_1, {"fuzzy or unfinished": 1, "untranslated": 1}),
        ("a.tmx", TMX.format(encoding="UTF-8"), {"a language is missing": 1}),
    ],
)
def test_skipped_entries_are_in_the_table(tmp_path, name, content, rows):
    path = tmp_path / name
    path.write_text(content, "utf-8")
    passed_over = ReadReport()
    _, report = clean(read_pairs(path, ("en", "fr"), report=passed_over), passed_over=passed_over)
    table = {what: (number, where) for what, number, where in report.rows()}
    for what, number in rows.items():
        counted, where = table.pop(f"skipped: {what}")
        assert counted == number and where.startswith(f"{path}:")
    assert not [what for what in table if what.startswith("skipped")]
