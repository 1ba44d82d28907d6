"""Antecedents hidden in one head and row are counted there and nowhere else."""

import numpy as np
import pytest
import torch

from regard.alignment import MappedBatch, tokenized_words
from regard.attention import AttentionMap
from regard.corpus.grammar import sample
from regard.corpus.grammar.measures.coreference import (
    AntecedentCount,
    HeadRow,
    count_antecedents,
    merge_counts,
    rank_heads,
)
from regard.errors import InputError
from regard.text.sentencepiece_tokenizer import train_sentencepiece

LAYERS, HEADS = 2, 3


def corpus(language):
    pairs = [pair for pair in sample("dev", 80, language=language) if pair.coreference]
    english = train_sentencepiece([pair.source for pair in pairs], 500, "bpe")
    other = train_sentencepiece([pair.target for pair in pairs], 700, "bpe")
    sources = [tokenized_words(p.source, english, "en", p.source_words) for p in pairs]
    targets = [tokenized_words(p.target, other, language, p.target_words) for p in pairs]
    return pairs, sources, targets


CORPORA = {language: corpus(language) for language in ("fr", "zh")}
ROWS = [
    ("self", "encoder it", ""),
    ("self", "encoder adjective", ""),
    ("cross", "decoder pronoun cross", "predicts"),
    ("cross", "decoder pronoun cross", "input"),
    ("causal", "decoder pronoun self", "predicts"),
    ("causal", "decoder pronoun self", "input"),
]


def blank_maps(sources, targets):
    """Every head looks at the last special of all: EOS, or BOS for the decoder's own past."""
    rows = max(tokenized.num_tokens for tokenized in targets) + 1
    columns = max(tokenized.num_tokens for tokenized in sources) + 1
    maps = {}
    for kind, height, width in (
        ("self", columns, columns),
        ("cross", rows, columns),
        ("causal", rows, rows),
    ):
        weights = torch.zeros(LAYERS, len(sources), HEADS, height, width)
        for row, source in enumerate(sources):
            weights[:, row, :, :, 0 if kind == "causal" else source.num_tokens] = 1.0
        maps[kind] = weights
    return maps


def as_batch(maps, sources, targets):
    maps_list = [
        AttentionMap(
            layer_weights,
            kind,
            layer,
            tuple(range(HEADS)),
            tuple(range(layer_weights.shape[2])),
            kind,
        )
        for kind, weights in maps.items()
        for layer, layer_weights in enumerate(weights)
    ]
    return MappedBatch(maps_list, sources, targets)


def hide(weights, pair, source, target, kind, row_name, step):
    """Make the row of (rows, columns) look at the antecedent, the larger part of it."""
    for note in pair.coreference:
        word = note.pronoun if row_name == "encoder it" else note.cue
        rows = np.flatnonzero(
            source.overlap[:, word] if kind == "self" else target.overlap[:, note.target_pronoun]
        )
        columns = np.flatnonzero(source.overlap[:, note.antecedent])
        if kind == "causal":
            linked = [k.target for k in pair.links if k.sure and k.source == note.antecedent]
            columns = 1 + np.flatnonzero(target.overlap[:, linked].any(axis=1))
        for row in rows + (step == "input"):
            weights[row] *= 0.4
            # Each piece alone has less than the special; the word has more.
            weights[row, columns] += 0.6 / len(columns)


@pytest.mark.parametrize("language", ["fr", "zh"])
@pytest.mark.parametrize(("kind", "row_name", "step"), ROWS)
def test_the_head_that_looks_is_found(language, kind, row_name, step):
    pairs, sources, targets = CORPORA[language]
    maps = blank_maps(sources, targets)
    for number, (pair, source, target) in enumerate(zip(pairs, sources, targets, strict=True)):
        hide(maps[kind][1, number, 2], pair, source, target, kind, row_name, step)
    table = count_antecedents(pairs, as_batch(maps, sources, targets))
    assert len(table) == LAYERS * HEADS * len(ROWS)
    pronouns = sum(len(pair.coreference) for pair in pairs)
    assert all(count.total == pronouns for count in table.values())
    best, count = rank_heads(table)[0]
    assert best == HeadRow(kind, 1, 2, row_name, step)
    # A Chinese piece may be of two words, and its weight then goes to both.
    assert count.share == 1 or (language == "zh" and count.share > 0.9)
    for head, count in table.items():
        if head[:3] != best[:3]:
            assert count.hits == 0
        elif head != best:
            # Adjacent rows are others' rows: only a pronoun in several pieces shares some.
            assert count.share < 0.5


def test_looking_at_the_other_noun_is_no_hit():
    pairs, sources, targets = CORPORA["fr"]
    maps = blank_maps(sources, targets)
    turned = [
        pair.coreference[0]._replace(antecedent=pair.coreference[0].distractor) for pair in pairs
    ]
    for number, (pair, source) in enumerate(zip(pairs, sources, strict=True)):
        rows = np.flatnonzero(source.overlap[:, pair.coreference[0].pronoun])
        columns = np.flatnonzero(source.overlap[:, turned[number].antecedent])
        for row in rows:
            maps["self"][0, number, 0, row] = 0
            maps["self"][0, number, 0, row, columns] = 1 / len(columns)
    table = count_antecedents(pairs, as_batch(maps, sources, targets))
    assert table[HeadRow("self", 0, 0, "encoder it", "")].hits == 0


def test_batches_add_up():
    pairs, sources, targets = CORPORA["fr"]
    torch.manual_seed(3)
    maps = {
        kind: torch.rand_like(weights) for kind, weights in blank_maps(sources, targets).items()
    }
    whole = count_antecedents(pairs, as_batch(maps, sources, targets))
    parts = [
        count_antecedents(
            pairs[part],
            as_batch({k: v[:, part] for k, v in maps.items()}, sources[part], targets[part]),
        )
        for part in (slice(0, 7), slice(7, None))
    ]
    assert merge_counts(parts) == whole
    assert merge_counts([]) == {}
    assert rank_heads(whole)[0][1].share >= rank_heads(whole)[-1][1].share
    assert AntecedentCount(0, 0).share == 0


def test_kinds_that_were_not_recorded_and_words_that_are_not_the_pair_s():
    pairs, sources, targets = CORPORA["zh"]
    cross = {"cross": blank_maps(sources, targets)["cross"]}
    assert {head.kind for head in count_antecedents(pairs, as_batch(cross, sources, targets))} == {
        "cross"
    }
    with pytest.raises(InputError, match=r"word_list=pair\.source_words"):
        count_antecedents(pairs, as_batch(cross, sources[::-1], targets))
