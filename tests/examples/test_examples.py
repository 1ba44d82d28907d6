"""The examples: each runs, small, and does what its docstring says."""

import importlib
import re
import sys
from pathlib import Path

import pytest
import torch

from regard.attention import Mask, attend

FOLDER = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.fixture
def example(monkeypatch, tmp_path):
    """Imports an example, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for name in PROGRAMS:
        sys.modules.pop(name, None)


def test_the_list_is_complete():
    listed = re.findall(r"\]\((\w+\.(?:py|ipynb))\)", (FOLDER / "README.md").read_text("utf-8"))
    files = {path.name for path in FOLDER.iterdir() if path.suffix in (".py", ".ipynb")}
    assert set(listed) == files and len(listed) == 2 * len(files)  # in both languages


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_docstring_says_how_to_run_it(name):
    text = (FOLDER / f"{name}.py").read_text("utf-8")
    assert f"python examples/{name}.py" in text.split('"""')[1]
    imports = re.findall(r"^(?:from|import) (regard[\w.]*)", text, re.M)
    assert set(imports) <= {"regard", "regard.attention", "regard.views"}  # the public API only


def test_custom_score(example):
    answer = example("custom_score").main(steps=60, points=30)
    assert answer["after"] < 0.5 * answer["before"]


def test_a_custom_score_runs_on_both_engines(example):
    score = example("custom_score").Laplace(2.0).double()
    query, key = torch.randn(2, 4, 3).double(), torch.randn(2, 7, 3).double()
    answers = [
        attend(query, key, key, score=score, mask=Mask.lengths([7, 0]), engine=engine).context
        for engine in ("dense", "blockwise")
    ]
    torch.testing.assert_close(*answers)
    assert (answers[0][1] == 0).all()


def test_custom_mechanism(example):
    answer = example("custom_mechanism").main(length=256, size=16)
    assert answer["error"] < 1e-5 and answer["most"] == 16


@pytest.mark.parametrize("lengths", [None, [23, 11, 0]])
@pytest.mark.parametrize("causal", [False, True])
def test_a_custom_mechanism_is_its_pattern(example, lengths, causal):
    query, key, value = (torch.randn(3, 2, 23, 8).double() for _ in range(3))
    masks = [Mask.lengths(lengths)] if lengths else []
    masks += [Mask.causal()] if causal else []
    mask = None if not masks else masks[0] if len(masks) == 1 else masks[0] & masks[1]
    own = Mask.segments(torch.arange(23) // 5)
    got = example("custom_mechanism").Chunks(5)(query, key, value, mask=mask, weights=True)
    expected = attend(query, key, value, mask=own & mask if mask else own, weights=True)
    torch.testing.assert_close(got.context, expected.context)
    torch.testing.assert_close(got.weights, expected.weights)


def test_a_custom_mechanism_decodes_step_by_step(example):
    from regard.attention import MultiHead

    layer = MultiHead(8, 2, mechanism=example("custom_mechanism").Chunks(3)).double()
    words = torch.randn(1, 7, 8).double()
    whole = layer(words, mask=Mask.causal()).context
    cache, steps = layer.empty_cache(batch=1), []
    for word in words.split(1, dim=1):
        step = layer(word, cache=cache)
        cache = step.cache
        steps.append(step.context)
    torch.testing.assert_close(torch.cat(steps, 1), whole)
