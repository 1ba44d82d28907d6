"""`regard trace`: one word's way through each kind of model, in the terminal, JSON and HTML."""

import json
import re
import shutil
from functools import partial
from html import unescape

import numpy as np
import pytest
import torch

from classified import classifier
from regard.cli import main
from regard.demo.toy import WORDS, measure, toy_attention
from regard.demo.toy_page import toy_trace
from regard.folder import WEIGHTS, save_weights
from regard.tasks import load
from regard.text import EOS
from regard.views.maps.traced import ONLY_QUERY
from trained import taught, trained

SOURCE, TARGET = taught("en-fr")[0]
WORD = SOURCE.split()[1]


@pytest.fixture(scope="session")
def rnn(tmp_path_factory):
    return str(trained("rnn", tmp_path_factory))


def traced(regard, text, model, *words):
    said = regard("trace", text, "--model", model, "--threads", 1, *words)
    assert said.code == 0, said.err
    return said.out


def steps_of(regard, text, model, *words):
    return json.loads(traced(regard, text, model, "--json", *words))


def test_an_empty_translation_is_traced_and_inspected(regard, en_fr, tmp_path):
    folder = tmp_path / "empty"
    shutil.copytree(en_fr, folder)
    weights = load(en_fr, threads=1, engine="torch").network.state_dict()
    weights["output.bias"][EOS] += 1000
    save_weights(folder / WEIGHTS, weights)
    assert steps_of(regard, SOURCE, folder)["steps"]
    assert "reads " in traced(regard, SOURCE, folder, "--word", WORD)
    for command in ("trace", "inspect"):
        page = tmp_path / f"{command}.html"
        said = regard(command, SOURCE, "--model", folder, "--out", page)
        assert said.code == 0 and page.is_file(), said.err
    said = regard("translate", "--model", folder, "--alternatives", 0, SOURCE)
    assert said.code == 2 and "the translation is empty" in said.err


def test_the_blackboard_of_a_translator(regard, en_fr):
    out = traced(regard, SOURCE, en_fr, "--word", WORD)
    assert f"reads   {SOURCE}" in out and f"writes  {TARGET}" in out
    for name in (
        "Encoder: embedding",
        "Encoder, layer 0: self-attention",
        "Decoder, layer 0: cross-attention",
        "Decoder: output",
    ):
        assert name in out
    for name in ("query", "scaled", "weights", "weighted values", "heads joined", "residual"):
        assert re.search(rf"\d+\. {name} ", out), name
    assert "−∞" in out  # what comes later is masked
    assert all(len(line) <= 100 for line in out.splitlines())
    assert "--layer" in out and "Numbers are rounded" in out


def test_one_step_by_number_and_by_name(regard, en_fr):
    whole = steps_of(regard, SOURCE, en_fr, "--word", WORD, "--layer", 0, "--head", 1)
    weights = next(step for step in whole["steps"] if step["name"] == "weights")
    same = ["--word", WORD, "--head", 1, "--step"]
    by_name = traced(regard, SOURCE, en_fr, *same, "weights")
    assert by_name == traced(regard, SOURCE, en_fr, *same, weights["number"])
    numbers = re.findall(r"-?\d+\.\d{4}", by_name)
    assert np.allclose([float(n) for n in numbers], np.ravel(weights["values"]), atol=5e-5)
    (only,) = steps_of(regard, SOURCE, en_fr, *same, "weights")["steps"]
    assert only == weights


@pytest.mark.parametrize("name", ["en_fr", "rnn", "lm", "mlm"])
def test_the_payload_holds_together(regard, name, request):
    folder = request.getfixturevalue(name)
    found = steps_of(regard, SOURCE, folder, "--word", WORD)
    assert found["version"] == 1 and found["word"]["text"].startswith(WORD)
    assert [step["number"] for step in found["steps"]] == list(range(1, len(found["steps"]) + 1))
    for step in found["steps"]:
        values = np.array(step["values"], dtype=object)
        size = list(step["shape"])
        if step["axes"][-1:] == ["vocabulary"]:
            size[-1] = len(step["tokens"][0])
        assert list(values.shape) == size, step["name"]
        assert len(step["axes"]) == len(size)
        if "key" in step["axes"]:
            tokens = found["sides"][step["keys"]]["tokens"]
            assert step["shape"][step["axes"].index("key")] == len(tokens)
        if "query" in step["axes"]:
            assert step["rows"] == found["word"]["rows"][step["side"]]
    named = [step["name"] for step in found["steps"]]
    assert named[-3:] == ["logits", "probabilities", "word"]
    if name == "rnn":
        assert {"previous state", "energies", "weights", "context", "joined"} <= set(named)
        assert found["sizes"] == []
    else:
        sizes = {(size["layers"], size["heads"]) for size in found["sizes"]}
        assert sizes <= {(1, 2), (2, 2)}


def test_the_last_word_decides_the_next(regard, lm):
    model = load(lm)
    found = steps_of(regard, "The", lm)
    with torch.no_grad():
        logits = model.network(model.batch(model.tokenizer.encode("The")))[0, -1]
    (word,) = found["steps"][-1]["tokens"][-1]
    assert word == model.tokenizer.pieces([int(logits.argmax())])[0]
    best = next(step for step in found["steps"] if step["name"] == "logits")
    assert best["values"][-1][0] == pytest.approx(float(logits.max()), rel=1e-4)


def test_a_word_of_the_translation_and_chinese(regard, en_fr, en_zh):
    word = TARGET.split()[0]
    found = steps_of(regard, SOURCE, en_fr, "--word", word)
    (row,) = found["word"]["rows"]["decoder"]
    assert found["sides"]["decoder"]["written"][row].strip("▁") == word
    source, target = taught("en-zh")[0]
    out = traced(regard, source, en_zh)
    assert target in out


def test_a_classifier(regard, tmp_path_factory):
    folder = classifier("text-en", tmp_path_factory)
    found = steps_of(regard, "the red fox", folder, "--layer", 0)
    assert {step["side"] for step in found["steps"]} == {"encoder", "pooling"}
    assert found["steps"][-1]["tokens"][0][0] in load(folder).labels
    assert ONLY_QUERY in traced(regard, "the red fox", folder)


def test_the_page(regard, en_fr, tmp_path):
    out = tmp_path / "steps.html"
    text = f"{WORD} <script>alert(1)</script> &amp;"
    said = regard("trace", text, "--model", en_fr, "--word", WORD, "--out", out, "--threads", 1)
    assert said.code == 0 and str(out) in said.out
    page = out.read_text("utf-8")
    assert "<script>alert" not in page and "default-src 'none'" in page
    data = re.search(r'id="trace">(.*?)</script>', page, re.DOTALL)[1]
    payload = json.loads(data)
    assert payload["text"] == text or "alert" in payload["text"]
    assert page.count('id="numbers-') == len(payload["steps"])


def test_what_cannot_be_traced_is_one_sentence(refused, en_fr, rnn, lm, tmp_path):
    model = ["--model", en_fr]
    assert "there is no word 'zebra' in the sentence; its words are:" in refused(
        "trace", SOURCE, *model, "--word", "zebra"
    )
    assert "there is no layer 7: this model has layers 0 to" in refused(
        "trace", SOURCE, *model, "--layer", 7
    )
    assert "there is no head 2: this model has heads 0 to 1" in refused(
        "trace", SOURCE, *model, "--head", 2
    )
    assert "has no layers to choose from" in refused("trace", SOURCE, "--model", rnn, "--layer", 0)
    assert "this model has no step 'energies'; its steps are: token" in refused(
        "trace", SOURCE, *model, "--step", "energies"
    )
    assert "there is no step 900: the steps are 1 to" in refused(
        "trace", SOURCE, *model, "--step", 900
    )
    assert "one sentence is traced at a time, but the text has 2" in refused(
        "trace", f"{SOURCE} {SOURCE}", *model
    )
    assert "but the model holds" in refused("trace", " ".join([SOURCE] * 20), "--model", lm)
    assert "there is no text to trace" in refused("trace", *model)
    assert "give its folder with --model" in refused("trace", SOURCE)
    assert "leave text out" in refused("trace", SOURCE, "--toy")
    assert "leave head out" in refused("trace", "--toy", "--head", "1")
    nowhere = tmp_path / "none" / "steps.html"
    assert "none" in refused("trace", SOURCE, *model, "--out", nowhere)


def test_a_sentence_too_long_for_the_picture(refused, lm, monkeypatch):
    monkeypatch.setattr("regard.tasks.tracing.MAX_TOKENS", 4)
    assert "too many to show every number: at most 4" in refused("trace", SOURCE, "--model", lm)


def test_toy():
    toy = toy_attention(lengths=(4, 32))
    assert all(difference < 1e-12 for difference in toy.differences.values())
    text = toy.text()
    assert text.count("The same result") == 3 and "NOT the same" not in text
    assert "2·0 + 0·2 + 1·1 + 1·0 =  1" in text  # the first score, by hand
    payload = toy.payload()
    assert payload["words"] == list(WORDS) and [row["n"] for row in payload["seconds"]] == [4, 32]
    assert [row["extrapolated"] for row in payload["seconds"]] == [False, True]
    x, w_q, w_k, w_v = (np.array(payload["matrices"][n]) for n in ("X", "W_Q", "W_K", "W_V"))
    scores = np.exp(x @ w_q @ (x @ w_k).T / 2)
    expected = scores / scores.sum(1, keepdims=True) @ (x @ w_v)
    assert np.allclose(expected, payload["results"]["context"], atol=1e-5)
    assert all(seconds > 0 for seconds in measure(4))


def test_toy_as_a_page(tmp_path, capsys, monkeypatch):
    file = tmp_path / "toy.html"
    short = partial(toy_attention, lengths=(4, 32))  # as longer ones take seconds
    monkeypatch.setattr("regard.demo.toy.toy_attention", short)
    assert main(["trace", "--toy", "--out", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}: attention by hand\n"
    html = file.read_text("utf-8")
    assert all(f"<td>{n}</td>" in html for n in (4, 32))
    assert unescape(html).count("The same result") >= 3 and "NOT the same" not in html
    traced, toy = toy_trace(), toy_attention(lengths=(4,))
    last = {step.layer: step for step in traced.steps if step.name[:6] in ("contex", "output")}
    assert np.allclose(last[0].values, toy.by_matrix) and np.allclose(last[1].values, toy.output)
    assert not any("b_" in step.equation for step in traced.steps)
