"""Plain text, TSV and JSON Lines: encodings, line ends, columns, keys, compression."""

import bz2
import gzip
import json
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import InputError
from regard.formats import (
    RawPair,
    ReadReport,
    read_aligned,
    read_lines,
    read_pairs,
    write_lines,
    write_tsv,
)

LINES = ["The animal", "crossed", "", "the street."]


@pytest.fixture
def put(tmp_path):
    """Write a file of the test's folder, compressed as its suffix says."""
    compressions = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}

    def put(name, content):
        data = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(compressions.get(path.suffix, bytes)(data))
        return path

    return put


def sides(pairs):
    return [(pair.source, pair.target) for pair in pairs]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["bare", "bom"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "unended"])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.bz2", "a.txt.xz"])
def test_byte_order_marks_and_line_ends(put, mark, end, last, name):
    content = end.join(LINES) + (end if last else "")
    assert list(read_lines(put(name, mark + content.encode()))) == LINES


def test_only_newlines_split(put):
    line = "a\u2028b\u0085c\x0cd\x1ce\rf"
    assert list(read_lines(put("a.txt", f"{line}\n{line}\r\n"))) == [line, line]


def test_an_empty_file_has_no_lines(put):
    assert list(read_lines(put("a.txt", ""))) == []


@pytest.mark.parametrize(
    "name", ["a.tsv", "a.jsonl", "a.tmx", "a.po", "a.xlf", "a.txt", "a.tsv.gz"]
)
def test_an_empty_file_of_pairs_says_so(put, name):
    with pytest.raises(InputError, match=rf"{name}: the file is empty; give a file with text"):
        list(read_pairs(put(name, ""), ("en", "fr")))
    full = put("full.fr", "x\n")
    with pytest.raises(InputError, match=rf"{name}: the file is empty"):
        list(read_pairs([full, put(name, "")]))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "UTF-8"])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.tsv", "a.jsonl"])
def test_a_named_encoding(put, name, encoding):
    text = '{"source": "café", "target": "thé"}\n' if "json" in name else "café\tthé\r\nç\tœ\n"
    text = text if encoding != "latin-1" else text.replace("œ", "ö")
    path = put(name, text.encode(encoding))
    assert next(read_pairs(path, encoding=encoding))[:2] == ("café", "thé")
    assert list(read_lines(path, encoding)) == text.replace("\r", "").splitlines()


def test_a_wrong_encoding(put):
    path = put("a.txt", "a\nb\ncaf\u00e9\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"a\.txt, line 3: not valid ascii; give"):
        list(read_lines(path, "ascii"))
    for name in ("klingon", "base64", "no\0name"):
        with pytest.raises(InputError, match=r"encoding must be a name such as utf-8"):
            list(read_lines(path, name))


@pytest.mark.parametrize(
    ("content", "line", "word"),
    [
        ("bon\ncaf\xe9\n".encode("latin-1"), 2, "byte 0xe9"),
        ("a\nb\n".encode("utf-16"), 1, "UTF-16"),
        ("a\nb\n".encode("utf-16-le"), 1, "UTF-16"),
        ("été\n".encode("utf-32"), 1, "UTF-16"),
        ("早上\n好".encode("gb18030"), 1, "UTF-8"),
        (b"ok\nok\n\xff\xfe\n", 3, "0xff"),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.tsv", "a.jsonl", "a.txt.gz"])
def test_another_encoding_names_file_and_line(put, content, line, word, name):
    path = put(name, content)
    lines = read_lines(path)
    with pytest.raises(InputError) as caught:
        list(lines)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert word in str(caught.value)
    assert str(caught.value).endswith(".")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(InputError, match=r"no such file\.$"):
        list(read_lines(tmp_path / "none.txt"))
    with pytest.raises(InputError, match="folder"):
        list(read_lines(tmp_path))


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz"])
def test_damaged_compression(put, tmp_path, ending):
    whole = put(f"a.tsv.{ending}", "source\ttarget\n" * 1000).read_bytes()
    path = tmp_path / f"b.tsv.{ending}"
    for damaged in (whole[:-20], b"not compressed at all", whole[:30] + b"\0\0\0\0" + whole[34:]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=rf"b\.tsv\.{ending}: the compressed file is damaged"):
            list(read_pairs(path))


@pytest.mark.parametrize("name", ["a.tsv", "a.TSV", "a.tsv.gz", "fra.txt", "pairs", "a.txt.gz"])
def test_tsv(put, name):
    path = put(name, 'Go.\tVa !\tCC-BY #1\n\n"A"\t«A»\n x\ty \n')
    report = ReadReport()
    assert list(read_pairs(path, ("en", "fr"), report=report)) == [
        RawPair("Go.", "Va !", str(path), 1),
        RawPair("", "", str(path), 2),
        RawPair('"A"', "«A»", str(path), 3),
        RawPair(" x", "y ", str(path), 4),
    ]
    assert report.counts == {"columns": 1} and report.first == {"columns": f"{path}:1"}


def test_tsv_with_one_column_names_the_line(put):
    for name in ("a.tsv", "a.txt"):
        path = put(name, "a\tb\nonly one\nc\td\n")
        with pytest.raises(InputError, match=rf"^{path}, line 2: .*one column.*tab.*\.$"):
            list(read_pairs([path]))


def test_two_texts_with_tabs_are_aligned_lines(put):
    sources, targets = put("a.txt", "1\tone\n"), put("b.txt", "1\tun\n")
    assert sides(read_pairs([sources, targets])) == [("1\tone", "1\tun")]


@pytest.mark.parametrize("names", [("a.en", "a.fr"), ("a.en.gz", "a.fr"), ("a.txt", "b.txt.gz")])
def test_two_aligned_files(put, names):
    source, target = put(names[0], "one\n\nthree"), put(names[1], "un\r\ndeux\r\ntrois\r\n")
    pairs = list(read_pairs([source, target], ("en", "fr")))
    assert sides(pairs) == [("one", "un"), ("", "deux"), ("three", "trois")]
    assert pairs[2].file == str(source)
    assert pairs[2].line == 3


@pytest.mark.parametrize("counts", [(3, 5), (5, 3), (0, 1)])
def test_unequal_files_name_both_counts(put, counts):
    source, target = (put(name, "x\n" * n) for name, n in zip("ab", counts, strict=True))
    with pytest.raises(InputError) as caught:
        list(read_aligned(source, target))
    assert f"{source} has {counts[0]} lines and {target} has {counts[1]}" in str(caught.value)
    assert f"line {min(counts)}: the file ends here" in str(caught.value)


@pytest.mark.parametrize(
    "row",
    [
        {"en": "Go.", "fr": "Va !"},
        {"fr": "Va !", "id": 7, "en": "Go."},
        {"en-US": "Go.", "fr_FR": "Va !"},
        {"source": "Go.", "target": "Va !"},
        {"translation": {"en": "Go.", "fr": "Va !"}},
    ],
)
def test_jsonl(put, row):
    path = put("a.jsonl.gz", "\n" + json.dumps(row) + "\r\n")
    assert list(read_pairs(path, ("en", "fr"))) == [RawPair("Go.", "Va !", str(path), 2)]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ('{"en": "Go.", "de": "Geh."}', "'en', 'de'"),
        ('{"en": "Go."', "not JSON"),
        ('["Go.", "Va !"]', "list"),
        ('{"en": "Go.", "fr": null}', "NoneType"),
        ("{}", "none"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_wrong_jsonl_names_the_line(put, line, word):
    path = put("a.jsonl", '{"en": "a", "fr": "b"}\n' + line + "\n")
    with pytest.raises(InputError) as caught:
        list(read_pairs(path, ("en", "fr")))
    assert str(caught.value).startswith(f"{path}, line 2: ")
    assert word in str(caught.value)


def test_several_files_of_pairs(put):
    paths = [put("a.tsv", "a\tb\n"), put("b.jsonl", '{"source": "c", "target": "d"}')]
    assert sides(read_pairs(paths)) == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize("names", [["a.txt"], ["a.tsv", "a.txt"], ["a", "b", "c"], []])
def test_files_that_are_not_pairs(put, names):
    given = [put(name, "a\tb\n" if name.endswith("tsv") else "\n a \t\nb\tc\n") for name in names]
    with pytest.raises(InputError, match=r"two aligned files of plain text\.$"):
        list(read_pairs(given))


def test_a_folder_is_no_file_of_pairs(tmp_path):
    with pytest.raises(InputError, match=r"this is a folder; give the files in it\.$"):
        list(read_pairs([tmp_path]))


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_written_files_are_read_again(tmp_path, ending):
    rows = [("a\tb", "c\nd"), ("早上好", "x\r")]
    clean = [("a b", "c d"), ("早上好", "x ")]
    write_tsv(tmp_path / f"a.tsv{ending}", rows)
    assert sides(read_pairs(tmp_path / f"a.tsv{ending}")) == clean
    write_lines(tmp_path / f"a.txt{ending}", [target for _, target in rows])
    assert list(read_lines(tmp_path / f"a.txt{ending}")) == ["c d", "x "]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    write_lines(path, ["old"])

    def failing():
        yield "new"
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_lines(path, failing())
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0\ufeff"))))
def test_any_lines_round_trip(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    write_lines(path, lines)
    assert list(read_lines(path)) == lines
