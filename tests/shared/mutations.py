"""Files made wrong: missing, of another kind, cut, mutated at random or in one value."""

import json
import random
import struct

import yaml

MISSING, FOLDER = "missing", "folder"
"""What a file may become instead of bytes."""

ODD = [
    None, True, 0, -1, 1, 3, 10**6, 10**12, 10**30, 1.5, -0.5, 1e-300, float("nan"), float("inf"),
    "", "x", "no", "1e3", "\0", "é" * 300, "../..", [], [None], [[]], ["x", 1], {}, {"x": 1},
]  # fmt: skip
"""Values that hardly any setting takes."""


def mutated(data, rng, others=()):
    """A file's content made wrong in one way: bytes, or MISSING, or FOLDER."""
    ways = [
        lambda: MISSING,
        lambda: FOLDER,
        lambda: b"",
        lambda: data[: rng.randrange(len(data) + 1)],
        lambda: rng.randbytes(rng.randrange(1, 200)),
        lambda: flipped(data, rng),
        lambda: spliced(data, rng),
        lambda: rng.choice(others) if others else b"{}",
        lambda: with_odd_value(data, rng),
        lambda: with_odd_value(data, rng),
        lambda: with_odd_value(data, rng),
    ]
    return rng.choice(ways)()


def flipped(data, rng):
    """Some bits are others."""
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 4, 50])):
        if made:
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def spliced(data, rng):
    """A part is gone, twice there, or something stands in its place."""
    begin, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    end = min(end, begin + 100)
    put = rng.choice([b"", data[begin:end] * 2, rng.randbytes(3), b"\xff\xfe", b"\0", b"\n", b"*&"])
    return data[:begin] + put + data[end:]


def with_odd_value(data, rng):
    """One value of a JSON, YAML or safetensors file is another; other files are flipped."""
    if data[8:9] == b"{":
        return _other_header(data, rng)
    try:
        text = data.decode()
        loaded = json.loads(text) if text.lstrip().startswith(("{", "[")) else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return flipped(data, rng)
    if not isinstance(loaded, dict | list):
        return rng.choice([b"step-9\n", b"..\n", b"/\n", b"\0", b"\n", b"x" * 5000])
    if text.lstrip().startswith(("{", "[")):
        return json.dumps(replaced(loaded, rng)).encode()
    return _as_yaml(replaced(loaded, rng), rng)


def replaced(value, rng):
    """A copy with one part exchanged for something odd, gone, or under another name."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.1:
        return rng.choice(ODD)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = rng.choice(keys)
    made = value.copy()
    act = rng.random()
    if act < 0.1:
        del made[key]
    elif act < 0.2 and isinstance(made, dict):
        made["no such name"] = made.pop(key)
    else:
        made[key] = replaced(value[key], rng)
    return made


def _as_yaml(value, rng):
    text = yaml.safe_dump(value)
    selves = ["model: &a [*a]\n", "model: &a {dim: *a}\n", "&a x: *a\n", "text: &b {<<: *b}\n",
              "!!python/object/apply:os.getcwd []\n", "a: " + "[" * 600, "? [1]\n: 2\n",
              "training:\n", "model: null\n", "2026-01-01: 1\n", "--- 1\n--- 2\n"]  # fmt: skip
    return (text if rng.random() < 0.8 else rng.choice(selves)).encode()


def _other_header(data, rng):
    """A safetensors file whose header says something else, or whose length is another."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    if rng.random() < 0.3:
        lengths = [0, 1, length - 1, length + 1, 2**31, 2**63, 2**64 - 1]
        return struct.pack("<Q", rng.choice(lengths)) + data[8:]
    name = rng.choice([name for name in header if name != "__metadata__"])
    act = rng.randrange(4)
    if act == 0:
        header[name]["dtype"] = rng.choice(["F16", "I64", "BF16", "F64", "U8", "F8_E4M3", "BOOL"])
    elif act == 1 and header[name]["shape"]:
        header[name]["shape"] = header[name]["shape"][::-1]
    elif act == 2:
        header["another"] = header.pop(name)
    else:
        header = replaced(header, rng)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


def put(path, content):
    """Make a file what `mutated` gave."""
    if path.is_file():
        path.unlink()
    if content == FOLDER:
        path.mkdir()
    elif content != MISSING:
        path.write_bytes(content)


def randomly(seed):
    """A source of choices that a seed decides."""
    return random.Random(seed)
