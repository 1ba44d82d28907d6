"""Several corpora in one training: weights, tags, and languages that a tag asks for."""

from collections import Counter

import numpy as np
import pytest

import regard
from regard.cli import main
from regard.corpus.mixture import CorpusPart, all_languages, occurrences, parse_dev, parse_part
from regard.folder import load_weights
from regard.tasks.text.encoded_corpus import EncodedCorpus
from regard.training.checkpoint import DataCursor
from trained import LAYERS, SMALL, several_languages, taught, write_corpus

SHORT = SMALL + LAYERS + "--training.steps 6 --text.unit word "


def test_what_is_said_of_a_file():
    assert parse_part("a.tsv") == CorpusPart(("a.tsv",))
    assert parse_part("a.tsv:tag=bt:.5") == CorpusPart(("a.tsv",), 0.5, tag="<bt>")
    assert parse_part("a.en,a.zh_TW:en-zh_TW:2") == CorpusPart(("a.en", "a.zh_TW"), 2, "en-zh_TW")
    assert parse_dev(["a.en", "a.fr"]) == ["a.en", "a.fr"]
    assert parse_dev(["a.tsv:en-fr", "b.tsv:en-de"])[1].languages == "en-de"
    parts = [parse_part("a.tsv:en-fr"), parse_part("b.tsv:en-de"), parse_part("c.tsv:en-fr")]
    assert all_languages("English-French", parts) == "en-fr,en-de"
    assert all_languages(None, []) == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.tsv:x", "neither a weight"),
        ("a.tsv:1:2", "weight is given twice"),
        (":2", "the file is missing"),
        ("a.tsv:0", "above 0"),
        ("a.tsv:tag=2de", "a tag is a letter"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(regard.InputError, match=message):
        parse_part(text)


def test_a_weight_is_how_often_a_pair_is_seen():
    """After any number of epochs, as often as the weight says, rounded up or down."""
    weights = np.repeat([2.0, 1.0, 0.3], 50)
    seen = np.zeros(150)
    for epoch in range(20):
        seen += occurrences(weights, 7, epoch)
        expected = (epoch + 1) * weights
        assert (np.floor(expected) <= seen).all() and (seen <= np.ceil(expected)).all()
    assert occurrences([0.01], 0, 3).tolist() == [1]  # an epoch is never empty


def test_batches_follow_the_weights():
    """The same pairs in the same order from the same seed; a cursor goes on where it was."""
    rows = [[n] * (1 + n % 7) for n in range(5, 65)]
    corpus = EncodedCorpus(rows, rows, 100, seed=3, weights=[2.0] * 30 + [0.5] * 30)
    again = EncodedCorpus(rows, rows, 100, seed=3, weights=[2.0] * 30 + [0.5] * 30)
    counts, cursor = Counter(), DataCursor()
    while cursor.epoch < 4:
        batch, after = corpus.take(cursor)
        assert (again.take(cursor)[0].labels == batch.labels).all()
        counts.update(batch.labels[:, 0].tolist())
        cursor = after
    assert {counts[n] for n in range(5, 35)} == {8} and {counts[n] for n in range(35, 65)} == {2}


def test_tagged_training_and_translation(tmp_path, capsys):
    """A tag is one token; runs of equal seeds are equal, and one that was stopped goes on."""
    corpus = write_corpus("en-fr", tmp_path)
    tagged = tmp_path / "synthetic.tsv"
    tagged.write_text("".join(f"<bt> {s}\t{t}\n" for s, t in taught("en-fr")[:8]), encoding="utf-8")
    words = ["train", corpus, "--corpus", f"{tagged}:0.5:tag=bt", "--languages", "en-fr"]
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    for out, steps in ((whole, 6), (halves, 3)):
        flags = SHORT.replace("--training.steps 6", f"--training.steps {steps}").split()
        flags += ["--training.schedule", "constant"]
        assert main([*map(str, words), "--out", str(out), *flags]) == 0
    assert main(["train", "--resume", str(halves), "--training.steps", "6"]) == 0
    one, other = (load_weights(folder / "model.safetensors") for folder in (whole, halves))
    assert all((one[name] == other[name]).all() for name in one)

    translator = regard.load(whole, threads=1)
    assert translator.tokenizers.source.tags == {"<bt>": len(translator.tokenizers.source) - 1}
    plain, marked = (translator.translate(taught("en-fr")[0][0], tag=tag) for tag in ("", "bt"))
    assert marked.sentences[0].source_tokens == ("<bt>", *plain.sentences[0].source_tokens)
    assert marked.source_words == plain.source_words
    with pytest.raises(regard.InputError, match=r"<news> is not in the vocabulary .* are <bt>"):
        translator.translate("The cat sleeps.", tag="news")
    capsys.readouterr()
    assert main(["translate", "--model", str(whole), "--tag", "bt", "The cat sleeps."]) == 0
    assert main(["translate", "--model", str(whole), "--tag", "news", "The cat sleeps."]) == 2


def test_several_languages_in_one_model(tmp_path_factory, capsys):
    """The same sentence into French or Chinese, as its tag asks."""
    folder = several_languages(tmp_path_factory)
    translator = regard.load(folder, threads=1)
    assert translator.run.languages == "en-fr,en-zh"
    assert translator.run.target_languages == ["fr", "zh"]
    for language in ("fr", "zh"):
        pairs = taught(f"en-{language}")
        done = translator.translate([source for source, _ in pairs], to=language)
        right = sum(t.text == target for t, (_, target) in zip(done, pairs, strict=True))
        assert right >= 14
        assert done[0].model.target_language == language
        assert not any("<2" in word for word in done[0].source_words)
    chinese = translator.into("Chinese")
    assert chinese is translator.into("Chinese") and chinese.network is translator.network
    (aligned,) = chinese.align([taught("en-zh")[0]])
    assert aligned.source_tokens[0] == "<2zh>"
    capsys.readouterr()
    source, target = taught("en-zh")[3]
    assert main(["translate", "--model", str(folder), "--to", "zh", source]) == 0
    assert capsys.readouterr().out.strip() == target
    assert main(["translate", "--model", str(folder), source]) == 2
    assert "translates into fr, zh; choose one with --to fr" in capsys.readouterr().err
    assert main(["translate", "--model", str(folder), "--to", "de", source]) == 2
    assert "does not translate into de; it has en-fr, en-zh" in capsys.readouterr().err


def test_commands_choose_the_language(tmp_path_factory, tmp_path, capsys):
    """`evaluate`, `compare`, `inspect` and `trace` take --to as `translate` does."""
    folder = several_languages(tmp_path_factory)
    pairs = write_corpus("en-zh", tmp_path)
    source = taught("en-zh")[3][0]
    page = ["--out", str(tmp_path / "page.html"), "--no-stages"]
    for words in (
        ["evaluate", pairs, "--model", folder, "--json"],
        ["compare", folder, folder, pairs, "--resamples", "20"],
        ["inspect", source, "--model", folder, *page],
        ["trace", source, "--model", folder, "--json"],
    ):
        assert main([*map(str, words), "--threads", "1"]) == 2, words
        assert "--to" in capsys.readouterr().err
        assert main([*map(str, words), "--threads", "1", "--to", "zh"]) == 0, words
        if words[0] == "evaluate":
            assert '"signature": "nrefs:1|case:mixed|eff:no|tok:zh' in capsys.readouterr().out


def test_corpora_of_several_languages_say_which(tmp_path):
    corpus = write_corpus("en-fr", tmp_path)
    refusals = [
        ({"files": str(corpus), "languages": "en-fr,en-de"}, "say which of en-fr,en-de it is"),
        ({"corpus": f"{corpus}:2", "model": {"kind": "lm"}}, "--corpus is for models that"),
        ({"corpus": f"{corpus}:2", "model": {"kind": "classifier"}}, "--corpus is for models that"),
    ]
    for options, message in refusals:
        with pytest.raises(regard.InputError, match=message):
            regard.train(out=tmp_path / "model", preset="tiny", progress=False, **options)
