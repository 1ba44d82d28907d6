"""Schemathesis over the OpenAPI document: no 5xx, no undocumented status, answers as described.

A few cases of every operation, always the same ones, and among the slow tests all limits of its
schema too; many more, drawn anew, with

    REGARD_SCHEMATHESIS=1000 python -m pytest -m slow tests/outside/test_schemathesis.py

or against a running server with `st run http://127.0.0.1:5000/spec -n 1000
--exclude-checks positive_data_acceptance`.
"""

import os
import re
import subprocess
import sys

import pytest

from regard.server.queue.catalogue import Catalogue
from servers import serving
from trained import trained

MANY = int(os.environ.get("REGARD_SCHEMATHESIS", "0"))
SETTINGS = """
[checks]
positive_data_acceptance.enabled = false  # which directions there are, no document can say
negative_data_rejection.expected-statuses = ["4xx"]  # 413 is a refusal too
"""
FEW = ["-n", "4", "--phases", "fuzzing", "--generation-deterministic", "--no-shrink"]
ALL = ["-n", str(MANY)] if MANY else ["-n", "8", "--generation-deterministic", "--no-shrink"]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folders = [str(trained(name, tmp_path_factory)) for name in ("en-fr", "en-zh")]
    with serving(Catalogue(folders, threads=1)) as client:
        yield client.address


@pytest.mark.parametrize("drawn", [FEW, pytest.param(ALL, marks=pytest.mark.slow)])
def test_every_operation(address, tmp_path, drawn):
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    run = [sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run"]
    done = subprocess.run(
        [*run, f"{address}/spec", "--no-color", *drawn],
        cwd=tmp_path, capture_output=True, encoding="utf-8",
        env={**os.environ, "NO_PROXY": "*", "SCHEMATHESIS_HOOKS": ""},
    )  # fmt: skip
    said = "\n".join(line[:400] for line in done.stdout.splitlines()[-200:])
    assert done.returncode == 0, said + done.stderr[-2000:]
    tested = re.search(r"Tested: (\d+)", done.stdout)
    assert tested is not None and int(tested[1]) >= 14
