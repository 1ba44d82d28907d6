"""`python -m benchmarks alignment` on a small text of the same layout."""

import json
from importlib.util import find_spec

import pytest

from benchmarks.__main__ import main
from benchmarks.alignment.corpora import CORPORA, longest_words
from regard.corpus.grammar import sample


@pytest.fixture
def data(tmp_path):
    """Gold links and text of the grammar, in the folders of the real data."""
    for language, corpus in zip(("fr", "zh"), CORPORA.values(), strict=True):
        pairs = sample("train", 40, language=language, max_words=9)
        gold, more = pairs[:10], pairs[10:]
        folder = tmp_path / "gold-alignments" / corpus.folder
        folder.mkdir(parents=True)
        sides = [[" ".join(p.source_words) for p in gold], [" ".join(p.target_words) for p in gold]]
        links = [[(k.source + 1, k.target + 1) for k in pair.links] for pair in gold]
        if corpus.reverse:
            sides.reverse()
            links = [[(t, s) for s, t in pair] for pair in links]
        lines = [" ".join(f"{s}-{t}" for s, t in pair) for pair in links]
        for name, rows in zip(("src", "tgt", "gold.talp"), (*sides, lines), strict=True):
            (folder / name).write_text("".join(f"{row}\n" for row in rows), "utf-8")
        for name in corpus.files:
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            rows = "".join(f"{pair.source}\t{pair.target}\tby someone\n" for pair in more)
            path.write_text(f"{rows}no columns\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize("name", CORPORA)
def test_a_text_is_read(name, data):
    text = CORPORA[name].read(data)
    assert len(text.gold) == 10 and len(text.sources) == len(text.targets) == 10 + 2 * 30
    for words, other, links in zip(text.sources, text.targets, text.gold, strict=False):
        assert all(s < len(words) and t < len(other) for s, t in links.sure)
    assert text.sources == [[word.lower() for word in words] for words in text.sources]


def test_the_longest_words_are_found():
    assert longest_words(list("我在北京大学"), {"北京", "北京大学"}, "zh") == [
        "我",
        "在",
        "北京大学",
    ]
    assert longest_words(["a", "b"], {"ab"}, "en") == ["a", "b"]


def test_what_is_refused(capsys, tmp_path):
    assert main(["alignment"]) == 2
    assert "--data DIR" in capsys.readouterr().err
    assert main(["alignment", "--data", str(tmp_path), "--only", "en-fr"]) == 2
    assert "there is no such folder" in capsys.readouterr().err


@pytest.mark.skipif(find_spec("eflomal") is None, reason="eflomal is not installed")
def test_rows_against_eflomal(data, capsys):
    code = main(["alignment", "--data", str(data), "--only", "en-fr", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"].partition(", ")[0] for row in rows] == ["en-fr Hansards"] * 2 + [
        "en-fr Hansards: seconds"
    ]
    assert all(0 <= row["ours"] <= 100 and row["peer"] > 0 for row in rows[:2])
    assert code == (0 if all(row["holds"] for row in rows) else 1)
