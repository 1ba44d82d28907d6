"""What the page asks for: a translation with words, links and maps, with and without edits."""

import base64
import zlib

import numpy as np
import pytest

from regard.server.api import view
from regard.server.api.view import payloads
from trained import taught

FRENCH = taught("en-fr")
SOURCE, TARGET = FRENCH[0]
FIELDS = {"q": SOURCE, "source": "en", "target": "fr"}


def asked(client, status=200, **fields):
    answer = client.post("/v1/view", json={**FIELDS, **fields})
    assert answer.status_code == status, answer.text
    return answer.json()


def plane(blob, shape):
    return np.frombuffer(zlib.decompress(base64.b64decode(blob)), "<u2").reshape(shape) / 65535


def test_it_tells_what_the_view_shows(client, catalogue):
    found = asked(client)
    assert (found["text"], found["model"], found["maps"]) == (TARGET, "en-fr", "all")
    assert found["seconds"] > 0 and "unused" not in found
    (one,) = found["sentences"]
    assert (one["source"], one["translation"], one["finished"]) == (SOURCE, TARGET, True)
    direct = catalogue.models[0].translator.translate(SOURCE, attention=True).sentences[0]
    assert one["sides"]["target"]["words"] == list(direct.words)
    assert [tuple(link) for link in one["links"]] == list(direct.alignment)
    cross = next(each for each in direct.attention if each.kind == "cross" and each.layer == 0)
    shown = next(each for each in one["maps"] if each["kind"] == "cross" and each["layer"] == 0)
    weights = cross.weights[0, 1].numpy()
    assert plane(shown["whole"][1], weights.shape) == pytest.approx(weights, abs=1e-4)


def test_without_maps_it_tells_the_rest(client):
    found = asked(client, maps=False)
    assert found["maps"] == "none" and found["sentences"][0]["maps"] == []
    assert found["text"] == TARGET and found["sentences"][0]["links"]
    assert asked(client, maps=False, source="auto")["detectedLanguage"]["language"] == "en"


def test_too_many_weights_leave_maps_out(catalogue, monkeypatch):
    model = catalogue.models[0]
    sentences = model.translator.translate(SOURCE, attention=True).sentences
    count = sum(one.weights.numel() for one in sentences[0].attention)
    for most, maps, kinds in ((count, "all", 3), (count - 1, "cross", 1), (10, "none", 0)):
        monkeypatch.setattr(view, "MAX_WEIGHTS", most)
        told_maps, (one,) = payloads(sentences, model)
        assert told_maps == maps
        assert len({each["kind"] for each in one["maps"]}) == kinds
        assert one["translation"] == TARGET


def test_a_beginning_and_how_long_it_is(client):
    found = asked(client, prefix="Une")
    (one,) = found["sentences"]
    assert found["text"].startswith("Une") and one["begun"] == 3
    odd = asked(client, prefix="Une xyzzy")["sentences"][0]
    assert odd["translation"][: odd["begun"]].startswith("Une") and odd["begun"] != len("Une xyzzy")


def test_heads_off_in_several_sentences(client, catalogue):
    text = f"{SOURCE} {FRENCH[1][0]}"
    layers = range(catalogue.models[0].translator.run.model.num_decoder_layers)
    edits = [{"type": "switch_off", "kind": "cross", "layer": [n], "heads": [0, 1]} for n in layers]
    plain, off = asked(client, q=text), asked(client, q=text, edits=edits)
    assert len(off["sentences"]) == 2 and off["unused"] == 0
    assert off["text"] != plain["text"] == f"{TARGET} {FRENCH[1][1]}"
    assert asked(client)["text"] == TARGET  # nothing is left of it
    alone = [asked(client, q=each[0], edits=edits)["text"] for each in FRENCH[:2]]
    assert [one["translation"] for one in off["sentences"]] == alone


def test_a_row_is_of_one_sentence(client):
    length = len(asked(client)["sentences"][0]["axes"]["source"]["tokens"])
    edit = {"type": "overwrite", "rows": [1], "weights": [0.0] * (length - 1) + [1.0]}
    (one,) = asked(client, edits=[edit])["sentences"]
    cross = next(each for each in one["maps"] if each["kind"] == "cross")
    rows = len(one["axes"]["target"]["tokens"])
    assert plane(cross["whole"][0], (rows, length))[1].tolist() == edit["weights"]
    assert asked(client, edits=[{**edit, "rows": [40]}])["unused"] == 1
    several = asked(client, 400, q=f"{SOURCE} {FRENCH[1][0]}", edits=[edit])
    assert "one sentence" in several["error"]


@pytest.mark.parametrize(
    "fields",
    [
        {"edits": [{"type": "overwrite", "rows": [0], "weights": [1.0]}]},
        {"edits": [{"type": "switch_off", "heads": [99]}]},
        {"edits": 3},
        {"q": ""},
        {"model": "x"},
        {"target": "x"},
        {"q": "One. " * 21, "edits": [{"type": "switch_off", "kind": "cross"}]},
    ],
)
def test_what_does_not_fit_is_400(client, fields):
    assert asked(client, 400, **fields)["error"]


def test_it_is_in_the_document(client):
    document = client.get("/spec").json()
    body = document["paths"]["/v1/view"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"]["$ref"].endswith("ViewRequest")
    assert "edits" in document["components"]["schemas"]["ViewRequest"]["properties"]
