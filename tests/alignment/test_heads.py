"""The alignment head: its rows, and how it is selected without gold links."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from regard.alignment import (
    AlignmentHead,
    BidirectionalLinks,
    MappedBatch,
    align_bidirectional,
    alignment_weights,
    layer_maps,
    select_alignment_head,
    tokenized_words,
    word_links,
)
from regard.attention import AttentionMap, MultiHead, record
from regard.corpus.grammar import sample
from regard.errors import InputError
from regard.evaluation.aer import grammar_alignment_error_rate
from regard.text.sentencepiece_tokenizer import train_sentencepiece

PAIRS = sample("dev", 60, language="fr", max_words=15)
ENGLISH = train_sentencepiece([pair.source for pair in PAIRS], 500, "bpe")
FRENCH = train_sentencepiece([pair.target for pair in PAIRS], 500, "bpe")
SOURCES = [tokenized_words(p.source, ENGLISH, "en", p.source_words) for p in PAIRS]
TARGETS = [tokenized_words(p.target, FRENCH, "fr", p.target_words) for p in PAIRS]
LAYERS, HEADS = 3, 4


def cross_map(weights, layer=0, rows=None, heads=None):
    rows = tuple(range(weights.shape[2])) if rows is None else rows
    heads = tuple(range(weights.shape[1])) if heads is None else heads
    return AttentionMap(weights, "cross", layer, heads, rows, f"cross{layer}")


def gold_rows(pair, source, target):
    """(T, S) with a row for EOS: each token looks at its word's first gold source word."""
    gold = {}
    for link in pair.links:
        gold.setdefault(link.target, link.source)
    weights = np.zeros((target.num_tokens + 1, source.num_tokens + 1))
    for token in range(target.num_tokens):
        word = int(target.overlap[token].argmax())
        weights[token, :-1] = source.means[gold[word]] if word in gold else 0
        weights[token, -1] = word not in gold
    weights[-1, -1] = 1.0
    return weights


def maps_with_gold_at(hidden, chosen):
    """A right-padded batch of random maps, the gold links at one alignment head only."""
    rows = max(TARGETS[n].num_tokens for n in chosen) + 1
    columns = max(SOURCES[n].num_tokens for n in chosen) + 1
    random = np.random.default_rng(len(chosen))
    layers = np.zeros((LAYERS, len(chosen), HEADS, rows, columns), np.float32)
    for row, n in enumerate(chosen):
        num_rows, num_columns = TARGETS[n].num_tokens + 1, SOURCES[n].num_tokens + 1
        size = (LAYERS, HEADS, num_rows)
        noise = random.dirichlet(np.ones(num_columns) / 5, size)
        layers[:, row, :, :num_rows, :num_columns] = noise
        gold = gold_rows(PAIRS[n], SOURCES[n], TARGETS[n])
        gold = np.roll(gold, 1, axis=0) if hidden.shift else gold
        heads = range(HEADS) if hidden.head is None else [hidden.head]
        for head in heads:
            # As a mean, each head knows a part: the others' noise is in the way of each alone.
            part = 0.4 if hidden.head is None else 0.9
            old = layers[hidden.layer, row, head, :num_rows, :num_columns]
            layers[hidden.layer, row, head, :num_rows, :num_columns] = (
                part * gold + (1 - part) * old
            )
    return [cross_map(torch.from_numpy(one), layer) for layer, one in enumerate(layers)]


def batches(hidden):
    ends = [*range(0, len(PAIRS), 17), len(PAIRS)]
    for start, end in pairwise(ends):
        chosen = range(start, end)
        maps = maps_with_gold_at(hidden, chosen)
        yield MappedBatch(maps, [SOURCES[n] for n in chosen], [TARGETS[n] for n in chosen])


@pytest.fixture(scope="module")
def aligned():
    """Of the sixty dev sentences, learned together with others."""
    pairs = [*PAIRS, *sample("train", 1500, language="fr", max_words=15)]
    both = align_bidirectional([p.source_words for p in pairs], [p.target_words for p in pairs])
    return BidirectionalLinks(*(links[: len(PAIRS)] for links in both))


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize(("layer", "head"), [(0, 3), (2, 0), (1, None)])
def test_selection_finds_where_the_links_are(layer, head, shift, aligned):
    hidden = AlignmentHead(layer, head, shift)
    selection = select_alignment_head(batches(hidden), aligned)
    assert selection.best == hidden
    assert selection.agreement > 0.8
    # And the head it takes is good by the gold links, which it never saw.
    found = [
        word_links(
            alignment_weights(
                batch.maps,
                selection.best,
                row,
                target_length=target.num_tokens + 1,
                source_length=source.num_tokens + 1,
            ),
            target,
            source,
        )
        for batch in batches(hidden)
        for row, (source, target) in enumerate(zip(batch.sources, batch.targets, strict=True))
    ]
    assert grammar_alignment_error_rate(found, PAIRS).error_rate < 0.15


def test_agreement_is_what_its_equation_says(aligned):
    hidden = AlignmentHead(1, 2, False)
    selection = select_alignment_head(batches(hidden), aligned)
    agreed = out_of = 0
    place = 0
    for batch in batches(hidden):
        for row, (source, target) in enumerate(zip(batch.sources, batch.targets, strict=True)):
            made = word_links(batch.maps[1].weights[row, 2].numpy(), target, source)
            forward, backward = aligned.forward[place], aligned.backward[place]
            agreed += len(made & forward & backward) + len(made & (forward | backward))
            out_of += len(made) + len(forward & backward)
            place += 1
    assert selection.agreement == pytest.approx(agreed / out_of)


def test_selection_needs_the_same_sentences(aligned):
    hidden = AlignmentHead(0, 0, False)
    with pytest.raises(InputError, match="more sentences than the 5"):
        select_alignment_head(
            batches(hidden), BidirectionalLinks(aligned.forward[:5], aligned.backward[:5])
        )
    with pytest.raises(InputError, match="no maps"):
        select_alignment_head([], aligned)
    outside = BidirectionalLinks([frozenset({(99, 0)})] * 60, [frozenset()] * 60)
    with pytest.raises(InputError, match="99-0"):
        select_alignment_head(batches(hidden), outside)


def test_rows_of_an_alignment_head():
    weights = torch.arange(1.0, 2 * 2 * 3 * 4 + 1).view(2, 2, 3, 4)
    weights = (weights / weights.sum(-1, keepdim=True)).bfloat16()
    maps = [cross_map(weights, layer=1)]
    lengths = {"target_length": 3, "source_length": 2}
    plain = weights.float().numpy()
    found = alignment_weights(maps, AlignmentHead(1, 1, False), 1, **lengths)
    np.testing.assert_array_equal(found, plain[1, 1, :, :2])
    louder = [cross_map(3 * weights.float(), layer=1)]  # as a window's weights may be
    np.testing.assert_allclose(
        alignment_weights(louder, AlignmentHead(1, 1, False), 1, **lengths), found, rtol=1e-2
    )
    mean = alignment_weights(maps, AlignmentHead(1, None, False), 0, **lengths)
    np.testing.assert_array_equal(mean, plain[0].mean(axis=0)[:, :2])
    moved = alignment_weights(maps, AlignmentHead(1, 1, True), 1, **lengths)
    np.testing.assert_array_equal(moved[:2], plain[1, 1, 1:, :2])
    assert not moved[2].any()
    with pytest.raises(ValueError, match=r"layers \[1\], got 0"):
        alignment_weights(maps, AlignmentHead(0, 0, False), 0, **lengths)
    with pytest.raises(ValueError, match=r"heads \[0, 1\], got 7"):
        alignment_weights(maps, AlignmentHead(1, 7, False), 0, **lengths)


def test_maps_of_single_steps_are_merged():
    """What `record` sees of cross-attention, all rows at once or one after the other."""
    layer = MultiHead(8, num_heads=2).eval()
    query, memory = torch.randn(3, 5, 8), torch.randn(3, 6, 8)
    with record(layer) as at_once:
        layer(query, memory)
    (whole,) = at_once
    assert whole.kind == "cross"
    steps = [
        AttentionMap(whole.weights[:, :, row : row + 1], "cross", 0, whole.heads, (row,), "")
        for row in (0, 2, 1, 4, 3)
    ]
    together, single = layer_maps(steps, "cross")[0], layer_maps(at_once, "cross")[0]
    np.testing.assert_array_equal(together.weights, single.weights)
    assert layer_maps(steps, "causal") == {}
    with pytest.raises(ValueError, match="row twice"):
        layer_maps([*steps, steps[0]], "cross")
    with pytest.raises(ValueError, match="batches or heads"):
        layer_maps([steps[0], cross_map(whole.weights[:1, :, 1:2], rows=(1,))], "cross")
