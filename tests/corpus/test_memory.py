"""Translation memories: exact and fuzzy matches, found as by comparison with every sentence."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.corpus.grammar import sample
from regard.corpus.memory import TranslationMemory, read_memory
from regard.corpus.memory.edit_distance import edit_distances
from regard.corpus.memory.ngram_index import NgramIndex
from regard.errors import InputError

PAIRS = [(pair.source, pair.target) for pair in sample("train", 60, seed=9, max_words=12)]


def plain_distance(a, b):
    """The edit distance by its definition."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        previous, row = row, [i]
        for j, y in enumerate(b, start=1):
            row.append(min(previous[j] + 1, row[-1] + 1, previous[j - 1] + (x != y)))
    return row[-1]


texts = st.text(st.sampled_from("ab c猫"), max_size=12)


@given(texts, st.lists(texts, max_size=5))
def test_edit_distances(text, others):
    assert edit_distances(text, others) == [plain_distance(text, other) for other in others]


@given(
    st.lists(texts, min_size=1, max_size=12, unique=True), texts, st.sampled_from([0.6, 0.75, 1])
)
def test_the_index_misses_nothing(known, text, least):
    found = NgramIndex(known).similar(text, least, len(known))
    scores = {
        number: 1 - plain_distance(text, other) / max(len(text), len(other), 1)
        for number, other in enumerate(known)
    }
    expected = {number for number, score in scores.items() if score >= least - 1e-12}
    assert {number for _, number in found} == (expected if text else set())
    assert [score for score, _ in found] == sorted((score for score, _ in found), reverse=True)


def test_exact_matches_are_normalized():
    memory = TranslationMemory([("The  cafe\u0301.", "Le café."), ("", "x"), ("x", " ")])
    assert len(memory) == 1
    assert memory.exact(" The café.\n").translation == "Le café."
    assert memory.exact("The cafe.") is None
    assert TranslationMemory([("a", "b"), ("a ", "c")]).exact("a").translation == "c"


def test_fuzzy_matches():
    memory = TranslationMemory(PAIRS)
    draw = random.Random(3)
    for source, _ in PAIRS[:20]:
        words = source.split()
        words[draw.randrange(len(words))] = "x"
        best = memory.similar(" ".join(words), least=0.6)
        assert source in [match.source for match in best]
        assert [match.score for match in best] == sorted((m.score for m in best), reverse=True)
        assert len(best) <= 3
    assert memory.similar("quite another thing, of which it knows nothing") == []
    assert memory.similar(PAIRS[0][0])[0].score == 1
    assert TranslationMemory([]).similar("a cat") == []


def test_placeholders_are_exchanged_or_not_usable():
    memory = TranslationMemory(
        [
            ("Copy 3 files to %s now", "Copier 3 fichiers vers %s"),
            ("Wait {n} or {n} seconds", "{n}"),
        ]
    )
    (match,) = memory.similar("Copy 12 files to {d} now")
    assert match.adapted and match.usable and match.score < 1
    assert match.translation == "Copier 12 fichiers vers {d}"
    (match,) = memory.similar("Copy 3 file to {d} now")
    assert not match.usable and not match.adapted  # a word differs too
    (match,) = memory.similar("Copy 3 file to %s now")
    assert match.usable and not match.adapted
    (match,) = memory.similar("Wait {m} or {m} seconds")
    assert not match.usable
    assert match.as_dict()["usable"] is False


def test_files(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("A cat.\tUn chat.\nA dog.\tUn chien.\n", "utf-8")
    other = tmp_path / "b.tsv"
    other.write_text("A cat.\tLe chat.\n", "utf-8")
    memory = read_memory([path, other], ("en", "fr"))
    assert (len(memory), memory.exact("A cat.").translation) == (2, "Le chat.")
    tmx = tmp_path / "m.tmx"
    tmx.write_text(
        "<tmx><body><tu><tuv xml:lang='fr'><seg>Un chat.</seg></tuv>"
        "<tuv xml:lang='en'><seg>A cat.</seg></tuv></tu></body></tmx>",
        "utf-8",
    )
    assert read_memory([tmx], ("en", "fr")).exact("A cat.").translation == "Un chat."
    with pytest.raises(InputError, match="no unit has both en and de"):
        read_memory([tmx], ("en", "de"))
