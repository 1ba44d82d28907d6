"""What the stages of the page ask for: every number on a sentence's way, and chosen next words."""

import base64
import math
import zlib

import numpy as np
import pytest

from regard.server.access.keys import make_key, read_keys
from regard.server.api import tracing
from regard.tasks.inspection import InspectOptions
from regard.tasks.tracing import expected_numbers, trace_text
from regard.text.tokenizer import EOS
from servers import held_up, serving
from trained import taught

SOURCE, TARGET = taught("en-fr")[0]
FIELDS = {"q": SOURCE, "source": "en", "target": "fr"}


def asked(client, status=200, **fields):
    answer = client.post("/v1/trace", json={**FIELDS, **fields})
    assert answer.status_code == status, answer.text
    return answer.json()


def steps(found, name, **place):
    wanted = {"name": name, **place}
    return [s for s in found["trace"]["steps"] if wanted.items() <= s.items()]


def numbers(step):
    sizes = zip(step["axes"], step["shape"], strict=True)
    shape = [10 if axis == "vocabulary" else size for axis, size in sizes]
    flat = np.frombuffer(zlib.decompress(base64.b64decode(step["values"])), "<f4")
    return flat.reshape(shape)


@pytest.mark.parametrize("model", [0, 1])
def test_every_number_of_a_sentence(client, catalogue, model):
    served = catalogue.models[model]
    found = asked(client, model=served.name)
    assert (found["model"], found["source"], found["target"]) == (served.name, "en", "fr")
    direct = trace_text(
        served.translator, SOURCE, every_word=True, options=InspectOptions(split=False)
    )
    assert found["text"] == direct.output and found["trace"]["model"]["name"] == served.name
    assert len(found["trace"]["steps"]) == len(direct.steps)
    for told, step in zip(found["trace"]["steps"], direct.steps, strict=True):
        assert (told["name"], told["layer"], told["head"]) == (step.name, step.layer, step.head)
        assert numbers(told) == pytest.approx(step.values, rel=1e-3, abs=1e-6)
    places = [shape["place"] for shape in found["trace"]["drawing"]["shapes"] if "place" in shape]
    for step in direct.steps:  # each happens in a block of the drawing
        assert any(
            place["side"] == step.side
            and place["part"] == step.part
            and (place["layers"] is None or step.layer in place["layers"])
            for place in places
        ), step.place


def test_a_layer_a_head_and_a_word(client):
    found = asked(client, layer=1, head=1, word=SOURCE.split()[1].upper())
    told = found["trace"]["steps"]
    assert {step["layer"] for step in told} == {None, 1}
    assert {step["head"] for step in told} == {None, 1}
    assert found["trace"]["word"]["text"] == SOURCE.split()[1]


def test_the_model_goes_on_after_chosen_words(client, catalogue):
    first = asked(client)
    own = first["trace"]["sides"]["decoder"]["ids"]
    (step,) = steps(first, "probabilities")
    assert len(step["ids"][0]) == 10 and own[1] in step["ids"][1]
    other = next(id for id in step["ids"][1] if id not in (own[1], EOS))
    found = asked(client, written=[own[0], other])
    assert found["trace"]["sides"]["decoder"]["ids"][:2] == [own[0], other]
    target = catalogue.models[0].translator.tokenizers.target
    assert found["text"].startswith(target.decode([own[0], other]))
    ended = asked(client, written=[*own[:3], EOS])
    assert ended["text"] == target.decode(own[:3])
    assert ended["trace"]["sides"]["decoder"]["ids"] == [*own[:3], EOS]
    assert asked(client, prefix="Une")["text"].startswith("Une")


def test_edits_are_seen(client):
    off = {"type": "switch_off", "kind": "cross", "layer": [0], "heads": [0]}
    found = asked(client, edits=[off])
    (context,) = steps(found, "heads joined", side="decoder", layer=0, part="cross-attention")
    assert steps(found, "query", layer=0)[0]["equation"] == "q = W_q x + b_q"
    half = context["shape"][1] // 2
    values = numbers(context)
    assert not values[:, :half].any() and values[:, half:].any()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"word": "xyzzy"}, "there is no word 'xyzzy' in the sentence; its words are: "),
        ({"layer": 9}, "there is no layer 9: this model has layers 0 to 1."),
        ({"head": 9}, "there is no head 9: this model has heads 0 to 1."),
        ({"model": "rnn", "head": 0}, "this model's attention has no heads to choose from"),
        ({"q": f"{SOURCE} " * 40}, "one sentence is traced at a time, but the text has "),
        ({"written": [10**6]}, "there is no token 1000000: the model writes tokens 0 to "),
        ({"written": [EOS, EOS]}, "nothing follows the end of a sentence"),
        ({"written": [9], "prefix": "Le"}, "prefix and written are both a beginning"),
        ({"written": [9] * 200}, ""),
        ({"edits": [{"type": "switch_off", "heads": [99]}]}, ""),
        ({"target": "de"}, "de is not supported"),
        ({"layer": -1}, "layer: "),
    ],
)
def test_what_cannot_be_traced_is_one_sentence(client, fields, sentence):
    error = asked(client, 400, **fields)["error"]
    assert error.startswith(sentence) and "\n" not in error and len(error) < 500


def test_what_does_not_fit_is_refused_at_once(client):
    with held_up(client.service.long_batcher):  # it does not wait for its turn
        asked(client, 400, q=f"{SOURCE} " * 40)


def test_too_many_numbers_are_refused(client, catalogue, monkeypatch):
    for name in ("rnn", "en-fr"):
        steps = asked(client, model=name)["trace"]["steps"]
        count = sum(math.prod(step["shape"]) for step in steps if "vocabulary" not in step["axes"])
        translator = next(m.translator for m in catalogue.models if m.name == name)
        assert count / 3 < expected_numbers(translator, SOURCE) < 2 * count
    monkeypatch.setattr(tracing, "MAX_NUMBERS", count)
    assert "choose a layer" in asked(client, 400)["error"]
    monkeypatch.setattr(tracing, "MAX_NUMBERS", 100)
    with held_up(client.service.long_batcher):  # before it is computed
        assert "send a shorter sentence" in asked(client, 400)["error"]


def test_a_key_is_needed_where_it_is_for_others(catalogue, tmp_path):
    secret = make_key(tmp_path / "keys", "a")
    with serving(catalogue, read_keys(tmp_path / "keys"), key_required=True) as client:
        assert asked(client, 403)["error"].startswith("Please contact")
        assert asked(client, api_key=secret, layer=0, head=0)["text"] == TARGET
