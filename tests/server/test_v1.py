"""Explained translations over HTTP; streams; changed attention."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from regard.server.api import v1
from regard.server.queue.routing import direct_model
from servers import held_up
from trained import taught

FRENCH = taught("en-fr")
SOURCE, TARGET = FRENCH[0]
FIELDS = {"q": SOURCE, "source": "en", "target": "fr"}


def asked(client, path, status=200, **fields):
    answer = client.post(path, json={**FIELDS, **fields})
    assert answer.status_code == status, answer.text
    return answer.json()


def test_models(client):
    found = client.get("/v1/models").json()
    assert [one["name"] for one in found] == ["en-fr", "rnn", "en-zh"]
    assert [one["kind"] for one in found] == ["transformer", "rnn", "transformer"]


def test_translate_tells_words_links_and_maps(client, catalogue):
    maps = [{"kind": "cross", "layer": 0, "heads": [1]}, {"kind": "self"}]
    found = asked(client, "/v1/translate", maps=maps, alternatives=2)
    assert found["text"] == TARGET and found["model"] == "en-fr"
    assert len(found["alternatives"]) == 2
    (sentence,) = found["sentences"]
    direct = catalogue.models[0].translator.translate(SOURCE, attention=True).sentences[0]
    assert sentence["words"] == list(direct.words)
    assert sentence["source_words"] == list(direct.source_words)
    assert [tuple(link) for link in sentence["alignment"]] == list(direct.alignment)
    assert sentence["confidence"] == pytest.approx(direct.confidence, abs=1e-3)
    kinds = [(one["kind"], one["layer"], one["head"]) for one in sentence["maps"]]
    assert ("cross", 0, 1) in kinds and ("cross", 0, 0) not in kinds
    assert {kind for kind, _, _ in kinds} == {"cross", "self"}
    for one in sentence["maps"]:
        assert np.sum(one["weights"], -1) == pytest.approx(1.0, abs=1e-3)
    assert asked(client, "/v1/translate")["sentences"][0]["maps"] == []


def test_a_named_model_a_prefix_and_auto(client):
    assert asked(client, "/v1/translate", model="rnn")["model"] == "rnn"
    assert "no model 'x'" in asked(client, "/v1/translate", 400, model="x")["error"]
    wrong = asked(client, "/v1/translate", 400, model="en-zh")
    assert "does not translate from en to fr" in wrong["error"]
    assert asked(client, "/v1/translate", prefix="Une")["text"].startswith("Une")
    several = asked(client, "/v1/translate", 400, prefix="Une", q=SOURCE.rstrip(".") * 30)
    assert "prefix is for one sentence" in several["error"]
    assert asked(client, "/v1/translate", source="auto")["detectedLanguage"]["language"] == "en"


def streamed(client, **fields):
    with client.stream("POST", "/v1/stream", json={**FIELDS, **fields}) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        blocks = "".join(answer.iter_text()).strip().split("\n\n")
    found = []
    for block in blocks:
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


@pytest.mark.parametrize("target", ["fr", "zh"])
def test_a_stream_comes_word_by_word(client, catalogue, target):
    model = direct_model(catalogue.models, "en", target).translator
    text = f"{SOURCE} {FRENCH[1][0]}"
    greedy = model.translate(text, settings=replace(model.run.decoding, beam=1)).text
    *words, last = streamed(client, q=text, target=target)
    assert last == ("done", {"text": greedy})
    assert {name for name, _ in words} == {"word"}
    for number in (0, 1):
        grown = [one["text"] for _, one in words if one["sentence"] == number]
        assert len(grown) > 3
        assert all(b.startswith(a) and b != a for a, b in pairwise(grown))


def test_a_stream_goes_on_from_a_beginning(client):
    assert streamed(client, prefix="Une")[-1][1]["text"].startswith("Une")
    assert "error" in asked(client, "/v1/stream", 400, target="x")
    for field, value in (("forbid", ["Une"]), ("glossary", {"owl": "hibou"})):
        assert "/v1/translate" in asked(client, "/v1/stream", 400, **{field: value})["error"]


def test_switching_heads_off_changes_the_translation(client):
    plain = asked(client, "/v1/intervene", edits=[])
    assert plain["text"] == TARGET
    off = asked(client, "/v1/intervene", edits=[{"type": "switch_off", "kind": "cross"}])
    assert off["text"] != TARGET and off["unused"] == 0
    assert asked(client, "/v1/translate")["text"] == TARGET  # nothing is left of it


def test_overwritten_rows_are_seen_in_the_maps(client):
    length = len(asked(client, "/v1/translate")["sentences"][0]["source_tokens"]) + 1
    weights = [0.0] * (length - 1) + [2.0]
    edit = {"type": "overwrite", "layer": [0], "heads": [0], "rows": [1], "weights": weights}
    maps = [{"kind": "cross", "layer": 0, "heads": [0]}]
    found = asked(client, "/v1/intervene", edits=[edit], maps=maps)
    (one,) = found["sentences"][0]["maps"]
    assert one["weights"][1] == [0.0] * (length - 1) + [1.0]
    late = {**edit, "rows": [40]}
    assert asked(client, "/v1/intervene", edits=[late])["unused"] == 1


@pytest.mark.parametrize("prefix", ["", TARGET.rpartition(" ")[0]])
def test_rows_of_a_decoders_own_attention_are_overwritten(client, prefix):
    """One number for each word that was read by then, read one by one or as a beginning."""
    edit = {"type": "overwrite", "kind": "causal", "rows": [2], "weights": [1, 0, 3]}
    maps = [{"kind": "causal"}]
    found = asked(client, "/v1/intervene", edits=[edit], maps=maps, prefix=prefix)
    assert found["unused"] == 0
    for one in found["sentences"][0]["maps"]:
        (row,) = [row for row in one["weights"] if row[:3] == [0.25, 0, 0.75]]
        assert not any(row[3:])


@pytest.mark.parametrize(
    "edit",
    [
        {"type": "nonsense"},
        {"type": "switch_off", "heads": [99]},
        {"type": "switch_off", "scale": "x"},
        {"type": "overwrite", "rows": [0], "weights": [1.0]},
        {"type": "overwrite", "rows": [0], "weights": []},
        {"type": "overwrite", "rows": [0], "weights": [-1.0, 0.5]},
        {"type": "overwrite", "rows": [-1], "weights": [1.0]},
        {"type": "overwrite", "rows": [0], "weights": [[1.0], [1.0]]},
    ],
)
def test_an_edit_that_does_not_fit_is_400(client, edit):
    assert asked(client, "/v1/intervene", 400, edits=[edit])["error"]
    assert asked(client, "/v1/translate")["text"] == TARGET


def test_an_intervention_is_for_one_sentence(client):
    found = asked(client, "/v1/intervene", 400, edits=[], q=SOURCE.rstrip(".") * 30)
    assert "one sentence" in found["error"]


def test_alternatives_for_a_word(client):
    found = asked(client, "/v1/alternatives", translation=TARGET, word=2, count=3)
    assert len(found) == 3 and all(one["text"] != TARGET for one in found)
    assert asked(client, "/v1/alternatives", 400, translation=TARGET, word=99)["error"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"q": "a " * 100}, "text must be one sentence"),
        ({"q": " \n"}, "text must be one sentence"),
        ({"translation": "le chien " * 50}, "translation is longer"),
        ({"translation": "le chien " * 5000}, "exceeds text limit (20000)"),
    ],
)
def test_alternatives_of_what_does_not_fit_are_refused_at_once(client, fields, said):
    more = {"translation": TARGET, "word": 0, "count": 20, **fields}
    with held_up(client.service.long_batcher):  # it does not wait for its turn
        assert said in asked(client, "/v1/alternatives", 400, **more)["error"]


def test_alternatives_of_the_longest_translation_are_given(client, catalogue):
    most = catalogue.models[0].translator.network.max_length
    words = " ".join(["le"] * most)
    assert asked(client, "/v1/alternatives", translation=words, word=most - 2)
    assert asked(client, "/v1/alternatives", 400, translation=f"{words} le", word=0)


PATHS = ["translate", "intervene", "stream", "view", "alternatives", "trace"]


@pytest.mark.parametrize("path", PATHS)
def test_all_that_comes_is_counted(client, path):
    fields = {"edits": []} if path in ("intervene", "view") else {}
    name = "translation" if path == "alternatives" else "prefix"
    fields |= {"word": 0} if path == "alternatives" else {}
    found = asked(client, f"/v1/{path}", 400, **{**fields, name: "x" * 20_000})
    assert found["error"].startswith(f"Invalid request: request ({20_000 + len(SOURCE)})")


@pytest.mark.parametrize("path", ["/v1/intervene", "/v1/view"])
def test_an_edit_that_breaks_the_scores_is_told(client, path):
    edit = {"type": "switch_off", "scale": 1e30}
    found = asked(client, path, 400, edits=[edit])
    assert "with these edits" in found["error"]


@pytest.mark.parametrize("path", ["/v1/intervene", "/v1/view"])
def test_edits_that_met_nothing_are_counted_without_a_warning(client, path, recwarn):
    edits = [
        {"type": "switch_off", "layer": [77]},
        {"type": "switch_off", "scale": 1.0},
        {"type": "switch_off", "kind": "self", "layer": [0], "heads": [0]},
    ]
    assert asked(client, path, edits=edits)["unused"] == 1
    assert not [one for one in recwarn if "attention" in str(one.message)]


@pytest.mark.parametrize("path", ["/v1/translate", "/v1/intervene"])
def test_maps_that_would_fill_the_memory_are_not_computed(client, catalogue, path, monkeypatch):
    model = catalogue.models[0]
    expected = model.translator.estimate_map_size(SOURCE)
    sentences = model.translator.translate(SOURCE, attention=True).sentences
    count = sum(one.weights.numel() for one in sentences[0].attention)
    assert count / 3 < expected < 3 * count
    monkeypatch.setattr(v1, "MAX_EXPECTED_WEIGHTS", expected - 1)
    more = {"edits": []} if path.endswith("intervene") else {}
    done = client.post(path, json={"q": SOURCE, "target": "fr", "maps": [{}], **more})
    assert (done.status_code, done.json()["error"]) == (
        400,
        "the maps would be too large; choose fewer, or send less text.",
    )
    assert client.post(path, json={"q": SOURCE, "target": "fr", **more}).status_code == 200


def test_wording(client):
    word = TARGET.split()[1].strip(".")
    assert word not in asked(client, "/v1/translate", forbid=[word])["text"].split()
    terms = {SOURCE.split()[1]: "xylophone"}
    found = asked(client, "/v1/translate", glossary=terms, min_length=2, coverage_penalty=0.1)
    assert found["sentences"][0]["missing_terms"] == [[SOURCE.split()[1], "xylophone"]]
    again = asked(client, "/v1/translate", min_length=25, beam_groups=2, alternatives=1)
    assert again["sentences"][0]["flags"][0]["kind"] in {"repeated", "retranslated"}
    assert "beam_groups" in asked(client, "/v1/translate", 400, beam_groups=0)["error"]


def test_placeholders_are_kept_or_warned_of(client):
    text = SOURCE.replace(" ", " %s ", 1)
    (sentence,) = asked(client, "/v1/translate", q=text)["sentences"]
    assert sentence["text"].count("%s") == 1 and sentence["source"] == text
    assert all(warning["message"] for warning in sentence["warnings"])
    assert asked(client, "/v1/translate", q=text, protect=False)["sentences"][0]["warnings"] == []
    body = {"q": [text, "%s"], "source": "en", "target": "fr"}
    first, second = client.post("/translate", json=body).json()["translatedText"]
    assert first == sentence["text"] and second == "%s"


def test_a_glossary_through_the_other_api(client):
    other = next(w for _, t in FRENCH[2:] for w in t.split() if w.isalpha() and len(w) > 5)
    body = {"q": SOURCE, "source": "en", "target": "fr", "glossary": {SOURCE.split()[1]: other}}
    assert other in client.post("/translate", json=body).json()["translatedText"]
    refused = client.post("/translate", json={**body, "glossary": {"": "x"}})
    assert refused.status_code == 400
