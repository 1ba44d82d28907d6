"""`regard generate`, `fill`, `info`, `train`, and what all commands have in common."""

import json
import shutil
import subprocess
import sys

import pytest
import torch

from regard.cli import COMMANDS
from regard.tasks import load
from trained import FLAGS, taught, write_corpus

TEXTS = [source for source, _ in taught("lm")]
HELP = """
import sys
from regard.cli import main
try:
    main([{!r}, "--help"])
except SystemExit as stop:
    assert not stop.code
heavy = {{"torch", "numpy", "scipy", "sklearn", "sacrebleu", "sentencepiece", "lxml", "fastapi"}}
assert not heavy & set(sys.modules) and len(sys.modules) < 400, len(sys.modules)
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_help_comes_at_once_without_torch(command):
    """What takes long to import is not imported."""
    done = subprocess.run([sys.executable, "-c", HELP.format(command)], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"--help" in done.stdout


def test_generate(regard, lm):
    begin = " ".join(TEXTS[0].split()[:2])
    greedy = regard("generate", begin, "--model", lm, "--beam", 1)
    assert greedy.code == 0 and greedy.out.startswith(begin)
    drawn = ["generate", begin, "--model", lm, "--count", 3, "--temperature", 2, "--seed"]
    assert regard(*drawn, 1).out == regard(*drawn, 1).out != regard(*drawn, 2).out
    found = [json.loads(line) for line in regard(*drawn, 1, "--json").out.splitlines()]
    assert len(found) == 3
    assert all(set(one) == {"text", "score", "tokens", "finished"} for one in found)
    several = regard("generate", "The", "--model", lm, "--beam", 4, "--count", 2, "--json")
    scores = [json.loads(line)["score"] for line in several.out.splitlines()]
    assert len(scores) == 2 and scores[0] >= scores[1]
    assert regard("generate", "--model", lm).out.strip()


def test_the_length_is_counted_after_the_prompt(regard, lm):
    begin = TEXTS[0].rstrip(".")
    words = ["generate", begin, "--model", lm, "--max-length", 2, "--json"]
    (found,) = (json.loads(line) for line in regard(*words).out.splitlines())
    assert found["text"].startswith(begin)
    assert len(found["tokens"]) > 2


def test_a_terminal_sees_it_written(regard, lm, monkeypatch):
    plain = regard("generate", "The", "--model", lm, "--seed", 4).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert regard("generate", "The", "--model", lm, "--seed", 4).out == plain


def test_fill(regard, mlm):
    words = ["fill", "The [MASK] was playing during the [MASK].", "--model", mlm]
    found = json.loads(regard(*words, "--json", "--count", 3).out)
    assert [len(guesses) for guesses in found["masks"]] == [3, 3]
    assert set(found["masks"][0][0]) == {"token", "probability", "text", "logit", "sampled"}
    table = regard(*words).out
    assert "[MASK] 1" in table and "[MASK] 2" in table and "%" in table
    cut = json.loads(regard(*words, "--json", "--top-k", 2).out)["masks"][0]
    assert [guess["sampled"] > 0 for guess in cut] == [True, True, False, False, False]
    assert "cut" in regard(*words, "--top-k", 2).out


def test_the_next_word(regard, refused, lm):
    """What is printed is the distribution that sampling draws from."""
    model = load(lm)
    words = ["generate", "--next", 10, "The", "--model", lm]
    found = json.loads(regard(*words, "--json").out)
    with torch.no_grad():
        logits = model.network(model.batch(model.tokenizer.encode("The")))[0, -1].double()
    logits[[0, 2, 4]] = -torch.inf  # what is never written; the end, 3, is
    expected = logits.softmax(-1).sort(descending=True)
    assert model.tokenizer.pieces(expected.indices[:10].tolist()) == [
        row["token"] for row in found["next"]
    ]
    shares = [row["probability"] for row in found["next"]]
    assert shares == pytest.approx(expected.values[:10].tolist(), abs=1e-5)
    assert [row["sampled"] for row in found["next"]] == pytest.approx(shares, abs=1e-6)
    cut = json.loads(regard(*words, "--json", "--temperature", 2, "--top-k", 3).out)["next"]
    best = (logits.sort(descending=True).values[:3] / 2).softmax(-1).tolist()
    assert [row["sampled"] for row in cut] == pytest.approx([*best, *[0.0] * 7], abs=1e-5)
    nucleus = json.loads(regard(*words, "--json", "--top-p", 0.5).out)["next"]
    kept = [row for row in nucleus if row["sampled"]]
    assert sum(row["probability"] for row in kept) >= 0.5 or len(kept) == 10
    assert sum(row["probability"] for row in kept[:-1]) < 0.5
    table = regard(*words, "--top-k", 3).out
    assert "sampled with top-k 3" in table and table.count("cut") == 7 and "logit" in table
    assert "of the probability" in regard(*words).out
    assert "temperature must be above 0" in refused(*words, "--temperature", 0)


@pytest.mark.parametrize("name", ["en_fr", "lm", "mlm"])
def test_info(regard, name, request):
    folder = request.getfixturevalue(name)
    found = json.loads(regard("info", folder, "--json").out)
    metrics = found["metrics"]
    assert found["parameters"] == metrics["parameters"] > 1000
    assert found["resumable"] and found["checkpoint"] == metrics["steps"]
    assert found["command"] == {"en_fr": "translate", "lm": "generate", "mlm": "fill"}[name]
    assert (found["alignment"] is not None) == (name == "en_fr")
    assert all(number > 5 for number in found["vocabulary"].values())
    table = regard("info", folder).out
    assert f"{found['parameters']:,}" in table
    assert "resumable" in table and "development" in table
    if found["alignment"]:
        compared = metrics["alignment"]["candidates"]
        chosen = {key: found["alignment"][key] for key in ("layer", "head", "shift")}
        assert compared[0] == {**chosen, "agreement": metrics["alignment"]["agreement"]}
        layers, heads = found["model"]["num_decoder_layers"], found["model"]["num_heads"]
        assert len(compared) == layers * (heads + 1) * 2
        assert all(f"{100 * row['agreement']:.1f}" in table for row in compared)
    assert ("agreement of attention" in table) == bool(found["alignment"])


def test_curves(regard, refused, lm, mlm, tmp_path):
    picture = tmp_path / "curves.png"
    said = regard("info", lm, "--curves", picture)
    assert said.code == 0 and "60 updates" in said.out
    assert picture.read_bytes().startswith(b"\x89PNG")
    both = tmp_path / "both.svg"
    found = json.loads(regard("info", lm, mlm, "--curves", both, "--json").out)
    assert found["updates"] == {"lm": 60, "mlm": 200} and both.is_file()
    assert "a figure ends in .png" in refused("info", lm, "--curves", tmp_path / "curves.txt")
    bare = tmp_path / "bare"
    shutil.copytree(lm, bare, ignore=shutil.ignore_patterns("checkpoints", "metrics.jsonl"))
    assert "there is no metrics.jsonl" in refused("info", bare, "--curves", picture)
    (bare / "metrics.jsonl").write_text("nonsense")
    assert "line 1: this is not JSON" in refused("info", bare, "--curves", picture)


def test_info_of_a_folder_without_all_its_parts(regard, refused, lm, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(lm, folder, ignore=shutil.ignore_patterns("checkpoints", "metrics.json"))
    (folder / "model.safetensors").unlink()
    said = regard("info", folder)
    assert said.code == 0
    assert "none yet" in said.out and "not to its end yet" in said.out
    found = json.loads(regard("info", folder, "--json").out)
    assert found["parameters"] is None and not found["resumable"]
    (folder / "model.safetensors").write_bytes(b"nonsense")
    assert "the weights cannot be read" in refused("info", folder)
    assert "it is not a model" in refused("info", tmp_path)


def test_info_tells_what_the_folder_takes_and_prunes_it(regard, refused, en_fr, tmp_path):
    folder = tmp_path / "copy"
    text = taught("en-fr")[0][0]
    regard("translate", text, "--model", en_fr)  # converts it, if no test did yet
    shutil.copytree(en_fr, folder)
    mine = folder / "checkpoints" / "notes.txt"
    mine.write_text("mine")
    whole = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    weights = (folder / "model.safetensors").stat().st_size
    disk = json.loads(regard("info", folder, "--json").out)["disk"]
    assert disk["total"] == whole and disk["other"] == len("mine")
    assert weights < disk["model"] < disk["checkpoints"]
    assert "`--prune`" in regard("info", folder).out
    done = json.loads(regard("info", folder, "--prune", "--json").out)
    assert (
        done["freed"] == disk["checkpoints"] + disk["logs"]
        and done["bytes"] == whole - done["freed"]
    )
    assert "latest" in done["removed"] and mine.read_text() == "mine"
    assert (
        regard("translate", text, "--model", folder).out
        == regard("translate", text, "--model", en_fr).out
    )
    mine.unlink()
    assert "nothing to remove" in regard("info", folder, "--prune").out
    assert "--force is for --prune" in refused("info", folder, "--force")


def test_prune_refuses_a_run_that_is_not_finished(regard, refused, en_fr, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(en_fr, folder)
    before = sorted(folder.rglob("*"))
    figures = json.loads((folder / "metrics.json").read_text("utf-8"))
    (folder / "metrics.json").write_text(json.dumps(figures | {"steps": figures["steps"] - 1}))
    assert "its training is not finished" in refused("info", folder, "--prune")
    assert "there is no config.yaml" in refused("info", tmp_path, "--prune", "--force")
    (folder / "model.safetensors").rename(tmp_path / "weights")
    assert "nothing left to use" in refused("info", folder, "--prune", "--force")
    (tmp_path / "weights").rename(folder / "model.safetensors")
    assert sorted(folder.rglob("*")) == before
    said = regard("info", folder, "--prune", "--force")
    assert said.code == 0 and "cannot be resumed" in said.out
    assert not (folder / "checkpoints").exists()


def test_info_needs_no_torch(lm):
    code = "import sys; from regard.cli import main; main(['info', sys.argv[1]]); "
    code += "assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code, lm], capture_output=True)
    assert done.returncode == 0, done.stderr


def test_a_model_of_the_wrong_kind_names_the_right_command(refused, en_fr, lm, mlm):
    for words, folder, right in (
        (["translate", "x"], lm, "generate"),
        (["translate", "x"], mlm, "fill"),
        (["generate", "x"], en_fr, "translate"),
        (["generate", "x"], mlm, "fill"),
        (["fill", "[MASK]"], lm, "generate"),
    ):
        assert f"`regard {right} … --model {folder}`" in refused(*words, "--model", folder)


@pytest.mark.parametrize("words", [["translate", "x"], ["generate"], ["fill", "[MASK]"]])
def test_a_model_that_is_not_there(refused, words, tmp_path):
    assert "none: there is no such folder" in refused(*words, "--model", tmp_path / "none")
    assert "there is no config.yaml in it" in refused(*words, "--model", tmp_path)
    (tmp_path / "file").touch()
    assert "file: this is a file" in refused(*words, "--model", tmp_path / "file")


def test_fill_and_generate_say_what_is_wrong(refused, lm, mlm):
    assert "there is no [MASK] in 'x'" in refused("fill", "x", "--model", mlm)
    assert "but the model holds 48" in refused("generate", " ".join(TEXTS), "--model", lm)
    both = ["generate", "x", "--model", lm, "--beam", 2, "--temperature", 2]
    assert "--temperature is for sampling" in refused(*both)


def test_training_says_what_it_did(regard, tmp_path):
    corpus = write_corpus("en-fr", tmp_path)
    out = tmp_path / "model"
    words = ["train", corpus, "--out", out, *FLAGS["rnn"].split(), "--training.steps", 2]
    said = regard(*words, "--json")
    assert said.code == 0
    assert json.loads(said.out)["steps"] == 2
    assert "to learn from" in said.err and "vocabulary" in said.err
    names = {"config.yaml", "model.safetensors", "metrics.json", "README.md", "tokenizer.model"}
    assert names <= {path.name for path in out.iterdir()}


def test_the_end_that_is_named_is_the_only_one(regard, tmp_path):
    """The preset's twenty epochs do not end a run that was given its own end."""
    corpus = write_corpus("lm", tmp_path)
    out = tmp_path / "model"
    words = ["train", corpus, "--out", out, *FLAGS["lm"].split(), "--model.num_layers", 1]
    assert regard(*words, "--training.steps", 25).code == 0
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["steps"] == 25 and metrics["epochs"] > 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give the files to learn from: pairs of sentences"),
        (["--model.kind", "lm"], "give the files to learn from: plain text"),
        (["nowhere.tsv"], "nowhere.tsv: there is no such file"),
        (["empty.tsv"], "empty.tsv: the file is empty"),
        (["."], ".: this is a folder"),
        (["latin.tsv"], "latin.tsv, line 2: not valid UTF-8"),
        (["narrow.tsv"], "narrow.tsv, line 2: there is one column where two are expected"),
        (["good.tsv", "--training.nonsense", "3"], "--training.nonsense"),
        (["good.tsv", "--training.steps", "many"], "training.steps must be int or none"),
        (["good.tsv", "--model.norm", "mid"], "model.norm must be pre, post, got 'mid'"),
        (["good.tsv", "--model.num_heads", "3"], "must be a multiple of 3 (num_heads)"),
        (["good.tsv", "--minutes", "soon"], "--minutes must be float"),
        (["good.tsv", "--preset", "huge"], "preset must be tiny, small, base"),
        (["good.tsv", "--model.kind", "cnn"], "model.kind must be transformer, rnn, lm, mlm"),
        (
            ["good.tsv", "--languages", "e-f"],
            "names of languages, got 'e'",
        ),
        (["good.tsv", "--minutes", "0"], "training.minutes must be above 0, got 0"),
        (
            ["good.tsv", "--model.attention", "bahdanau"],
            "--model.kind rnn, but the kind is transformer",
        ),
        (["good.tsv", "--model.cell", "lstm"], "--model.cell belongs to --model.kind rnn"),
        (["good.tsv", "--model.nonsense", "1"], "there is no --model.nonsense"),
        (["good.tsv", "--out", "good.tsv"], "good.tsv: this is a file; give a folder as --out"),
        (["good.tsv", "--out", "good.tsv/model"], "good.tsv: this is a file"),
        (["good.tsv", "--config", "run.yaml"], "model is a section with values"),
        (["good.tsv", "--config", "none.yaml"], "none.yaml: the settings cannot be read"),
        (["good.tsv", "one.txt"], "sentence pairs are read from"),
        (["--resume", "nowhere"], "nowhere: there is no such folder"),
    ],
)
def test_training_refuses_bad_input_and_writes_nothing(
    refused, words, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.tsv").write_text("a b\tc d\n" * 9)
    (tmp_path / "empty.tsv").touch()
    (tmp_path / "latin.tsv").write_bytes("a\tb\ncafé\tb\n".encode("latin-1"))
    (tmp_path / "narrow.tsv").write_text("a\tb\nc d\n")
    (tmp_path / "one.txt").write_text("a\n")
    (tmp_path / "run.yaml").write_text("model: transformer\n")
    before = sorted(tmp_path.iterdir())
    out = () if "--out" in words else ("--out", "model")
    assert message in refused("train", *words, *out)
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_without_its_corpus_cannot_go_on(refused, lm, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(lm, folder, ignore=shutil.ignore_patterns("checkpoints"))
    assert "so it cannot be resumed" in refused("train", "--resume", folder)


def test_a_reader_that_goes_away_is_no_error():
    words = [sys.executable, "-m", "regard", "corpus", "sample", "--count", "3000"]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdout.readline()
    run.stdout.close()
    assert run.wait() == 128 + 13
    assert run.stderr.read() == b""
