"""`regard classify`, `regard train --model.kind classifier` and `regard corpus series`."""

import json
import shutil

import numpy as np
import pytest

from classified import TEXT, classifier, write_examples
from known_texts import known_texts
from regard.formats.series import read_series


@pytest.fixture
def english(tmp_path_factory):
    return classifier("text-en", tmp_path_factory)


@pytest.fixture
def series(tmp_path_factory):
    return classifier("series", tmp_path_factory)


def test_words_of_a_text_are_weighed(regard, english):
    text = "the old storm under the bridge"
    said = regard("classify", "--model", english, text)
    assert said.code == 0, said.err
    first, words, weights, *_ = said.out.splitlines()
    assert first.startswith("fear  fear ")
    assert words.split() == text.split()
    at = words.index("storm")
    assert int(weights[at : at + 4].strip().rstrip("%")) >= 25


def test_lines_files_and_json(regard, english, tmp_path):
    rows = known_texts(6, 8)
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{row.label}\t{row.text}\n" for row in rows))
    said = regard("classify", "--model", english, path, "--json", "--why", "occlusion")
    results = [json.loads(line) for line in said.out.splitlines()]
    assert [result["text"] for result in results] == [row.text for row in rows]
    assert [result["label"] for result in results] == [result["true"] for result in results]
    assert [r["peak"]["word"]["name"] for r in results] == [row.cause for row in rows]
    said = regard("classify", "--model", english, "--brief", stdin=b"a storm\n\nsunny road\n")
    assert [line.split("\t")[0] for line in said.out.splitlines()] == ["fear", "joy"]
    said = regard("classify", "--model", english, "--brief", path)
    assert "6 of 6 labeled as the file says (100.0%)." in said.err


def test_empty_rows_of_files_are_passed_over_and_counted(regard, english, tmp_path):
    path, plain = tmp_path / "a.tsv", tmp_path / "a.txt"
    path.write_text("joy\tsunny road\njoy\t\nfear\tstorm\nfear\t \x07\n", "utf-8")
    plain.write_text("a storm\n\n\x07\n", "utf-8")
    said = regard("classify", "--model", english, "--brief", path, plain)
    assert [line.split("\t")[0] for line in said.out.splitlines()] == ["joy", "fear", "fear"]
    assert f"Empty texts passed over: 3 (first: {path}, line 2)." in said.err
    assert "2 of 2 labeled as the file says" in said.err


def test_channels_go_by_their_names(regard, refused, series, tmp_path):
    x = np.random.default_rng(1).standard_normal((3, 4, 64)).astype(np.float32)
    names = np.array(["Fp1", "Fp2", "F7", "F3"])
    turned, bare, other = (tmp_path / f"{name}.npz" for name in ("turned", "bare", "other"))
    np.savez(bare, x=x)
    np.savez(turned, x=x[:, ::-1], channels=names[::-1])
    np.savez(other, x=x, channels=np.array(["Fp1", "Fp2", "F7", "O1"]))
    one, two = (regard("classify", "--model", series, p, "--json").out for p in (bare, turned))
    assert one and one == two
    assert "no channel 'F3'" in refused("classify", "--model", series, other)


def test_channels_and_moments_of_a_series(regard, series, tmp_path):
    path = tmp_path / "test.npz"
    words = ["--count", 8, "--channels", 4, "--moments", 64, "--seed", 4]
    assert regard("corpus", "series", "--out", path, *words).code == 0
    said = regard("classify", "--model", series, path)
    assert said.code == 0, said.err
    assert said.out.count("Fp1 ") >= 8 and "most at moments" in said.out
    found = regard("classify", "--model", series, path, "--json").out.splitlines()
    with np.load(path) as archive:
        for line, channel, start, end in zip(
            found,
            archive["cause_channel"],
            archive["cause_start"],
            archive["cause_end"],
            strict=True,
        ):
            result = json.loads(line)
            assert np.array(result["grid"]).shape == (4, 8)
            if channel >= 0 and result["label"] == result["true"]:
                assert result["peak"]["channel"]["name"] == result["channels"][channel]["name"]
                assert start - 8 < result["peak"]["moments"]["start"] < end
    rows = [{"series": row.tolist()} for row in read_series(path).rows[:2]]
    lines = tmp_path / "test.jsonl"
    lines.write_text("\n".join(map(json.dumps, rows)))
    said = regard("classify", "--model", series, lines, "--brief")
    assert [line.split("\t")[0] for line in said.out.splitlines()] == [
        json.loads(line)["label"] for line in found[:2]
    ]


def test_a_stopped_run_goes_on_to_the_same_weights(regard, tmp_path):
    for name in ("text-en", "series"):
        home = tmp_path / name
        home.mkdir()
        path = write_examples(name, home)
        if name == "series":
            words = ["corpus", "series", "--out", path, "--count", 60, "--moments", 32]
            assert regard(*words).code == 0
        flags = [*TEXT.split(), "--text.unit", "word", "--model.patch", "4"]
        flags += ["--training.schedule", "constant"]
        whole, parts = home / "whole", home / "parts"
        assert regard("train", path, "--out", whole, *flags, "--training.steps", 6).code == 0
        assert regard("train", path, "--out", parts, *flags, "--training.steps", 3).code == 0
        said = regard("train", "--resume", parts, "--training.steps", 6)
        assert said.code == 0 and "Continuing after update 3." in said.err
        given = "series.npz" if name == "series" else "'…'"
        assert f"regard classify {given} --model" in " ".join(said.err.split())
        newest = "checkpoints/step-6/tensors.safetensors"  # the best may be of an earlier step
        one, other = ((folder / newest).read_bytes() for folder in (whole, parts))
        same = one == other  # bytes: a failure must not be told byte by byte
        assert same
        shutil.rmtree(parts / "checkpoints")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "label, tab and text in a .tsv; or series in .npz or .jsonl"),
        (["one.tsv"], "at least two labels are needed, but only 'a' occurs"),
        (["narrow.tsv"], "narrow.tsv, line 1: there is one column"),
        (["x.npz", "good.tsv"], "some hold series and some text"),
        (["bare.npz"], "the series have no labels"),
        (["x.npz", "--model.max_length", "3"], "makes 16 tokens, but the model holds 3"),
        (["x.npz", "--dev", "other.npz"], "other.npz: it has 2 channels"),
        (["good.tsv", "--dev", "one.tsv"], "one.tsv: the label 'a' is not among those learned"),
        (["x.npz", "--model.tokens", "space"], "model.tokens must be time, channels"),
        (["x.npz", "--model.encoder", "rnn", "--model.positions", "none"], "always sees it"),
    ],
)
def test_training_refuses_bad_input(refused, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.tsv").write_text("".join(f"a\tx {n}\n" for n in range(9)))
    (tmp_path / "good.tsv").write_text("".join(f"{'bc'[n % 2]}\tx {n}\n" for n in range(40)))
    (tmp_path / "narrow.tsv").write_text("a x\n")
    x = np.random.default_rng(0).standard_normal((20, 3, 16))
    np.savez("x.npz", x=x, y=np.arange(20) % 2)
    np.savez("other.npz", x=x[:, :2], y=np.arange(20) % 2)
    np.savez("bare.npz", x=x)
    before = sorted(tmp_path.iterdir())
    flags = ["--model.kind", "classifier", "--preset", "tiny", "--out", "model"]
    assert message in refused("train", *words, *flags)
    assert sorted(tmp_path.iterdir()) == before


def test_classify_refuses_bad_input(refused, english, series, tmp_path, lm):
    np.savez(tmp_path / "x.npz", x=np.zeros((1, 4, 8)))
    np.savez(tmp_path / "wide.npz", x=np.zeros((1, 5, 8)))
    for words, message in (
        (["--model", lm, "x"], f"`regard generate … --model {lm}`"),
        (["--model", english, tmp_path / "x.npz"], "this model reads text, not numeric series"),
        (["--model", english, " "], "the text is empty"),
        (["--model", series, "some text"], "this model reads numeric series (.npz or .jsonl)"),
        (["--model", series], "give a file of them"),
        (["--model", series, tmp_path / "wide.npz"], "(4 channels, moments), got float32 of shape"),
        (["--model", tmp_path, "x"], "it is not a model"),
    ):
        assert message in refused("classify", *words)
    assert "end the file name in .npz" in refused("corpus", "series", "--out", tmp_path / "x.csv")
