"""Two sentences with synthetic weights: some heads follow the links, others are diffuse."""

import pytest
import torch

from regard.attention import AttentionMap
from regard.views import SentenceView

LAYERS, HEADS, PADDING = 3, 4, 3

ENGLISH = "▁The ▁animal ▁didn ' t ▁cross ▁the ▁street ▁because ▁it ▁was ▁too ▁tire d . </s>"
FRENCH = {
    "source_tokens": ENGLISH,
    "target_tokens": "▁L ' animal ▁n ' a ▁pas ▁travers é ▁la ▁rue ▁parce ▁qu ' il ▁était ▁trop "
    "▁fatigué . </s>",
    "source_words": "The animal didn't cross the street because it was too tired .",
    "target_words": "L' animal n' a pas traversé la rue parce qu' il était trop fatigué .",
    "links": "0-0 1-1 2-2 2-4 3-3 3-5 4-6 5-7 6-8 6-9 7-10 8-11 9-12 10-13 11-14",
    "languages": ("en", "fr"),
}
CHINESE = {
    "source_tokens": ENGLISH,
    "target_tokens": "▁ 因为 动物 太 累 了 ， 所以 它 没有 过 马 路 。 </s>",
    "source_words": "The animal didn't cross the street because it was too tired .",
    "target_words": "因为 动物 太 累 了 ， 所以 它 没有 过 马路 。",
    "links": "6-0 1-1 9-2 10-3 8-4 6-6 7-7 2-8 3-9 5-10 11-11",
    "languages": ("en", "zh"),
}


def sharp(rows, columns, pairs, generator, noise):
    """Rows that put most weight on the columns they are paired with."""
    scores = torch.rand(rows, columns, generator=generator) * noise
    for row, column in pairs:
        scores[row, column] += 4
    return scores.softmax(-1)


def synthetic_maps(tokens, seed=0):
    """Attention maps of a batch of two sentences, of which the second is used, with padding."""
    generator = torch.Generator().manual_seed(seed)
    num_src, num_tgt = tokens["source"], tokens["target"]
    for kind, rows, columns, pairs in (
        ("self", num_src, num_src, [(i, max(i - 1, 0)) for i in range(num_src)]),
        ("causal", num_tgt, num_tgt, [(i, max(i - 1, 0)) for i in range(num_tgt)]),
        ("cross", num_tgt, num_src, tokens["links"]),
    ):
        for layer in range(LAYERS):
            weights = torch.zeros(2, HEADS, rows + PADDING, columns + PADDING)
            for head in range(HEADS):
                turned = [(r, (c + head) % columns) for r, c in pairs] if kind != "cross" else pairs
                strength = turned if head != 2 else []
                found = sharp(rows, columns, strength, generator, 1 + (HEADS - head) * 0.8)
                if kind == "causal":
                    found = found.tril()
                    found = found / found.sum(-1, keepdim=True)
                weights[1, head, :rows, :columns] = found
            numbers = tuple(range(rows + PADDING))
            yield AttentionMap(weights, kind, layer, tuple(range(HEADS)), numbers, "made.up")


def synthetic(sample, **more):
    """The sentence with its synthetic maps."""
    fields = {
        name: tuple(sample[name].split())
        for name in ("source_tokens", "target_tokens", "source_words", "target_words")
    }
    links = tuple(tuple(map(int, pair.split("-"))) for pair in sample["links"].split())
    plain = SentenceView(**fields, links=links)
    source, target = plain.axis("source").groups, plain.axis("target").groups
    pairs = [(t, s) for a, b in links for t in target[b] for s in source[a]]
    sizes = {"source": len(plain.source_tokens), "target": len(plain.target_tokens)}
    end = [(sizes["target"] - 1, sizes["source"] - 1)]
    return SentenceView.from_maps(
        synthetic_maps({**sizes, "links": pairs + end}),
        1,
        **fields,
        links=links,
        alignment_head=(1, 3),
        source_language=sample["languages"][0],
        target_language=sample["languages"][1],
        **more,
    )


@pytest.fixture
def french():
    confidence = (
        0.99,
        0.98,
        0.97,
        0.97,
        0.99,
        0.9,
        0.96,
        0.99,
        0.9,
        0.99,
        0.71,
        0.98,
        0.97,
        0.9,
        1.0,
    )
    return synthetic(FRENCH, confidence=confidence, reference="L'animal n'a pas traversé la rue.")


@pytest.fixture
def chinese():
    return synthetic(CHINESE)
