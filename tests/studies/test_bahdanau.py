"""The study of Bahdanau attention: its data, its measures, and the user's own file."""

import pytest
import torch

from regard.corpus.pairs import Pair
from regard.errors import InputError
from regard.studies.translators.bahdanau import (
    NETWORKS,
    ShortPairs,
    alignment_share,
    attention_map,
    curve,
    file_pairs,
    grammar_pairs,
    hold_out,
    mean_focus,
    shown_sources,
    weights_of,
)
from regard.studies.translators.word_translator import (
    encode_words,
    new_translator,
    train_translator,
)


@pytest.fixture(scope="module")
def data():
    return grammar_pairs(60, 0)


@pytest.fixture(scope="module")
def untrained(data):
    corpus = encode_words(data.train)
    settings = NETWORKS["attention"][1]
    made = new_translator(corpus, settings, steps=2, batch_tokens=200, rate=1e-2, seed=0)
    made.network.eval()
    return made


def test_unseen_sources_are_not_trained_on_and_have_known_words(data):
    trained = {pair.source for pair in data.train}
    assert data.unseen
    assert trained.isdisjoint(pair.source for pair in data.unseen)
    known = {word for source in trained for word in source.split()}
    assert all(known.issuperset(pair.source.split()) for pair in data.unseen)


def test_all_translations_of_a_source_are_held_out_together():
    pairs = [Pair(f"word {n // 2 % 9} {n // 2 % 7}", f"mot {n}") for n in range(60)]
    split = hold_out([*pairs, Pair("unique", "seul")], {})
    assert {pair.source for pair in split.unseen} == {"word 0 2", "word 1 5", "word 2 1"}
    assert len(split.unseen) == 6
    assert len(split.train) == 55


def test_links_are_in_terms_of_the_tokens(data, untrained):
    words = untrained.data.tokenizers
    for pair in data.train[:20]:
        links = data.links[pair.source]
        assert max(source for source, _ in links) < len(words.source.encode(pair.source))
        assert max(target for _, target in links) < len(words.target.encode(pair.target))


def test_rows_of_the_map_are_words_and_sum_to_one(data, untrained):
    cells, rows, columns = attention_map(untrained, data.unseen[0].source, data.unseen[0].target)
    assert rows[-1] == columns[-1] == "</s>"
    assert (len(cells), len(cells[0])) == (len(rows), len(columns))
    assert torch.tensor(cells).sum(1) == pytest.approx([1.0] * len(rows), abs=1e-5)


def test_focus_is_near_one_before_training(data, untrained):
    assert 1 <= mean_focus(untrained, data.unseen) < 1.5


def test_alignment_share_counts_the_peaks_on_linked_words(data, untrained):
    pair = data.unseen[0]
    weights = weights_of(untrained, pair.source, pair.target)
    peaks = frozenset((int(row.argmax()), at) for at, row in enumerate(weights[:-1]))
    right = ShortPairs([], [pair], {pair.source: peaks})
    assert alignment_share(untrained, right) == pytest.approx((1.0, 1 / weights.shape[1]))
    wrong = frozenset(((source + 1) % weights.shape[1], target) for source, target in peaks)
    assert alignment_share(untrained, ShortPairs([], [pair], {pair.source: wrong}))[0] == 0
    assert alignment_share(untrained, ShortPairs([], [pair], {})) == (None, None)


def test_shown_sentences_end_with_the_longest(data):
    shown = shown_sources(data)
    assert len(set(shown)) == len(shown) <= 4
    assert len(shown[-1].split()) == max(len(pair.source.split()) for pair in data.unseen)


def test_a_file_of_three_columns_is_read(tmp_path):
    file = tmp_path / "fra.txt"
    file.write_text(
        "".join(f"Go {n % 7} {n % 8}.\tVa {n}.\tCC-BY {n}\n" for n in range(100)), "utf-8"
    )
    data = file_pairs(file, 80)
    assert len(data.train) + len(data.unseen) == 80
    assert Pair("Go 0 0.", "Va 0.") in data.train


def test_a_file_with_few_pairs_is_an_error(tmp_path):
    file = tmp_path / "few.tsv"
    file.write_text("Go.\tVa !\n", "utf-8")
    with pytest.raises(InputError, match="some hundred"):
        file_pairs(file, 50)


def test_a_training_lowers_the_loss(data):
    corpus, settings = encode_words(data.train), NETWORKS["attention"][1]
    made = new_translator(corpus, settings, steps=12, batch_tokens=200, rate=1e-2, seed=0)
    losses = train_translator(made).losses
    assert len(losses) == 12
    assert sum(losses[-4:]) < 0.95 * sum(losses[:4])


def test_the_curve_is_of_means():
    assert curve([1.0, 2.0]) == [1.0, 2.0]
    assert curve([float(n) for n in range(40)])[:2] == [0.5, 2.5]
