"""SentenceView: padding is cut off, rows are joined, tokens are grouped into words."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from growth import LINEAR, growth
from regard.attention import AttentionMap, Mask, MultiHead, record
from regard.views import HeadMaps, SentenceView, word_weights
from regard.views.maps.sentence import Axis
from regard.views.maps.token_groups import join_tokens, word_groups

WORDS = st.lists(st.text("abé的's", min_size=1, max_size=6), min_size=1, max_size=8)


def test_maps_of_all_kinds_without_padding(french):
    assert [(m.kind, m.layer) for m in french.maps] == [
        (kind, layer) for kind in ("cross", "encoder", "decoder") for layer in range(3)
    ]
    num_src, num_tgt = len(french.source_tokens), len(french.target_tokens)
    cross, encoder, decoder = (french.find(k, 0) for k in ("cross", "encoder", "decoder"))
    assert cross.weights.shape == (4, num_tgt, num_src)
    assert encoder.weights.shape == (4, num_src, num_src)
    assert decoder.weights.shape == (4, num_tgt, num_tgt)
    assert decoder.rows == ("<s>", *french.target_tokens[:-1])
    for maps in french.maps:
        np.testing.assert_allclose(maps.weights.sum(-1), 1, atol=1e-5)


def test_real_layer_row_by_row_equals_the_whole():
    layer = MultiHead(8, num_heads=2).eval()
    states = torch.randn(2, 5, 8)
    with record(layer) as whole:
        layer(states, mask=Mask.causal())
    steps = [
        AttentionMap(m.weights[:, :, i : i + 1, : i + 1], "causal", 0, m.heads, (i,), m.module)
        for m in whole
        for i in range(5)
    ]
    tokens = {"source_tokens": (), "target_tokens": ("▁a", "▁b", "</s>")}
    words = {"source_words": (), "target_words": ("a", "b")}
    one = SentenceView.from_maps(whole, 1, **tokens, **words)
    other = SentenceView.from_maps(steps, 1, **tokens, **words)
    assert one.maps[0].weights.shape == (2, 3, 3)
    np.testing.assert_array_equal(one.maps[0].weights, other.maps[0].weights)
    np.testing.assert_allclose(one.maps[0].weights, whole[0].weights[1, :, :3, :3].numpy())


@pytest.mark.parametrize(
    ("rows", "columns", "complaint"),
    [
        ([(0,), (0,)], 2, "row 0 of the cross maps of layer 0 was given twice"),
        ([(0,)], 2, "row 1 of the cross maps of layer 0 is missing"),
        ([(0,), (1,)], 1, "must have 2 columns, one per token, got 1"),
    ],
)
def test_mismatched_maps(rows, columns, complaint):
    maps = [AttentionMap(torch.ones(1, 1, 1, columns), "cross", 0, (0,), row, "") for row in rows]
    with pytest.raises(ValueError, match=complaint):
        SentenceView.from_maps(
            maps,
            source_tokens=["▁a", "</s>"],
            target_tokens=["▁b", "</s>"],
            source_words=("a",),
            target_words=("b",),
        )


def test_mismatched_fields():
    plain = (("▁a",), ("▁b",), ("a",), ("b",))
    with pytest.raises(ValueError, match=r"links must be .* got \(0, 1\)"):
        SentenceView(*plain, links=((0, 1),))
    with pytest.raises(ValueError, match="confidence"):
        SentenceView(*plain, confidence=(1.0, 1.0))
    with pytest.raises(ValueError, match="groups"):
        SentenceView(*plain, source_groups=((0,), (0,)))
    maps = HeadMaps("cross", 0, (0,), np.ones((1, 1, 2), np.float32), ("b",), ("a", "c"))
    with pytest.raises(ValueError, match="cross map of layer 0"):
        SentenceView(*plain, maps=(maps,))
    with pytest.raises(ValueError, match="kind"):
        HeadMaps("self", 0, (0,), np.ones((1, 1, 1), np.float32), ("b",), ("a",))


@given(WORDS, st.data())
def test_tokens_that_spell_the_words_are_found(words, data):
    """Cut the text anywhere: a token belongs to exactly the words whose characters it has."""
    text = "".join(words)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(len(text) - 1, 1)))) | {0, len(text)})
    tokens = [text[a:b] for a, b in pairwise(cuts)]
    owner = [number for number, word in enumerate(words) for _ in word]
    expected = [set() for _ in words]
    for token, (start, end) in enumerate(pairwise(cuts)):
        for place in range(start, end):
            expected[owner[place]].add(token)
    assert word_groups([*tokens, "</s>"], words) == tuple(tuple(sorted(e)) for e in expected)


def test_tokens_unknown_and_spelled_in_bytes():
    octopus, of = ["<0xF0>", "<0x9F>", "<0x90>", "<0x99>"], ["<0xE7>", "<0x9A>", "<0x84>"]
    tokens = ["▁we", "▁", *octopus, *of, "</s>"]
    assert word_groups(tokens, ["we", "🐙", "的"]) == ((0,), (2, 3, 4, 5), (6, 7, 8))
    assert join_tokens(tokens) == "we 🐙的"
    cut_short = ["▁we", *octopus[:2], "</s>"]
    assert word_groups(cut_short, ["we", "\ufffd"]) == ((0,), (1, 2))
    unknown = ["<unk>", "<unk>", "sat", "<unk>", "</s>"]
    assert word_groups(unknown, ["The", "aye-aye", "sat", "."]) == ((0,), (1,), (2,), (3,))
    assert word_groups(["▁the", "<unk>", "▁sa", "t"], ["the", "ai", "sat"]) == ((0,), (1,), (2, 3))
    assert word_groups([], []) == ()


@pytest.mark.parametrize("every", [0, 7, 300])
def test_long_texts_are_grouped_in_linear_time(every):
    """With some unknown words, 20,000 words per side."""
    rng = np.random.default_rng(0)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [
        "".join(letters[n] for n in rng.integers(0, 26, rng.integers(2, 9))) for _ in range(20_000)
    ]
    tokens, expected = [], []
    for number, word in enumerate(words):
        parts = ["<unk>"] if every and number % every == 5 else [f"▁{word[:3]}", word[3:]]
        parts = [part for part in parts if part]
        expected.append(tuple(range(len(tokens), len(tokens) + len(parts))))
        tokens += parts

    def gather(number):
        found = word_groups(tokens[: expected[number - 1][-1] + 1], words[:number])
        right = sum(one == other for one, other in zip(found, expected[:number], strict=True))
        assert right / number > (0.9 if every == 7 else 0.995)

    assert growth(gather, 20_000) < LINEAR


def test_word_weights_are_means_of_rows_and_sums_of_columns():
    plane = np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]], np.float32)
    rows = Axis(("a", "b"), ((0, 1),))
    columns = Axis(("x", "y", "z"), ((0, 1), (1,)))  # y spells both words
    np.testing.assert_allclose(word_weights(plane, rows, columns), [[0.4125, 0.1125]], atol=1e-6)


def test_alignment_weights_are_of_the_alignment_head(french, chinese):
    for sentence in (french, chinese):
        weights = sentence.alignment_weights()
        assert weights.shape == (len(sentence.target_words), len(sentence.source_words))
        linked = [weights[target, source] for source, target in sentence.links]
        assert min(linked) > 0.3
        assert (weights.sum(-1) <= 1 + 1e-5).all()
    assert SentenceView(("▁a",), ("▁b",), ("a",), ("b",)).alignment_weights() is None


def test_decoder_inputs_are_shifted(french):
    target, inputs = french.axis("target"), french.axis("inputs")
    for written, read in zip(target.groups, inputs.groups, strict=True):
        assert [target.tokens[i] for i in written] == [inputs.tokens[i] for i in read]


def test_texts(french, chinese):
    assert french.source == "The animal didn't cross the street because it was too tired."
    assert french.translation.startswith("L'animal n'a pas traversé la rue parce qu'il")
    assert chinese.translation == "因为动物太累了，所以它没有过马路。"


def test_single_text_of_a_real_layer():
    """An encoder's and a language model's maps over one text, without padding."""
    layer = MultiHead(8, num_heads=2).eval()
    states = torch.randn(2, 6, 8)
    with record(layer) as causal:
        layer(states, mask=Mask.causal())
    with record(layer) as plain:
        layer(states)
    tokens = ["[CLS]", "play", "##ing", "!"]
    one = SentenceView.from_text(
        [*plain, *causal], 1, tokens=tokens, language="en", text="Playing!"
    )
    assert not one.has_target
    assert [(m.kind, m.weights.shape) for m in one.maps] == [
        ("encoder", (2, 4, 4)),
        ("decoder", (2, 4, 4)),
    ]
    np.testing.assert_array_equal(one.maps[0].weights, plain[0].weights[1, :, :4, :4].numpy())
    assert one.axes_of("decoder") == one.axes_of("encoder") == ("source", "source")
    assert one.source_words == ("[CLS]", "playing", "!")
    assert one.axis("source").groups == ((0,), (1, 2), (3,))
    assert one.source == "Playing!"
    assert one.translation == ""
    named = SentenceView.from_text(plain, tokens=tokens, words=["play", "ing", "!"])
    assert named.axis("source").groups == ((1,), (2,), (3,))
    with pytest.raises(ValueError, match="kind 'cross'"):
        SentenceView.from_text(
            [AttentionMap(torch.ones(1, 1, 4, 4), "cross", 0, (0,), (0,), "")], tokens=tokens
        )
    with pytest.raises(ValueError, match="confidence must have 3 values, got 1"):
        SentenceView(("▁a",), (), ("a", "b", "c"), (), confidence=(0.5,))
