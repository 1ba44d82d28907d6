"""`regard vectors`, and `regard train --training.vectors`, as a user meets them."""

import json

import pytest

from regard.corpus.grammar import sample
from regard.tasks import load_folder
from regard.text import UNK
from regard.vectors import read_vectors

TRAIN = """
--preset tiny --languages en-fr --training.steps 2 --training.precision fp32 --training.threads 1
--training.validate_sentences 0 --training.tensorboard false --training.learning_rate 0
--training.average none --model.dim 16 --model.num_heads 2 --model.ff 16 --text.unit word
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors")
    pairs = sample("train", 400, language="fr", seed=1)
    (folder / "en.txt").write_text("\n".join(p.source for p in pairs) + "\n", "utf-8")
    chinese = sample("train", 200, language="zh", seed=1)
    (folder / "zh.txt").write_text("\n".join(p.target for p in chinese) + "\n", "utf-8")
    rows = (f"{p.source}\t{p.target}" for p in pairs[:60])
    (folder / "pairs.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return folder


def learn(regard, folder, text="en", out="v.safetensors", **flags):
    words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    return regard(
        "vectors",
        "learn",
        folder / f"{text}.txt",
        "--out",
        folder / out,
        "--dim",
        16,
        "--min-count",
        2,
        "--epochs",
        2,
        *words,
    )


@pytest.mark.parametrize("out", ["v.safetensors", "v.vec", "v.txt.gz", "place"])
def test_learn_then_query(regard, folder, out):
    said = learn(regard, folder, out=out)
    assert said.code == 0 and said.out == ""
    assert "distinct ones" in said.err and "words/s" in said.err
    near = regard(
        "vectors", "near", "cat", "dog", "--vectors", folder / out, "--count", 3, "--json"
    )
    answers = json.loads(near.out)
    assert list(answers) == ["cat", "dog"] and all(len(found) == 3 for found in answers.values())
    assert set(answers["cat"][0]) == {"word", "cosine"}
    shown = regard("vectors", "near", "cat", "--vectors", folder / out, "--count", 3).out
    assert all(found["word"] in shown for found in answers["cat"])
    flags = ("--vectors", folder / out, "--count", 2)
    analogy = regard("vectors", "analogy", "man", "king", "woman", *flags, "--json")
    words = [found["word"] for found in json.loads(analogy.out)]
    assert len(words) == 2 and not {"man", "king", "woman"} & set(words)
    assert "king − man + woman" in regard("vectors", "analogy", "man", "king", "woman", *flags).out


def test_figures_and_seed(regard, folder):
    words = ("vectors", "learn", folder / "en.txt", "--out", folder / "a.vec", "--dim", 8)
    told = json.loads(regard(*words, "--json").out)
    assert told["method"] == "skip-gram"
    assert told["dim"] == 8 and told["words"] == len(read_vectors(folder / "a.vec"))
    assert told["words_per_second"] > 0
    before = (folder / "a.vec").read_bytes()
    regard(*words)
    assert (folder / "a.vec").read_bytes() == before
    regard(*words, "--seed", 1)
    other = (folder / "a.vec").read_bytes()
    told = json.loads(regard(*words, "--method", "cbow", "--json").out)
    assert told["method"] == "cbow"
    assert len({before, other, (folder / "a.vec").read_bytes()}) == 3


def test_chinese(regard, folder):
    learn(regard, folder, text="zh", out="zh.vec", language="zh")
    said = regard("vectors", "near", "的", "--vectors", folder / "zh.vec", "--count", 4)
    assert said.code == 0 and len(said.out.split()) >= 8


REFUSED = {
    "no word": ("near zyxw --vectors {f}/v.safetensors", " words, without this one: 'zyxw' has no"),
    "case": ("near CAT --vectors {f}/v.safetensors", "similar words: 'cat'"),
    "analogy": ("analogy cat dog zyxw --vectors {f}/v.safetensors", "v.safetensors has "),
    "NaN": ("learn {f}/en.txt --out {f}/x.vec --subsample nan", "subsample must be 0 or more"),
    "no file": ("near cat --vectors {f}/none.vec", "none.vec: there is no such file"),
    "no text": ("learn {f}/none.txt --out {f}/x.vec", "none.txt: there is no such file"),
    "no folder": ("learn {f}/en.txt --out {f}/no/x.vec", "there is no such folder"),
    "too little": ("learn {f}/en.txt --out {f}/x.vec --min-count 99999", "smaller --min-count"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(regard, refused, folder, case):
    learn(regard, folder)
    words, message = REFUSED[case]
    assert message in refused("vectors", *words.format(f=folder).split())
    assert not (folder / "x.vec").exists()


def test_nothing_learned_is_not_written(regard, folder):
    said = learn(regard, folder, out="chance.vec", subsample=1e-12)
    assert said.code == 2 and "give a larger one" in said.err
    assert not (folder / "chance.vec").exists()


def test_a_model_is_initialized_with_vectors(regard, folder, tmp_path):
    """With a rate of zero the words are, after training, what they began with."""
    learn(regard, folder)
    flags = [*TRAIN.split(), "--training.vectors_source", folder / "v.safetensors"]
    flags += ["--text.shared", "false", "--model.tied", "output"]
    said = regard("train", folder / "pairs.tsv", "--out", tmp_path / "m", *flags)
    assert said.code == 0, said.err
    assert "source tokens initialized with vectors of" in said.err.replace("\n", " ")
    saved, vectors = load_folder(tmp_path / "m"), read_vectors(folder / "v.safetensors")
    table, tokenizer = saved.network.source.vectors.weight, saved.tokenizers.source
    known = [word for word in ("cat", "dog", "man", "the", "was") if word in vectors]
    for word in known:
        token = tokenizer.encode(f"x {word}")[1]
        row, given = table[token].detach().numpy(), vectors[word]
        cosine = row @ given / (row @ row * (given @ given)) ** 0.5
        assert token == UNK or cosine == pytest.approx(1, abs=1e-4)
    assert "the" in known and tokenizer.encode("x the")[1] != UNK
    assert saved.run.training.vectors_source == str(folder / "v.safetensors")


def test_another_width_is_refused_before_anything_is_written(regard, refused, folder, tmp_path):
    learn(regard, folder)
    flags = [*TRAIN.split(), "--training.vectors", folder / "v.safetensors", "--model.dim", 8]
    said = regard("train", folder / "pairs.tsv", "--out", tmp_path / "m", *flags)
    assert said.code == 2
    assert "vectors must have 8 numbers" in said.err
    assert not (tmp_path / "m").exists()


def test_plane(regard, folder):
    learn(regard, folder, out="drawn.vec")
    vectors, out = folder / "drawn.vec", folder / "plane.svg"
    words = read_vectors(vectors).words
    assert regard("vectors", "plane", "--vectors", vectors, "--out", out).code == 0
    assert words[0] in out.read_text("utf-8")
    said = regard(
        "vectors",
        "plane",
        words[5],
        "--analogy",
        *words[:3],
        "--vectors",
        vectors,
        "--out",
        out,
        "--json",
    )
    answer = json.loads(said.out)
    assert answer["words"][:4] == [words[5], *words[:3]] and len(answer["answers"]) == 1
    for flags, sentence in (
        (["nonsenseword"], "without this one"),
        ([words[0]], "a plane holds 2 to 200 words, got 1"),
        (["--out", folder / "plane.txt"], "a figure ends in"),
    ):
        said = regard("vectors", "plane", *flags, "--vectors", vectors)
        assert said.code == 2 and sentence in said.err
