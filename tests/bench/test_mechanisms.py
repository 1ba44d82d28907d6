"""`regard bench mechanisms`: figures of every mechanism, over drawn and over the user's tensors."""

import json

import pytest
import torch
from safetensors.torch import save_file

from regard.attention.mechanisms import MECHANISMS
from regard.bench.mechanisms import error_against_exact, inputs, read_tensors, slope
from regard.bench.stepping import stepped
from regard.cli import main


def test_all_figures_of_one(capsys, tmp_path):
    figure = tmp_path / "growth.png"
    words = ["bench", "mechanisms", "--only", "linear", "--lengths", "64", "128", "--repeats", "1"]
    assert main([*words, "--json", "--figure", str(figure)]) in (0, 1)  # a busy machine misses bars
    shown = json.loads(capsys.readouterr().out)
    (found,) = shown["mechanisms"]
    assert found["name"] == "linear"
    assert found["lengths"] == [64, 128]
    assert len(found["seconds"]) == len(found["megabytes"]) == 2
    assert set(found["growth"]) == {"time", "memory"}
    assert found["declared"]["masks"] == ["causal", "lengths"]
    assert found["steps"]["at"] == [100, 1000, 10000]
    assert found["steps"]["bytes"][0] == found["steps"]["bytes"][-1]
    assert figure.read_bytes().startswith(b"\x89PNG")
    held = {row["name"]: row["holds"] for row in shown["bars"]}
    assert held["linear, word by word: bytes held at word 10,000 over those at word 100"]


@pytest.mark.slow
def test_the_table(capsys):
    words = ["bench", "mechanisms", "--only", "blockwise", "--lengths", "32", "--repeats", "1"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "blockwise" in shown and "exact" in shown


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_errors_are_those_of_what_is_declared(name, causal):
    mechanism = MECHANISMS[name](96, 8, 64)
    if causal and not mechanism.facts.masks & {"causal", "any"}:
        return
    error = error_against_exact(mechanism, inputs(96), causal=causal)
    if mechanism.facts.answer == "exact":
        assert error < 1e-5
    else:
        assert 1e-4 < error < 10


@pytest.fixture
def tensor_files(tmp_path):
    one, three = tmp_path / "one.safetensors", tmp_path / "three.safetensors"
    save_file({"q": torch.randn(2, 40, 16)}, one)
    save_file({name: torch.randn(40, 16) for name in ("query", "key", "value")}, three)
    return one, three


def test_the_users_tensors_are_read(tensor_files):
    one, three = map(read_tensors, tensor_files)
    assert [x.shape for x in one] == [(1, 2, 40, 16)] * 3
    assert [x.shape for x in three] == [(1, 1, 40, 16)] * 3
    for tensors in (one, three):
        assert error_against_exact(MECHANISMS["full"](40, 2, 16), tensors, causal=False) == 0


@pytest.mark.slow
def test_the_users_tensors(capsys, tensor_files):
    for path in tensor_files:
        words = ["bench", "mechanisms", "--tensors", str(path), "--lengths", "32", "--json"]
        assert main([*words, "--only", "full", "--repeats", "1"]) == 0
        assert json.loads(capsys.readouterr().out)["mechanisms"][0]["error"] == 0


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({"query": torch.zeros(4, 2), "key": torch.zeros(4, 2)}, "no value"),
        ({"x": torch.zeros(4)}, "shape"),
        (
            {"query": torch.ones(4, 2), "key": torch.ones(5, 2), "value": torch.ones(5, 2)},
            "one length",
        ),
    ],
)
def test_tensors_that_do_not_fit(capsys, tmp_path, tensors, said):
    path = tmp_path / "x.safetensors"
    save_file(tensors, path)
    assert main(["bench", "mechanisms", "--tensors", str(path)]) == 2
    assert said in capsys.readouterr().err


def test_other_subjects_and_bad_figures(capsys, tmp_path):
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "attention", "--causal"])
    assert "invalid choice: 'attention'" in capsys.readouterr().err
    assert main(["bench", "mechanisms", "--figure", str(tmp_path / "x.gif")]) == 2
    assert ".png" in capsys.readouterr().err
    assert main(["bench", "mechanisms", "--only", "nonsense"]) == 2
    (tmp_path / "bad.safetensors").write_bytes(b"no")
    assert main(["bench", "mechanisms", "--tensors", str(tmp_path / "bad.safetensors")]) == 2


def test_the_exponent_of_a_cube():
    assert round(slope([1, 2, 4], [1, 8, 64]), 6) == 3.0


def test_caches_grow_only_where_they_must():
    kept = {name: stepped(name, (20, 400)).bytes for name in ("full", "local", "linear")}
    assert kept["full"][1] > 5 * kept["full"][0]
    assert kept["linear"][1] == kept["linear"][0]
    assert kept["local"][1] <= 2 * kept["local"][0]


def test_the_normalizers(capsys):
    words = ["bench", "mechanisms", "--only", "normalizers"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mechanisms"] == []
    assert len(found["bars"]) == 4
    assert all(row["holds"] for row in found["bars"])
    assert main(words) == 0
    assert "largest difference" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_the_ring(capsys):
    assert main(["bench", "mechanisms", "--only", "ring", "--lengths", "64", "128"]) == 0
    shown = capsys.readouterr().out
    assert "4 ranks" in shown and "n² / ranks" in shown
