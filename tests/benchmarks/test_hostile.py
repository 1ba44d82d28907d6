"""`python -m benchmarks hostile`: its requests, what misses a bar, and a short real run."""

import json
import math
import os
from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.__main__ import main
from benchmarks.hostile.attackers import Report
from benchmarks.hostile.attacks import ROOM, Requests, filled, ordinary_requests, worst_requests
from benchmarks.hostile.run import HostileFigures, bars, quantile, tree_megabytes
from trained import trained

MAKE = Requests("127.0.0.1", 5000, "en", "fr")
FIGURES = HostileFigures(
    quiet=[0.1] * 20,
    beside=[0.2] * 20,
    statuses=Counter({"200": 20}),
    lost=0,
    swapped=0,
    health=[0.01] * 100,
    megabytes=(100.0, 300.0, 105.0),
    drained=2.0,
    failed=0,
    errors=[],
    attacks=Report(),
)


def test_requests_are_whole():
    for request in [
        *worst_requests(MAKE, "A cat.").values(),
        *ordinary_requests(MAKE, "A cat.").values(),
    ]:
        head, _, body = request.partition(b"\r\n\r\n")
        assert head.startswith(b"POST /") and f"Content-Length: {len(body)}".encode() in head
    assert len(worst_requests(MAKE, "A cat.")) > 35
    assert ROOM - 3 <= len(filled("abc", "d", "e")) <= ROOM


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, None),
        ({"beside": [0.2] * 18 + [0.4] * 2}, "p95"),
        ({"statuses": Counter({"200": 20, "503": 1})}, "share"),
        ({"lost": 1}, "share"),
        ({"swapped": 1}, "swapped"),
        ({"health": [0.01] * 97 + [0.2] * 3}, "p99"),
        ({"health": [0.01] * 199 + [1.5]}, "largest"),
        ({"failed": 1}, "500"),
        ({"errors": ["{}"]}, "500"),
        ({"megabytes": (100.0, 300.0, 120.0)}, "memory"),
        ({"drained": 11.0}, "SIGTERM"),
    ],
)
def test_what_misses_a_bar(changes, missed):
    names = [row.name for row in bars(replace(FIGURES, **changes)) if not row.holds]
    assert len(names) == (missed is not None)
    assert missed is None or missed in names[0]


def test_what_is_measured():
    assert quantile([3, 1, 2], 0.5) == 2 and quantile([], 0.5) == math.inf
    assert tree_megabytes(os.getpid()) > 10


@pytest.mark.slow
def test_the_whole_command(tmp_path_factory, capsys):
    model = trained("en-fr", tmp_path_factory)
    main(["hostile", "--model", str(model), "--minutes", "0.1", "--json"])
    result = json.loads(capsys.readouterr().out)
    names = {*worst_requests(MAKE, "A cat."), "520 connections"}
    assert result["honest"]["200"] > 0 and result["attacks"]["statuses"].keys() & names
    assert len(result["bars"]) == 8
