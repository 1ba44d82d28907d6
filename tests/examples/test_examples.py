"""The examples: each runs, small, and does what its docstring says."""

import ast
import importlib
import json
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
    listed = re.findall(r"\]\((\w+\.(?:py|ipynb|sh))\)", (FOLDER / "README.md").read_text("utf-8"))
    files = {path.name for path in FOLDER.iterdir() if path.suffix in (".py", ".ipynb", ".sh")}
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


def test_patient_histories(example, capsys):
    answer = example("patient_histories").main(steps=3, patients=40, test=6)
    assert 0 <= answer["found"] <= 1 and 0 <= answer["right"] <= 1
    assert capsys.readouterr().out.count("because of") == 6


def test_eeg_signals(example, capsys):
    answer = example("eeg_signals").main(steps=3, train=40, test=6)
    assert all(0 <= share <= 1 for share in answer.values())
    assert capsys.readouterr().out.count("there was") == 5


@pytest.mark.slow
def test_classifiers_learn_and_find_the_causes(example):
    answer = example("patient_histories").main(steps=200)
    assert answer["right"] > 0.95 and answer["found"] > 0.95
    answer = example("eeg_signals").main()
    assert answer["right"] > 0.85 and answer["electrode"] > 0.85


def test_po_catalogue(example):
    answer = example("po_catalogue").main(steps=3)
    filled = Path("filled.po").read_text("utf-8")
    assert answer["filled"] == filled.count("#, fuzzy") == 86


@pytest.mark.slow
def test_a_filled_catalogue_is_right(example):
    assert example("po_catalogue").main()["right"] > 0.9


def test_po_catalogue_of_ones_own(example):
    """Plural forms as the language has them; translated and obsolete messages stay."""
    header = (
        '"Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: nplurals=3; plural=0;\\n"\n'
    )
    text = f'msgid ""\nmsgstr ""\n{header}\n'
    text += "".join(f'msgid "Save page {n}"\nmsgstr "Zapisz {n}"\n\n' for n in range(30))
    text += 'msgid "one file"\nmsgid_plural "%d files"\n'
    text += 'msgstr[0] ""\nmsgstr[1] ""\nmsgstr[2] ""\n\n'
    text += '#~ msgid "Old"\n#~ msgstr ""\n'
    Path("own.po").write_text(text, encoding="utf-8")
    module = example("po_catalogue")
    answer = module.main(Path("own.po"), "en-pl", Path("out.po"), steps=2)
    filled = Path("out.po").read_text("utf-8")
    assert answer == {"filled": 1} and filled.count("fuzzy") == 1
    assert filled.count("msgstr[") == 3 and filled.count("Zapisz") == 30


def test_hugging_face(example):
    pytest.importorskip("transformers")
    answer = example("hugging_face").main()
    assert all(one["same"] and one["layers"] == 2 for one in answer.values())
    assert "<html" in Path("bert-attention.html").read_text("utf-8")
    causal = answer["gpt2"]["map"]
    assert (causal == causal.tril()).all() and (answer["bert"]["map"] > 0).all()


def test_the_notebook_runs():
    """As Jupyter would: cells in order, the last expression of each shown."""
    whole = json.loads((FOLDER / "attention.ipynb").read_text("utf-8"))
    assert (whole["nbformat"], whole["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in whole["cells"]}) == len(whole["cells"])
    space, shown = {}, []
    for cell in whole["cells"]:
        assert {"cell_type", "id", "metadata", "source"} <= cell.keys()
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
            tree = ast.parse("".join(cell["source"]))
            last = ast.Expression(tree.body.pop().value)
            exec(compile(tree, "attention.ipynb", "exec"), space)
            shown.append(eval(compile(last, "attention.ipynb", "eval"), space))
    (context, weights, hidden), figure, shape, page, steps = shown
    assert context.item() == pytest.approx(20) and weights.sum() == pytest.approx(1)
    assert hidden[0, 2] == 0 and shape == (1, 4, 7, 7) and len(steps) > 8
    assert figure.render("png") and "<html" in page.html
