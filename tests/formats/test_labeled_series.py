"""Files of labeled texts and series, and their errors."""

import gzip
import json
import pickle

import numpy as np
import pytest

from regard.errors import InputError
from regard.formats.labeled import read_labeled
from regard.formats.series import is_series, read_series, write_npz

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_labeled_text(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("喜\t他 笑 了。\tmore\n\nfear\tthe storm\n", "utf-8")
    assert [row[:2] + row[3:] for row in read_labeled(path)] == [
        ("喜", "他 笑 了。", 1),
        ("fear", "the storm", 3),
    ]
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"label": 3, "text": "x"}\n{"label": true, "text": "y"}\n'))
    assert [row[:2] for row in read_labeled(packed)] == [("3", "x"), ("true", "y")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "joy the sun\n", "line 1: there is one column where a label and a text"),
        ("a.tsv", "\tthe sun\n", "line 1: the label is empty"),
        ("a.txt", "x", "labeled text is read from files ending in .tsv or .jsonl"),
        ("a.jsonl", "{", "line 1: this is not JSON"),
        ("a.jsonl", "[1]", "line 1: a JSON object is expected, got list"),
        ("a.jsonl", '{"label": 1.5, "text": "x"}', "a label and a text are expected"),
        ("a.jsonl", '{"text": "x"}', "got the keys 'text'"),
    ],
)
def test_labeled_text_that_cannot_be_read(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        list(read_labeled(tmp_path / name))


def test_series_of_numpy(tmp_path):
    path = tmp_path / "a.npz"
    write_npz(path, x=X, y=np.array(["left", "right"]), channels=np.array(["C3", "Cz", "C4"]))
    found = read_series(path)
    assert is_series(path) and found.labels == ["left", "right"]
    assert found.channels == ("C3", "Cz", "C4")
    np.testing.assert_array_equal(found.rows, X)
    write_npz(path, x=X.astype(np.int16), y=np.array([1, 0]))
    assert read_series(path)[1:] == (["1", "0"], ())
    write_npz(path, x=X)
    assert read_series(path).labels is None


def test_series_of_json_lines_may_differ_in_length(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [
        {"channels": ["a", "b"]},
        {"label": "左", "series": [[1, 2], [3, 4]]},
        {"label": 7, "series": [[1, 2, 3], [4, 5, 6]]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    found = read_series(path)
    assert is_series(path)
    assert found.labels == ["左", "7"] and found.channels == ("a", "b")
    assert [row.shape for row in found.rows] == [(2, 2), (2, 3)]


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was opened",))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"z": X}, r"an array x \(N, C, T\) is expected, got z"),
        (
            {"x": X[0]},
            r"x must be numbers of shape \(N, C, T\), got float32 of shape \(3, 4\)",
        ),
        ({"x": X.astype(str)}, "x must be numbers"),
        ({"x": X[:, :, :0]}, "x must be numbers"),
        ({"x": X[:0]}, "there is no series in it"),
        ({"x": X, "y": np.array([1])}, "y must be 2 labels"),
        ({"x": X, "y": np.array([1.5, 2])}, "y must be 2 labels"),
        ({"x": X, "y": np.array(["a", " "])}, "label 1 of y is empty"),
        ({"x": X, "channels": np.array(["a", "a", "b"])}, "channels must be 3 different names"),
        ({"x": np.where(X == 7, np.nan, X)}, "series 0, channel 1 has nan at moment 3"),
        ({"x": np.array([Bomb(), 1], object)}, "this is not an .npz of plain arrays"),
    ],
)
def test_archives_that_cannot_be_read(tmp_path, arrays, message):
    path = tmp_path / "a.npz"
    np.savez(path, **arrays)
    with pytest.raises(InputError, match=message):
        read_series(path)


def test_what_is_no_archive(tmp_path):
    path = tmp_path / "a.npz"
    for content in (b"", b"nonsense", pickle.dumps(Bomb()), b"PK\x03\x04broken"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"a\.npz: this is not an \.npz of plain arrays"):
            read_series(path)
    with pytest.raises(InputError, match="there is no such file"):
        read_series(tmp_path / "none.npz")
    np.save(tmp_path / "b.npy", X)
    (tmp_path / "b.npy").rename(path)
    with pytest.raises(InputError, match="this is not an"):
        read_series(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"label": "a"}', "line 1: the series must be lists of numbers"),
        ('{"label": "a", "series": [[1, 2], [3]]}', "all of one length"),
        ('{"label": "a", "series": [1, 2]}', "the series must be lists of numbers"),
        ('{"label": "a", "series": [["x"]]}', "the series must be lists of numbers"),
        ('{"label": 0.5, "series": [[1]]}', "the label must be text or a whole number"),
        (
            '{"label": "a", "series": [[1]]}\n{"label": "a", "series": [[1], [2]]}',
            "2 channels, but",
        ),
        ('{"label": "a", "series": [[1]]}\n{"series": [[1]]}', "series 1 has no label"),
        ('{"label": "a", "series": [[1]], "channels": ["a", "b"]}', "1 different names, got 2"),
        ("", "there is no series in it"),
    ],
)
def test_json_lines_that_cannot_be_read(tmp_path, line, message):
    path = tmp_path / "a.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=message):
        read_series(path)
