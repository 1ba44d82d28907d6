"""The lexicon's tables: checked when read, and the sentences drawn from them pinned."""

import hashlib
from importlib.resources import files

import pytest

from regard.corpus.grammar import sample, seed_sentences, vocabulary
from regard.corpus.grammar.vocabulary import LexiconError, build_noun, indexed, read_table

DIGESTS = {
    ("fr", "showcase"): "bb3e36a4a8e4d7e1",
    ("fr", "train"): "e358cc4a95695f31 297adc5a25749b65",
    ("fr", "dev"): "4d51501e19a5944e 14888394d322d42b",
    ("fr", "test"): "a4068d779e8d1870 bb1727da135dd3ae",
    ("zh", "showcase"): "233ba23d126be030",
    ("zh", "train"): "21ef0fe22469ef49 2811f571228ae0d0",
    ("zh", "dev"): "b2f867f80f78eb27 06d08d3900fff6f0",
    ("zh", "test"): "0121d32b52f11b26 6a43aee83eaf09b6",
}
"""Of the showcase, and of 300 pairs of each split with seeds 0 and 7."""


def digest(pairs):
    digest = hashlib.sha256()
    for pair in pairs:
        links = [tuple(link) for link in pair.links]
        notes = [tuple(note) for note in (*pair.coreference, *pair.senses, *pair.adjectives)]
        shown = (pair.source, pair.target, links, notes, sorted(pair.phenomena))
        digest.update(repr(shown).encode())
    return digest.hexdigest()[:16]


@pytest.mark.parametrize(("language", "split"), DIGESTS)
def test_samples_never_change(language, split):
    if split == "showcase":
        digests = [digest(seed_sentences(language))]
    else:
        digests = [digest(sample(split, 300, language=language, seed=seed)) for seed in (0, 7)]
    assert " ".join(digests) == DIGESTS[language, split]


def table(monkeypatch, tmp_path, text):
    """A table of nouns with this text after its header."""
    (tmp_path / "lexicon").mkdir()
    header = "# a comment\nkind\tenglish\tplural\tfrench\tfrench_plural\tgender\tchinese\tmeasure\n"
    (tmp_path / "lexicon" / "nouns.tsv").write_text(header + text, "utf-8")
    monkeypatch.setattr(vocabulary, "files", lambda package: tmp_path)
    return read_table("nouns", build_noun)


def test_a_row_may_end_early(monkeypatch, tmp_path):
    (bread,) = table(monkeypatch, tmp_path, "\nfood\tbread\t\tpain\t\tm\t面包\n")
    assert not bread.countable and bread.french_plural == ("pains",)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("animal\tyak\t\tyack\t\tn\t牦牛\t头", "line 3: there is no gender 'n'"),
        ("animal\tyak\t\t\t\tm\t牦牛\t头", "line 3: a form is missing"),
        ("animal\tyak\t\tyack\t\tm\t牦牛\t头\tmore", r"nouns.tsv, line 3: zip"),
    ],
)
def test_errors_name_file_and_line(monkeypatch, tmp_path, row, message):
    with pytest.raises(LexiconError, match=message):
        table(monkeypatch, tmp_path, row)


def test_no_entry_twice():
    with pytest.raises(LexiconError, match="two entries for 'a'"):
        indexed(["a", "a"], str)
    with pytest.raises(ValueError, match="no kind or noun 'unicorn'"):
        vocabulary.select_nouns("animal unicorn")


def test_tables_are_tidy():
    for path in files("regard.corpus.grammar").joinpath("lexicon").iterdir():
        lines = path.read_text("utf-8").splitlines()
        assert lines[0].startswith("# "), path
        header, *rows = [line for line in lines if not line.startswith("#")]
        assert len(set(rows)) == len(rows)
        for row in rows:
            cells = row.split("\t")
            assert len(cells) <= len(header.split("\t"))
            assert all(cell == " ".join(cell.split()) for cell in cells), row
