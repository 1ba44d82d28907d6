"""Projected keys and values: the formula, short sentences, and what is refused."""

import pytest
import torch

from regard.attention import Mask, ScaledDot, attend
from regard.attention.mechanisms.linformer import Linformer

F64 = torch.float64


def heads(n, width=6):
    return [torch.randn(2, 2, n, width, dtype=F64, requires_grad=True) for _ in range(3)]


def test_the_formula():
    linformer = Linformer(20, projected=4, share="heads").double()
    with torch.no_grad():
        for slots in linformer.parameters():
            slots.normal_(std=20**0.5)
    query, key, value = heads(12)
    of_keys, of_values = (slots[:, :12] / 20**0.5 for slots in linformer.parameters())
    projected_key = torch.einsum("pn,bhnd->bhpd", of_keys, key)
    projected_value = torch.einsum("pn,bhnd->bhpd", of_values, value)
    weights = (query @ projected_key.mT / 6**0.5).softmax(-1)
    got = linformer(query, key, value, weights=True)
    torch.testing.assert_close(got.context, weights @ projected_value)
    torch.testing.assert_close(got.weights, weights)


def test_short_sentences_begin_as_full_attention():
    linformer, (query, key, value) = Linformer(128, projected=32).double(), heads(12)
    full = attend(query, key, value, score=ScaledDot()).context
    got = linformer(query, key, value).context
    assert (got - full).abs().max() < 0.1 * full.abs().max()
    with torch.no_grad():
        linformer.key_slots.copy_((linformer.key_slots > 1) * 128**0.5)
    torch.testing.assert_close(linformer(query, key, value).context, full)


def test_a_sentence_does_not_know_how_far_its_batch_was_padded():
    linformer, (query, key, value) = Linformer(40, projected=8).double(), heads(20)
    lengths = torch.tensor([13, 5])
    with torch.no_grad():
        for n, sentence in zip(lengths, (0, 1), strict=True):
            key[sentence, :, n:], value[sentence, :, n:] = torch.nan, torch.inf
    padded = linformer(query, key, value, mask=Mask.lengths(lengths)).context
    for sentence, n in enumerate(lengths.tolist()):
        one = [x[sentence : sentence + 1, :, :n] for x in (query, key, value)]
        alone = linformer(*one).context
        torch.testing.assert_close(padded[sentence : sentence + 1, :, :n], alone)


def test_only_the_columns_of_words_that_are_there_learn():
    linformer = Linformer(30, projected=4).double()
    linformer(*heads(12), mask=Mask.lengths([9, 0])).context.sin().sum().backward()
    grad = linformer.key_slots.grad
    assert (grad[:, :9] != 0).all()
    assert (grad[:, 9:] == 0).all()


def test_what_is_shared():
    assert [p.shape for p in Linformer(30, 4).parameters()] == [(4, 30)]
    assert [p.shape for p in Linformer(30, 4, share="heads").parameters()] == [(4, 30)] * 2
    with pytest.raises(ValueError, match="share"):
        Linformer(30, 4, share="nothing")


def test_what_is_refused():
    linformer, inputs = Linformer(10, 4).double(), heads(11)
    with pytest.raises(ValueError, match=r"at most 10 tokens \(max_length\), got 11"):
        linformer(*inputs)
    shorter = [x[..., :10, :] for x in inputs]
    with pytest.raises(ValueError, match="causal"):
        linformer(*shorter, mask=Mask.causal())
    with pytest.raises(ValueError, match="step by step"):
        linformer.decode_step(*shorter, linformer.empty(shorter[1], shorter[2]))
