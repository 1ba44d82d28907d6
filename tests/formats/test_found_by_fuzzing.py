"""Files that `python -m benchmarks fuzz` has found: each once ended in a traceback."""

import io
import struct
import zipfile

import numpy as np
import pytest

from regard.errors import InputError
from regard.formats.series import read_series
from regard.server.access.keys import read_keys
from regard.tasks.handwriting.strokes.files import read_strokes

BEYOND_FLOATS = "1" + "0" * 310
TOO_MANY_DIGITS = "1" * 4400


def npz(**arrays):
    output = io.BytesIO()
    np.savez(output, **arrays)
    return output.getvalue()


SERIES = np.ones((1, 2, 3))
WHOLE = npz(x=SERIES)


def with_directory(offset, value):
    """The archive with another 16-bit number in the directory's entry."""
    data = bytearray(WHOLE)
    struct.pack_into("<H", data, data.rindex(b"PK\x01\x02") + offset, value)
    return bytes(data)


def with_names(names):
    """An archive in which a name has a character that Unicode does not have."""
    array = np.array(names)
    return npz(x=SERIES, channels=array).replace("bé".encode("utf-32-le"), b"\xff" * 8)


def read_all(read):
    return lambda path: list(read([path]))


FOUND = [
    ("a.jsonl", b'{"channels": ["a", ["b", "c"]]}\n{"series": [[1], [2]]}\n', read_series),
    ("a.jsonl", f'{{"series": [[{BEYOND_FLOATS}]]}}\n'.encode(), read_series),
    ("a.npz", with_directory(6, 80), read_series),  # version that is needed
    ("a.npz", with_directory(8, 1), read_series),  # encrypted
    ("a.npz", with_directory(10, 99), read_series),  # compression
    ("a.npz", with_names(["a", "bé"]), read_series),
    ("keys", f"name {'0a' * 32} rate={TOO_MANY_DIGITS}\n".encode(), read_keys),
    (
        "a.jsonl",
        f'{{"text": "hi", "strokes": [[{BEYOND_FLOATS}, 0, 0], [1, 1, 1]]}}'.encode(),
        read_all(read_strokes),
    ),
    (
        "a.jsonl",
        f'{{"text": "hi", "strokes": [[{TOO_MANY_DIGITS}, 0, 0], [1, 1, 1]]}}'.encode(),
        read_all(read_strokes),
    ),
]


@pytest.mark.parametrize(("name", "content", "read"), FOUND)
def test_files_are_refused_with_a_sentence(name, content, read, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as raised:
        read(path)
    assert str(raised.value).startswith(str(path)) and str(raised.value).endswith(".")


def test_the_archives_are_whole_but_for_one_thing(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(WHOLE)
    assert zipfile.is_zipfile(path) and len(read_series(path).rows) == 1
