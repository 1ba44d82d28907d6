"""Targets: readers of files: pairs, labels, series, links, vectors, settings, keys, tokenizers."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from benchmarks.fuzz.documents import SEEDS, TOKENS
from benchmarks.fuzz.target import MakeTarget, Target
from regard.config.settings import read_settings, run_from
from regard.formats import read_pairs
from regard.formats.labeled import read_labeled
from regard.formats.series import read_series
from regard.formats.word_links import read_links
from regard.server.access.keys import read_keys
from regard.tasks import KINDS
from regard.tasks.handwriting.strokes.files import read_strokes
from regard.tasks.translation.glossary import read_glossary
from regard.text import Tokenizer, load
from regard.text.vocabulary import train_chars, train_words
from regard.vectors.files import read_vectors, write_vectors
from regard.vectors.table import Vectors

LINES = ("open the file X Y Z , . ( ) 猫 été d'", "The cat sleeps on 3 files.")
TSV = "one\tun\r\ntwo words\tdeux mots\textra\n\n"
JSONL = (
    '{"en": "one", "fr": "un"}\n{"source": "a", "target": "b"}\n'
    '{"translation": {"en": "c", "fr": "d"}}\n'
)
LABELED = '{"text": "one", "label": "joy"}\n{"text": "two", "label": 3}\n'
SERIES = '{"channels": ["a", "b"]}\n{"series": [[1, 2.5], [0, -1e3]], "label": "x"}\n'
STROKES = '{"text": "hi", "strokes": [[0, 0, 0], [0.5, -1.2, 1]]}\n'
KEYS = f"name {'0a' * 32} rate=60 admin\n# a comment\n\nother {'f' * 64}\n"
SETTINGS = (
    "format_version: 1\nlanguages: en-fr\nmodel: {kind: transformer, dim: 16, num_heads: 2,\n"
    "  ff: 16, attention: {name: local, window: 4}}\ntext: {unit: bpe, vocab_size: 300}\n"
    "training: {steps: 1, learning_rate: 1e-3, seed: 3}\ndecoding: {beam: 2}\n"
)
NUMBERS = ("1e999", "1" + "0" * 310, "1" * 4400, "-1", "0.5", "NaN", "Infinity", "true", "null")
"""Numbers that are odd for a float, for an int, or for both."""


def with_odd_numbers(seed: bytes) -> Iterator[bytes]:
    """Copies in which one number is an odd one."""
    for match in islice(re.finditer(rb"\d+", seed), 8):
        for number in NUMBERS:
            yield seed[: match.start()] + number.encode() + seed[match.end() :]


def _file(name: str, read: Callable[[Path], object], seeds: Iterable[str | bytes]) -> MakeTarget:
    """A target that reads a file of this name."""

    def make(folder: Path) -> Target:
        path = folder / name

        def run(data: bytes) -> object:
            path.write_bytes(data)
            return read(path)

        begin = [seed for seed in seeds if isinstance(seed, bytes)]
        for text in (seed.encode() for seed in seeds if isinstance(seed, str)):
            begin += text, *with_odd_numbers(text)
        words = (*TOKENS, *(number.encode() for number in NUMBERS))
        return Target(run, begin, words, max(2048, *map(len, begin)))

    return make


def _pairs(path: Path) -> None:
    for _ in read_pairs(path, ("en", "fr")):
        pass


def _all(read: Callable[[Path], Iterable[object]]) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        for _ in read(path):
            pass

    return run


def _settings(path: Path) -> None:
    run_from(read_settings(path), KINDS, str(path))


def _use_tokenizer(path: Path) -> None:
    tokenizer = load(path)
    ids = tokenizer.encode("open the cat 猫 [MASK] é")
    tokenizer.decode(ids)
    tokenizer.pieces(range(len(tokenizer)))


def _written(write: Callable[[Path], object], suffix: str) -> bytes:
    """What a function writes to a file."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / f"file{suffix}"
        write(path)
        return path.read_bytes()


def _vectors(suffix: str) -> MakeTarget:
    import numpy as np

    table = Vectors(("one", "two"), np.ones((2, 3), np.float32))
    seed = _written(lambda path: write_vectors(path, table), suffix)
    return _file(f"vectors{suffix}", read_vectors, [seed])


def _npz() -> MakeTarget:
    import numpy as np

    output = io.BytesIO()
    np.savez(output, x=np.ones((1, 2, 3)), y=np.array(["a"]), channels=np.array(["b", "c"]))
    return _file("series.npz", read_series, [output.getvalue()])


def _tokenizers(folder: Path) -> Target:
    from regard.text.marian_tokenizer import MarianTokenizer
    from regard.text.sentencepiece_tokenizer import train_sentencepiece
    from regard.text.tokenizer import SPECIALS

    pieces = train_sentencepiece(LINES, 300)
    tokenizers: list[Tokenizer] = [
        train_words(LINES, None, "en"),
        train_chars(LINES),
        pieces,
        MarianTokenizer(pieces.model, [*SPECIALS, "a", "b"]),
    ]
    seeds = [_written(tokenizer.save, "") for tokenizer in tokenizers]
    return _file("tokenizer", _use_tokenizer, seeds)(folder)


def _compressed(suffix: str, compress: Callable[[bytes], bytes]) -> MakeTarget:
    return _file(f"pairs.tsv{suffix}", _pairs, [compress(TSV.encode())])


FILES: dict[str, MakeTarget] = {
    "pairs-tsv": _file("pairs.tsv", _pairs, [TSV]),
    "pairs-jsonl": _file("pairs.jsonl", _pairs, [JSONL]),
    "pairs-tmx": _file("pairs.tmx", _pairs, [SEEDS["tmx"]]),
    "pairs-po": _file("pairs.po", _pairs, [SEEDS["po"]]),
    "pairs-xliff": _file("pairs.xliff", _pairs, [SEEDS["xliff"]]),
    "pairs-gz": _compressed(".gz", gzip.compress),
    "pairs-bz2": _compressed(".bz2", bz2.compress),
    "pairs-xz": _compressed(".xz", lzma.compress),
    "labeled-tsv": _file("labeled.tsv", _all(read_labeled), ["joy\tone two\nfear\tthree\n"]),
    "labeled-jsonl": _file("labeled.jsonl", _all(read_labeled), [LABELED]),
    "series-jsonl": _file("series.jsonl", read_series, [SERIES]),
    "series-npz": _npz(),
    "strokes": _file("strokes.jsonl", lambda path: list(read_strokes([path])), [STROKES]),
    "links": _file("links.txt", _all(read_links), ["0-0 1-2 3p4\n"]),
    "links-talp": _file("links.talp", _all(read_links), ["1-1 2p3\n"]),
    "links-jsonl": _file("links.jsonl", _all(read_links), [json.dumps({"links": [[0, 1]]})]),
    "glossary": _file("glossary.tsv", read_glossary, ["# terms\nbank\trive\n"]),
    "vectors-text": _vectors(".vec"),
    "vectors-safetensors": _vectors(".safetensors"),
    "settings": _file("config.yaml", _settings, [SETTINGS]),
    "keys": _file("keys", read_keys, [KEYS]),
    "tokenizers": _tokenizers,
}
