"""The statistical aligner: its tables against plain sums, gold links of the grammar, and edges."""

import math

import numpy as np
import pytest
import scipy.special

from regard.alignment import align_bidirectional, align_words, symmetrize
from regard.alignment.statistical import pair_batches
from regard.alignment.statistical.pair_batches import make_batches, padded_length
from regard.alignment.statistical.translation_tables import (
    IDENTICAL,
    SPARSITY,
    learned_tables,
    null_tables,
    spelling_prior,
)
from regard.corpus.grammar import sample
from regard.errors import InputError
from regard.evaluation.aer import grammar_alignment_error_rate


def grammar(count, **options):
    pairs = sample("train", count, **options)
    return [pair.source_words for pair in pairs], [pair.target_words for pair in pairs], pairs


def test_every_cell_has_its_pair_of_words(monkeypatch):
    """In batches so small that pairs of words are numbered in several parts."""
    monkeypatch.setattr(pair_batches, "BATCH_CELLS", 300)
    monkeypatch.setattr(pair_batches, "SORTED_CELLS", 500)
    sources, targets, _ = grammar(60)
    sources, targets = [*sources, [], ["a"]], [*targets, ["b"], []]
    batches, pairs = make_batches(sources, targets)
    keys = list(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True))
    assert keys == sorted(set(keys))
    seen = []
    for batch in batches:
        for row, number in enumerate(batch.sentences.tolist()):
            seen.append(number)
            num_source, num_target = len(sources[number]), len(targets[number])
            assert (batch.num_source[row], batch.num_target[row]) == (num_source, num_target)
            cells = batch.pair[:, row]
            for target, word in enumerate(targets[number]):
                for source, other in enumerate(sources[number]):
                    pair = cells[target, source]
                    assert pairs.source_words[pairs.source[pair]] == other.casefold()
                    assert pairs.target_words[pairs.target[pair]] == word.casefold()
            assert (cells[:num_target, num_source:] == len(pairs)).all()
            assert (cells[num_target:, :num_source] == len(pairs) + 1).all()
            assert (cells[num_target:, num_source:] == len(pairs) + 2).all()
    assert sorted(seen) == list(range(60))


def test_padding_is_a_quarter_at_most():
    assert all(n <= padded_length(n) <= max(n, n * 5 / 4) for n in range(1, 3000))


def test_tables_follow_the_equation():
    _, pairs = make_batches([["a", "b"], ["a"]], [["x", "y"], ["z"]])
    counts = np.arange(len(pairs) + 3, dtype=np.float32) / 2
    prior = np.full(len(pairs), 0.1, np.float32)
    tables = learned_tables(counts, pairs, prior)
    psi = scipy.special.digamma
    for number in range(len(pairs)):
        for given, table in ((pairs.source, tables.forward), (pairs.target, tables.backward)):
            same = given == given[number]
            total = (counts[: len(pairs)][same] + 0.1).sum()
            wanted = math.exp(psi(counts[number] + 0.1) - psi(total))
            assert table[number] == pytest.approx(wanted, rel=1e-4)


def test_null_generates_words_as_often_as_they_occur():
    batches, pairs = make_batches([["a", "b"], ["a"]], [["x"], ["x"]])
    nulls = null_tables(batches, pairs)
    assert nulls.forward.tolist() == [1, 0]
    assert nulls.backward.tolist() == pytest.approx([2 / 3, 1 / 3, 0])


def test_words_that_are_written_alike():
    words = ["sénat", "1979", "?", "nation", "cat", "北京"]
    _, pairs = make_batches([words], [["senator", "1979", "?", "national", "chat", "北京"]])
    prior = dict(
        zip(
            zip(pairs.source.tolist(), pairs.target.tolist(), strict=True),
            spelling_prior(pairs).tolist(),
            strict=True,
        )
    )
    assert prior[1, 1] == prior[5, 5] == pytest.approx(IDENTICAL)
    assert prior[3, 3] > prior[0, 0] > prior[0, 1] == pytest.approx(SPARSITY)
    assert prior[2, 2] == prior[4, 4] == pytest.approx(SPARSITY)  # punctuation; too short


@pytest.mark.parametrize(("language", "limit"), [("fr", 0.12), ("zh", 0.20)])
def test_links_of_the_grammar(language, limit):
    sources, targets, pairs = grammar(2000, language=language)
    both = align_bidirectional(sources, targets)
    links = symmetrize(*both, "intersection")
    assert grammar_alignment_error_rate(links, pairs).error_rate < limit
    for forward, backward in zip(*both, strict=True):
        assert len({target for _, target in forward}) == len(forward)
        assert len({source for source, _ in backward}) == len(backward)


def test_case_is_ignored_and_the_result_is_the_same_again():
    sources, targets, _ = grammar(200)
    upper = [[word.upper() for word in words] for words in sources]
    assert align_words(sources, targets) == align_words(upper, targets)


def test_reversed_sentences_reverse_the_links():
    """Jumps prefer to go on, but words that always go together overrule them."""
    random = np.random.default_rng(0)
    sources = [[f"s{n}" for n in random.permutation(40)[:6]] for _ in range(400)]
    targets = [[word.replace("s", "t") for word in reversed(words)] for words in sources]
    found = align_words(sources, targets)
    assert found[7] == {(5 - n, n) for n in range(6)}


def test_a_very_long_sentence_is_aligned_too():
    words = [f"w{n}" for n in range(300)]
    sources, targets, _ = grammar(50)
    found = align_words([*sources, words], [*targets, [word.upper() for word in words]])[-1]
    assert len(found & {(n, n) for n in range(300)}) > 280


def test_edges():
    assert align_words([], []) == []
    assert align_words([[], ["a"], []], [["b"], [], []]) == [frozenset()] * 3
    assert align_words([["a"], []], [["b"], ["b"]])[0] == {(0, 0)}
    with pytest.raises(InputError, match="2 source and 1 target"):
        align_words([["a"], ["b"]], [["c"]])


def test_progress_counts_every_pass():
    passes = []
    align_bidirectional([["a"]] * 3, [["b"]] * 3, passes.append)
    assert len(passes) > 2 and set(passes) == {3}
