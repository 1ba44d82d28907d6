"""Written lines as pictures."""

from xml.etree import ElementTree

import numpy as np
import pytest

from regard.tasks.handwriting.picture import line_svg, terminal_line
from regard.tasks.handwriting.strokes.lines import PLAIN, write

SVG = "{http://www.w3.org/2000/svg}"


def line(text, drawn="hello"):
    strokes = write(drawn, PLAIN, np.random.default_rng(0))
    places = np.arange(len(strokes))[:, None] / len(strokes) * len(text)
    return text, strokes, np.exp(-((places - np.arange(len(text)) - 0.5) ** 2))


@pytest.mark.parametrize("text", ["hello", "<&\"'>", "字 迹", "a"])
def test_is_well_formed_and_names_every_character(text):
    root = ElementTree.fromstring(line_svg(*line(text)))
    assert root.find(f"{SVG}title").text == text
    names = [t.text for t in root.iter(f"{SVG}text") if t.get("class") == "name"]
    wanted = list(text.replace(" ", "")) + ["␣" if c == " " else c for c in text]
    assert names == wanted
    bands = [p for p in root.iter(f"{SVG}path") if p.get("class") == "band"]
    assert len(bands) == len(text)


def test_every_number_is_inside_the_picture():
    root = ElementTree.fromstring(line_svg(*line("hello")))
    _, _, width, height = map(float, root.get("viewBox").split())
    for path in root.iter(f"{SVG}path"):
        numbers = path.get("d").replace("M", " ").replace("C", " ").replace("L", " ").strip("Z")
        for pair in numbers.split():
            x, y = map(float, pair.split(","))
            assert 0 <= x <= width and 0 <= y <= height


def test_strokes_have_the_color_of_the_character_seen():
    strokes = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1], [0.5, 1, 0], [1, 0, 1]])
    weights = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1.0]])
    root = ElementTree.fromstring(line_svg("ab", strokes, weights))
    ink = [p.get("stroke") for p in root.iter(f"{SVG}path") if p.get("class") == "ink"]
    assert len(ink) == 3 and ink[0] != ink[1] == ink[2]


def test_a_single_point_is_a_dot():
    ElementTree.fromstring(line_svg("a", [[0, 0, 1], [1, 1, 1]], [[1.0], [1.0]]))
    assert terminal_line([[0, 0, 1], [1, 1, 1]])


def test_a_terminal_shows_it_within_its_width():
    shown = terminal_line(line("hello")[1], columns=30).splitlines()
    assert max(map(len, shown)) <= 30 and len(shown) > 1
    assert set("".join(shown)) <= {chr(n) for n in range(0x2800, 0x2900)}
