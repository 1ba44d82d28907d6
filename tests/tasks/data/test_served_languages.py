"""One model of several target languages, served by name: each direction is found and chosen."""

import pytest

from regard.server.queue.catalogue import Catalogue
from servers import serving
from trained import several_languages, taught


@pytest.fixture(scope="module")
def polyglot(tmp_path_factory):
    with serving(Catalogue([str(several_languages(tmp_path_factory))], threads=1)) as client:
        yield client


def test_languages_and_models(polyglot):
    languages = {entry["code"]: entry for entry in polyglot.get("/languages").json()}
    assert languages["en"]["targets"] == ["en", "fr", "zh"]
    assert languages["zh"]["name"] == "Chinese"
    models = polyglot.get("/v1/models").json()
    assert [(entry["name"], entry["target"]) for entry in models] == [
        ("en-fr-zh", "fr"),
        ("en-fr-zh", "zh"),
    ]


def test_the_target_chooses_the_language(polyglot):
    for target in ("fr", "zh"):
        source, expected = taught(f"en-{target}")[3]
        fields = {"q": source, "source": "en", "target": target}
        answer = polyglot.post("/translate", json=fields)
        assert answer.json()["translatedText"] == expected
        seen = polyglot.post("/v1/view", json={**fields, "maps": True}).json()
        assert (seen["text"], seen["target"]) == (expected, target)
        sides = seen["sentences"][0]["sides"]
        assert sides["source"]["words"][0] == source.split()[0]
        assert sides["target"]["language"] == target
        assert polyglot.post("/v1/trace", json={**fields, "maps": True}).status_code == 200
    answer = polyglot.post("/translate", json={"q": "Salut.", "source": "fr", "target": "zh"})
    assert answer.status_code == 400 and "not available as a target language" in answer.text
