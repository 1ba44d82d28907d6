"""A word's vector from layer to layer: the same in the table, apart after the first layer."""

import json

import numpy as np
import pytest

from regard import load
from regard.cli import main
from regard.errors import InputError
from regard.tasks.word_states import word_states
from trained import trained


@pytest.mark.parametrize("name", ["en-fr", "lm", "mlm", "rnn"])
def test_the_same_in_the_table_and_apart_after_a_layer(name, tmp_path_factory):
    folder = trained(name, tmp_path_factory)
    model = load(folder)
    found = word_states(
        model,
        ["That black goat ate the plant.", "The plant produced the bland cheese."],
        "plant",
        count=3,
    )
    layers = len(found.states[0]) - 1
    assert found.contexts == ("… ate the plant .", "The plant produced the …")
    cosines = found.cosines()
    assert cosines.shape == (layers + 1, 2, 2)
    np.testing.assert_allclose(cosines[0], 1, atol=1e-6)
    assert (cosines[1:, 0, 1] < 0.9999).all()
    assert len(found.neighbors) in (0, layers + 1)
    for rows in found.neighbors:
        assert all("plant" not in [near.word for near in row] for row in rows)
    if found.neighbors:
        assert [n.word for n in found.neighbors[0][0]] == [n.word for n in found.neighbors[0][1]]


def test_the_command(tmp_path, tmp_path_factory, capsys):
    folder = str(trained("en-fr", tmp_path_factory))
    texts = ["The cat sees the dog.", "A dog runs.", "The old dog sleeps.", "The dog eats."]
    out = tmp_path / "plane.svg"
    assert main(["inspect", "--vectors", "dog", *texts, "--model", folder, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "cosines of the occurrences" in printed and "nearest words" in printed
    assert "The old dog sleeps" in out.read_text("utf-8")
    flags = ["--vectors", "dog", "--model", folder, "--out", str(out), "--json"]
    assert main(["inspect", *texts[:2], *flags]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["word"] == "dog" and len(answer["occurrences"]) == 2
    assert answer["layers"][0]["cosines"] == [[1.0, 1.0], [1.0, 1.0]]


BAD = {
    "absent": (["--vectors", "owl", "A dog runs."], "text 1 does not contain the word 'owl'"),
    "once": (["--vectors", "dog", "A dog runs."], "must occur 2 to 12 times"),
    "page": (["--vectors", "dog", "A dog.", "--figures", "x"], "--figures is about the page"),
    "format": (["--vectors", "dog", "A dog.", "--out", "x.html"], "ends in .png, .svg or .pdf"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case, tmp_path, tmp_path_factory, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags, sentence = BAD[case]
    assert main(["inspect", "--model", str(trained("en-fr", tmp_path_factory)), *flags]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_empty_word(tmp_path_factory):
    with pytest.raises(InputError, match="does not contain"):
        word_states(load(trained("en-fr", tmp_path_factory)), ["A dog runs."], "")
