"""Files of word vectors: safetensors, and word2vec's text format.

.safetensors        tensors `vectors` and `counts`, and the words as JSON metadata
.vec .txt (.gz)     word2vec's text: "V D" in the first line (or not: GloVe), then a word and
                    its D numbers a line
a folder            the file vectors.safetensors in it
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np

from regard.errors import InputError
from regard.formats.compressed import open_write, suffix
from regard.formats.lines import read_lines
from regard.formats.pair import format_error
from regard.storage import atomic_path, default_mode
from regard.vectors.table import Floats, Vectors

NAME = "vectors.safetensors"
TEXT = (".vec", ".txt")


def write_vectors(path: str | PathLike[str], vectors: Vectors) -> Path:
    """Write vectors in the format of the file name; return the file's path."""
    kind = suffix(path)
    if kind in TEXT:
        _write_text(Path(path), vectors)
        return Path(path)
    final = Path(path)
    if kind != ".safetensors":
        final.mkdir(parents=True, exist_ok=True)
        final = final / NAME
    from safetensors.numpy import save_file

    tensors = {"vectors": np.ascontiguousarray(vectors.matrix)}
    if vectors.counts is not None:
        tensors["counts"] = np.ascontiguousarray(vectors.counts)
    words = json.dumps(vectors.words, ensure_ascii=False)
    with atomic_path(final) as draft, default_mode(draft):
        save_file(tensors, draft, metadata={"format": "regard-vectors", "words": words})
    return final


def read_vectors(path: str | PathLike[str]) -> Vectors:
    """Read vectors from a file or folder."""
    final = Path(path) / NAME if Path(path).is_dir() else Path(path)
    if not final.is_file():
        raise InputError(f"{final}: there is no such file.")
    return _read_safetensors(final) if suffix(final) == ".safetensors" else _read_text(final)


def _read_safetensors(path: Path) -> Vectors:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            words = json.loads((file.metadata() or {})["words"])
            names = set(file.keys())
            counts = file.get_tensor("counts") if "counts" in names else None
            return Vectors(tuple(words), file.get_tensor("vectors"), counts)
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise InputError(
            f"{path}: not a file of word vectors ({error}); use one written by `regard vectors "
            "learn`."
        ) from error


def _write_text(path: Path, vectors: Vectors) -> None:
    spaced = next((word for word in vectors.words if word.split() != [word]), None)
    if spaced is not None:
        raise InputError(
            f"{path}: words of this format cannot have spaces, got {spaced!r}; write .safetensors."
        )
    with open_write(path) as file:
        file.write(f"{len(vectors)} {vectors.dim}\n".encode())
        for word, row in zip(vectors.words, vectors.matrix.tolist(), strict=True):
            file.write(f"{word} {' '.join(f'{x:.6g}' for x in row)}\n".encode())


def _read_text(path: Path) -> Vectors:
    words: list[str] = []
    rows: list[Floats] = []
    seen: set[str] = set()
    for number, word, row in _rows(path):
        if rows and len(row) != len(rows[0]):
            raise format_error(
                path,
                number,
                f"expected {len(rows[0])} numbers, got {len(row)}",
                "give each word as many",
            )
        if word not in seen:  # some files repeat a word; the first is the more frequent one
            seen.add(word)
            words.append(word)
            rows.append(row)
    if not rows:
        raise InputError(f"{path}: the file has no vectors.")
    return Vectors(tuple(words), np.stack(rows))


def _rows(path: Path) -> Iterator[tuple[int, str, Floats]]:
    for number, line in enumerate(read_lines(path), start=1):
        parts = line.rstrip(" ").split(" ")
        if number == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
            continue  # the header: number of words and of features
        if len(parts) == 1 and not parts[0]:
            continue
        try:
            row = np.array(parts[1:], dtype=np.float32)
        except ValueError:
            row = np.empty(0, dtype=np.float32)
        if not len(row):
            raise format_error(
                path, number, "expected a word and its numbers", "separate them by spaces"
            )
        yield number, parts[0], row
