"""`regard align` and `regard evaluate --gold`, end to end."""

import gzip
import json

import pytest

from regard.corpus.grammar import sample
from regard.formats.word_links import read_links
from trained import LAYERS, SMALL, made_once, taught

PAIRS = taught("en-fr")
GRAMMAR = sample("train", 150, language="fr", max_words=9)


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tokenized(tmp_path_factory):
    """Sentences of the grammar, their words split by spaces, and their gold links."""
    folder = tmp_path_factory.mktemp("gold")
    write(folder / "s", [" ".join(pair.source_words) for pair in GRAMMAR])
    write(folder / "t", [" ".join(pair.target_words) for pair in GRAMMAR])
    gold = [
        " ".join(f"{k.source + 1}{'-' if k.sure else 'p'}{k.target + 1}" for k in pair.links)
        for pair in GRAMMAR
    ]
    write(folder / "gold.talp", gold)
    return folder


@pytest.fixture(scope="session")
def fr_en(tmp_path_factory):
    """A model of the other direction, which has learned little."""
    from regard.cli import main

    def train(folder):
        corpus = write(folder.parent / "fr-en.tsv", [f"{t}\t{s}" for s, t in PAIRS])
        flags = SMALL + LAYERS + "--languages fr-en --training.steps 5 --text.unit word"
        words = ["train", corpus, "--dev", corpus, "--out", folder]
        return main([*map(str, words), *flags.split()])

    return str(made_once("fr-en", tmp_path_factory, train))


def test_tokenized_is_for_the_corpus_too(regard, tmp_path):
    """`a-b` is one word in both; split by rules, the corpus would not know it."""
    pair = write(tmp_path / "pair.tsv", ["a-b c-d\tx-y z-w"])
    corpus = write(tmp_path / "more.tsv", ["a-b\tz-w", "c-d\tx-y"] * 20)
    words = "align", pair, "--languages", "en-fr", "--corpus", corpus
    assert regard(*words, "--tokenized").out == "0-1 1-0\n"


def test_without_a_model_in_every_layout(regard, tokenized, tmp_path):
    pharaoh = regard("align", tokenized / "s", tokenized / "t", "--tokenized").out.splitlines()
    talp = regard("align", tokenized / "s", tokenized / "t", "--tokenized", "--format", "talp").out
    rows = regard("align", tokenized / "s", tokenized / "t", "--tokenized", "--format", "json").out
    assert len(pharaoh) == len(GRAMMAR)
    for name, out in (("a", "\n".join(pharaoh)), ("a.talp", talp), ("a.jsonl", rows)):
        (tmp_path / name).write_text(out, encoding="utf-8")
    links = [list(read_links(tmp_path / name)) for name in ("a", "a.talp", "a.jsonl")]
    assert links[0] == links[1] == links[2]
    for pair, row in zip(GRAMMAR, map(json.loads, rows.splitlines()), strict=True):
        assert row["source"] == list(pair.source_words)
        assert row["target"] == list(pair.target_words)


def test_words_are_split_by_our_rules_and_empty_lines_stay(regard, tmp_path):
    pairs = write(tmp_path / "p.tsv", ["L'eau.\tWater.", "", "a\t", "你好\tHello"])
    said = regard("align", pairs, "--languages", "fr-en", "--format", "json")
    rows = said.out.split("\n")[:-1]
    assert [bool(row) for row in rows] == [True, False, False, True]
    assert json.loads(rows[0])["source"] == ["L'", "eau", "."]
    assert json.loads(rows[3])["source"] == ["你", "好"]


def test_methods_and_more_pairs(regard, tokenized):
    def links(*flags):
        files = tokenized / "s", tokenized / "t"
        out = regard("align", *files, "--tokenized", *flags).out
        return [set(line.split()) for line in out.splitlines()]

    found = {name: links("--method", name) for name in ("intersection", "union", "forward")}
    for both, one, either in zip(
        *(found[m] for m in ("intersection", "forward", "union")), strict=True
    ):
        assert both <= one <= either
    corpus = tokenized.parent / "more.tsv"
    write(corpus, [f"{pair.source}\t{pair.target}" for pair in sample("train", 300, seed=5)])
    more = links("--method", "forward", "--corpus", corpus)
    assert len(more) == len(GRAMMAR)
    assert more != found["forward"]


def test_the_output_file(regard, tokenized, tmp_path):
    printed = regard("align", tokenized / "s", tokenized / "t").out
    made = tmp_path / "links.gz"
    assert regard("align", tokenized / "s", tokenized / "t", "--output", made).out == ""
    with gzip.open(made, "rt", encoding="utf-8") as file:
        assert file.read() == printed


def test_a_model_and_its_reverse(regard, en_fr, fr_en, tmp_path):
    pairs = write(tmp_path / "p.tsv", ["", *(f"{s}\t{t}" for s, t in PAIRS)])

    def links(*flags):
        out = regard("align", pairs, "--model", en_fr, *flags).out
        return [set(line.split()) for line in out.split("\n")[:-1]]

    forward = links()
    assert len(forward) == len(PAIRS) + 1
    assert forward[0] == set() and all(forward[1:])
    both = links("--reverse", fr_en, "--method", "intersection")
    either = links("--reverse", fr_en, "--method", "union")
    assert all(a <= b <= c for a, b, c in zip(both, forward, either, strict=True))
    assert links("--reverse", fr_en, "--method", "forward") == forward
    others = [links("--layer", 0), links("--layer", 1, "--head", 0, "--no-shift")]
    others += [links("--rule", rule) for rule in ("mutual", "entropic")]
    assert all(len(other) == len(forward) for other in others)
    assert any(other != forward for other in others)


def test_a_model_with_given_words(regard, en_fr, tmp_path):
    """Chinese and tags do not matter: the words of the output are those of the input."""
    pairs = write(tmp_path / "p.tsv", [f"{s}\t{t}" for s, t in PAIRS])
    out = regard("align", pairs, "--model", en_fr, "--tokenized", "--format", "json").out
    for (source, target), row in zip(PAIRS, map(json.loads, out.splitlines()), strict=True):
        assert row["source"] == source.split()
        assert row["target"] == target.split()
        assert all(s < len(source.split()) and t < len(target.split()) for s, t in row["links"])


def test_pairs_that_do_not_fit_the_model(regard, en_fr, tmp_path):
    source, target = PAIRS[0]
    pairs = write(tmp_path / "p.tsv", [f"{source * 20}\t{target}", f"{source}\t{target}"])
    said = regard("align", pairs, "--model", en_fr)
    assert said.code == 0
    assert said.out.split("\n")[0] == "" and said.out.split("\n")[1]
    assert "1 pairs are longer than the model can read" in said.err


def test_gold_links_score_links_and_aligners(regard, tokenized, en_fr):
    gold = tokenized / "gold.talp"
    files = tokenized / "s", tokenized / "t"
    own = json.loads(regard("evaluate", *files, "--gold", gold, "--json").out)
    assert set(own) == {
        "aer",
        "precision",
        "recall",
        "links",
        "sure",
        "sentences",
        "seconds",
        "model",
    }
    assert own["aer"] < 0.3 and own["sentences"] == len(GRAMMAR) and own["model"] is None
    written = tokenized.parent / "own.jsonl"
    regard("align", *files, "--tokenized", "--format", "json", "--output", written)
    given = json.loads(regard("evaluate", "--gold", gold, "--links", written, "--json").out)
    for name in ("aer", "precision", "recall", "links", "sure"):
        assert given[name] == own[name]
    perfect = regard("evaluate", "--gold", gold, "--links", gold)
    assert "AER" in perfect.out and "100.00" in perfect.out
    by_model = json.loads(
        regard("evaluate", *files, "--gold", gold, "--model", en_fr, "--json").out
    )
    assert 0 <= by_model["aer"] <= 1 and by_model["model"] == en_fr


def test_what_is_refused(refused, en_fr, tokenized, tmp_path):
    files = tokenized / "s", tokenized / "t"
    gold = tokenized / "gold.talp"
    assert "give --model DIR" in refused("align", *files, "--layer", 1)
    assert "give --reverse DIR" in refused("align", *files, "--model", en_fr, "--method", "union")
    assert "leave --model out" in refused("align", *files, "--model", en_fr, "--corpus", "x")
    assert "from fr to en" in refused("align", *files, "--model", en_fr, "--reverse", en_fr)
    assert "recorded layers" in refused("align", *files, "--model", en_fr, "--layer", 9)
    assert "as in en-fr" in refused("align", *files, "--languages", "en")
    assert "no such folder" in refused("align", *files, "--output", tmp_path / "no" / "x")
    assert "give --gold" in refused("evaluate", *files, "--model", en_fr, "--rule", "mutual")
    assert "give the source" in refused("evaluate", "--model", en_fr)
    assert "give the source and target" in refused("evaluate", "--gold", gold)
    fewer = write(tmp_path / "few", ["0-0"])
    assert "links of 1 pairs" in refused("evaluate", "--gold", gold, "--links", fewer)
