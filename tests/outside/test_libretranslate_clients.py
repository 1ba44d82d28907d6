"""Published clients of LibreTranslate, unchanged, against a server.

Those of npm are looked for in $REGARD_NPM, or in regard/npm of the user's cache.
"""

import json
import os
import subprocess
from pathlib import Path
from urllib.error import HTTPError

import pytest
from libretranslatepy import LibreTranslateAPI

from regard.server.queue.catalogue import Catalogue
from requirements import NPM
from servers import serving
from trained import taught, trained

FRENCH = taught("en-fr")
(SOURCE, TARGET), (OTHER, OTHER_TARGET) = FRENCH[:2]
CLIENTS = {
    "libretranslate": "libretranslate",
    "libretranslate-ts": "libretranslateTs",
    "translate": "translate",
    "@translate-tools/core": "translateTools",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with serving(Catalogue([str(trained("en-fr", tmp_path_factory))], threads=1)) as client:
        yield client.address


def test_libretranslatepy(address):
    client = LibreTranslateAPI(address)
    assert client.translate(SOURCE, "en", "fr") == TARGET
    assert client.translate(SOURCE, "auto", "fr") == TARGET
    assert client.detect(f"{SOURCE} {OTHER}")[0]["language"] == "en"
    assert {one["code"] for one in client.languages()} == {"en", "fr"}
    with pytest.raises(HTTPError, match="400"):
        client.translate(SOURCE, "en", "tlh")


@pytest.mark.needs("deep-translator")
def test_deep_translator(address, tmp_path):
    """It asks by POST with everything in the query, and always sends a key."""
    from deep_translator import LibreTranslator

    client = LibreTranslator(source="en", target="fr", custom_url=f"{address}/", api_key="x")
    assert client.translate(SOURCE) == TARGET
    assert client.translate_batch([SOURCE, OTHER]) == [TARGET, OTHER_TARGET]
    (tmp_path / "text.txt").write_text(SOURCE, encoding="utf-8")
    assert client.translate_file(str(tmp_path / "text.txt")) == TARGET


@pytest.fixture(scope="module")
def brought(address):
    """What the clients of npm bring back."""
    script = Path(__file__).with_name("libretranslate_clients.cjs")
    done = subprocess.run(
        ["node", script, NPM, address, SOURCE, OTHER],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        env={**os.environ, "NO_PROXY": "*"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.needs("node", "npm-clients")
@pytest.mark.parametrize("package", CLIENTS)
def test_translating_with_a_client_of_npm(brought, package):
    found = brought[CLIENTS[package]]
    assert "missing" not in found
    expected = {
        "libretranslate": {"translated": TARGET, "detected": TARGET, "html": f"<p>{TARGET}</p>"},
        "translate": {"translated": TARGET},
        "@translate-tools/core": {"translated": TARGET, "several": [TARGET, OTHER_TARGET]},
    }
    if package in expected:
        assert found == expected[package]
        return
    assert found["languages"][0] == {"code": "en", "name": "English", "targets": ["en", "fr"]}
    assert (found["detected"]["status"], found["detected"]["language"]) == (200, "en")
    assert found["translated"] == {"status": 200, "translatedText": TARGET}
    assert len(found["alternatives"]["alternatives"]) == 2
    assert "tlh is not supported" in found["refused"]["error"]
