"""Files of word links: what is written is read back, and malformed ones are refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import InputError
from regard.formats.word_links import LAYOUTS, format_links, layout_of, parse_links, read_links

LINKS = st.frozensets(st.tuples(st.integers(0, 300), st.integers(0, 300)))
SUFFIX = {"pharaoh": "txt", "talp": "talp", "json": "jsonl"}


@given(LINKS, st.sampled_from(LAYOUTS))
def test_what_is_written_is_read_back(links, layout):
    line = format_links(links, layout, ["猫", "s"], ["chat"])
    assert "\n" not in line
    assert parse_links(line, layout).sure == links


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_with_empty_lines(layout, tmp_path):
    file = tmp_path / f"links.{SUFFIX[layout]}"
    written = [frozenset({(0, 1), (2, 0)}), frozenset(), frozenset({(5, 5)})]
    lines = [format_links(links, layout) if links else "" for links in written]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert layout_of(file) == layout
    assert [links.sure for links in read_links(file)] == written


def test_sure_and_possible_links():
    found = parse_links("1-1 2p3 1p1 4p4", "talp")
    assert found.sure == {(0, 0)}
    assert found.possible == {(1, 2), (3, 3)}
    assert parse_links("1p0", "pharaoh").possible == {(1, 0)}


@pytest.mark.parametrize(
    ("name", "line", "problem"),
    [
        ("a.talp", "0-1", "'0-1' has a word 0"),
        ("a.txt", "1-1 x", "'x' is not a link"),
        ("a.txt", "1-", "'1-' is not a link"),
        ("a.txt", "-1-2", "'-1-2' is not a link"),
        ("a.txt", "١-٢", "is not a link"),
        ("a.jsonl", "[", "this is not JSON"),
        ("a.jsonl", "[" * 100_000, "this is not JSON"),
        ("a.jsonl", "[]", 'there is no list "links"'),
        ("a.jsonl", json.dumps({"links": [[1, -1]]}), "is not a link of two words"),
        ("a.jsonl", json.dumps({"links": [[True, 1]]}), "is not a link of two words"),
    ],
)
def test_malformed_lines_name_file_and_line(name, line, problem, tmp_path):
    (tmp_path / name).write_text(f"\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        list(read_links(tmp_path / name))
    assert f"{name}, line 2: " in str(caught.value)
    assert problem in str(caught.value)


def test_the_signs_of_possible_links():
    """The grammar writes `?`, talp `p`."""
    assert parse_links("10-3 0?1", "pharaoh").every == parse_links("11-4 1p2", "talp").every
    assert parse_links("10-3 0?1", "pharaoh").possible == {(0, 1)}
