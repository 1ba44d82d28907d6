"""Schemathesis over the OpenAPI document: no 5xx, no undocumented status, answers as described.

Operations are tested one by one, and in sequences that follow the document's links: a file is
translated, and what the response names is downloaded.

A few cases of every operation, always the same ones, and among the slow tests all limits of its
schema too; many more, drawn anew, with

    REGARD_SCHEMATHESIS=1000 python -m pytest -m slow tests/outside/test_schemathesis.py

or against a running server with `st run http://127.0.0.1:5000/spec -n 1000
--exclude-checks positive_data_acceptance`.
"""

import json
import os
import re
import subprocess
import sys

import httpx
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
    tested = re.search(r"Tested: (\d+)", schemathesis(f"{address}/spec", drawn, tmp_path))
    assert tested is not None and int(tested[1]) >= 14


REQUEST = {name: f"$request.body#/{name}" for name in ("q", "target")}
LINKS = {
    ("/translate_file", "/download_file/{name}"): {
        "parameters": {"name": "$response.body#/translatedFileUrl#regex:/download_file/(.+)"}
    },
    ("/v1/translate", "/v1/alternatives"): {
        "requestBody": {**REQUEST, "translation": "$response.body#/text", "word": 0}
    },
    ("/v1/translate", "/v1/stream"): {"requestBody": REQUEST},
    ("/translate", "/detect"): {"requestBody": {"q": "$response.body#/translatedText"}},
}
"""What a client does next with a response."""


def with_links(document):
    """The OpenAPI document with links, between operations and what follows them."""
    for (path, following), link in LINKS.items():
        operation = next(iter(document["paths"][following].values()))["operationId"]
        response = document["paths"][path]["post"]["responses"]["200"]
        response.setdefault("links", {})[operation] = {"operationId": operation, **link}
    return document


@pytest.mark.slow
def test_sequences_of_operations(address, tmp_path):
    document = httpx.get(f"{address}/spec", trust_env=False).json()
    (tmp_path / "spec.json").write_text(json.dumps(with_links(document)))
    drawn = ["-n", str(MANY or 30), "--phases", "stateful", "--generation-deterministic"]
    said = schemathesis("spec.json", [*drawn, "--no-shrink", "--url", address], tmp_path)
    covered = re.search(r"(\d+) covered", said)
    assert covered is not None and int(covered[1]) >= 2


def schemathesis(schema, options, folder):
    """What a run without a failure prints."""
    (folder / "schemathesis.toml").write_text(SETTINGS)
    run = [sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run"]
    done = subprocess.run(
        [*run, schema, "--no-color", *options],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "NO_PROXY": "*", "SCHEMATHESIS_HOOKS": ""},
    )
    said = "\n".join(line[:400] for line in done.stdout.splitlines()[-200:])
    assert done.returncode == 0, said + done.stderr[-2000:]
    return said
