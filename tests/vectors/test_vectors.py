"""Tables of word vectors: neighbours, analogies, and the files they come in."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import InputError
from regard.vectors import Vectors, read_vectors, write_vectors

WORDS = ("the", "roi", "reine", "homme", "femme", "猫", "l'", "3.11", "...")


@pytest.fixture
def table():
    matrix = np.random.default_rng(0).normal(size=(len(WORDS), 5))
    return Vectors(WORDS, matrix, np.arange(9, 0, -1))


def test_neighbours_are_those_of_the_largest_cosine(table):
    for word in WORDS:
        row = table[word]
        cosines = {
            other: float(row @ table[other] / np.linalg.norm(row) / np.linalg.norm(table[other]))
            for other in WORDS
            if other != word
        }
        result = table.near(word, 4)
        assert [near.word for near in result] == sorted(cosines, key=cosines.get)[::-1][:4]
        for near in result:
            assert near.cosine == pytest.approx(cosines[near.word], abs=1e-5)
    assert len(table.near("roi", 100)) == len(WORDS) - 1


def test_analogy_is_the_difference_of_unit_vectors(table):
    result = table.analogy("homme", "roi", "femme", 3)
    unit = {word: table[word] / np.linalg.norm(table[word]) for word in WORDS}
    wanted = unit["roi"] - unit["homme"] + unit["femme"]
    best = max(set(WORDS) - {"homme", "roi", "femme"}, key=lambda word: wanted @ unit[word])
    assert result[0].word == best
    assert not {"homme", "roi", "femme"} & {near.word for near in result}


def test_planted_analogies_are_found():
    """Vectors made of a part for the word and a part for its number."""
    chance = np.random.default_rng(1)
    stems, plural = chance.normal(size=(20, 30)), 2 * chance.normal(size=30)
    words = tuple(f"{i}{form}" for form in ("", "s") for i in range(20))
    table = Vectors(words, np.concatenate([stems, stems + plural]))
    right = [table.analogy("0", "0s", f"{i}", 1)[0].word == f"{i}s" for i in range(1, 20)]
    assert np.mean(right) > 0.9


NAMES = ("v.safetensors", "v.vec", "v.txt", "v.txt.gz", "folder")


@pytest.mark.parametrize("name", NAMES)
def test_files_give_back_what_they_got(table, tmp_path, name):
    path = write_vectors(tmp_path / name, table)
    assert path.is_file()
    for position in (path, tmp_path / name):
        read = read_vectors(position)
        assert read.words == WORDS
        np.testing.assert_allclose(read.matrix, table.matrix, rtol=1e-5, atol=1e-7)
    if path.suffix == ".safetensors":
        assert np.array_equal(read.matrix, table.matrix)
        assert np.array_equal(read.counts, table.counts)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_files_of_others(tmp_path):
    """word2vec's with its first line, GloVe's without; a space at the end; a word twice."""
    (tmp_path / "w.vec").write_text("3 2\nroi 1 2 \nthe 3 4 \nroi 5 6 \n", "utf-8")
    (tmp_path / "g.txt").write_text("roi 1 2\n猫 -3e-1 4\n", "utf-8")
    word2vec, glove = read_vectors(tmp_path / "w.vec"), read_vectors(tmp_path / "g.txt")
    assert word2vec.words == ("roi", "the") and word2vec["roi"].tolist() == [1, 2]
    assert glove.words == ("roi", "猫") and glove["猫"].tolist() == pytest.approx([-0.3, 4])
    with gzip.open(tmp_path / "w.vec.gz", "wt", encoding="utf-8") as file:
        file.write("1 1\nroi 7\n")
    assert read_vectors(tmp_path / "w.vec.gz")["roi"].tolist() == [7]


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1), min_size=1, unique=True
    ),
    st.integers(1, 4),
)
def test_any_words_survive(tmp_path_factory, words, dim):
    path = tmp_path_factory.mktemp("any") / "v.vec"
    table = Vectors(tuple(words), np.random.default_rng(0).normal(size=(len(words), dim)))
    write_vectors(path, table)
    assert read_vectors(path).words == table.words


def broken(text):
    def make(folder):
        (folder / "v.vec").write_text(text, "utf-8")
        return read_vectors(folder / "v.vec")

    return make


BAD = {
    "missing": (lambda f: read_vectors(f / "no.vec"), "no.vec: there is no such file"),
    "empty folder": (read_vectors, "vectors.safetensors: there is no such file"),
    "uneven": (broken("2 2\na 1 2\nb 1\n"), "line 3: expected 2 numbers, got 1"),
    "no numbers": (broken("2 2\na b c\n"), "line 2: expected a word and its numbers"),
    "a word alone": (broken("a\n"), "line 1: expected a word"),
    "nothing": (broken(""), "the file has no vectors"),
    "not finite": (broken("a nan\n"), "must be finite"),
    "unknown": (
        lambda f: Vectors(("Roi", "the"), np.eye(2)).near("roi"),
        "'roi' has no vector; similar words: 'Roi'",
    ),
    "unlike any": (
        lambda f: Vectors(("Roi", "the"), np.eye(2)).near("zyx"),
        "'zyx' has no vector.",
    ),
    "count": (lambda f: Vectors(("a", "b"), np.eye(2)).near("a", 0), "at least 1, got 0"),
    "shape": (lambda f: Vectors(("a", "b"), np.eye(3)), "one row for each of 2 words"),
    "space": (
        lambda f: write_vectors(f / "v.vec", Vectors(("a b",), np.ones((1, 1)))),
        "cannot have spaces",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_one_clear_sentence(case, tmp_path):
    bad, message = BAD[case]
    with pytest.raises(InputError, match=message) as caught:
        bad(tmp_path)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_another_safetensors_file_is_refused(tmp_path):
    from safetensors.numpy import save_file

    save_file({"weight": np.ones((2, 2))}, tmp_path / "m.safetensors")
    with pytest.raises(InputError, match="not a file of word vectors"):
        read_vectors(tmp_path / "m.safetensors")
