"""What every mechanism promises word by word: the same answers, looked at or not, in any order."""

import warnings

import pytest
import torch

from mechanisms import HEADS, WIDTH, drawn, every, made
from regard.attention import Mask, MultiHead, SwitchOff, intervene, record


@every
def test_looking_changes_nothing_word_by_word(name):
    mechanism = made(name, 30)
    query, key, value = (x.detach()[..., :9, :] for x in drawn(30))
    if not mechanism.facts.cache:
        return

    def written():
        cache, contexts = mechanism.empty(key[..., :0, :], value[..., :0, :]), []
        for place in range(9):
            word = (x[..., place : place + 1, :] for x in (query, key, value))
            attended = mechanism.decode_step(*word, cache)
            cache = attended.cache
            contexts.append(attended.context)
        return torch.cat(contexts, -2)

    plain = written()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a mechanism that keeps no keys shows none
        with record() as recording:
            looked = written()
    assert torch.equal(plain, looked)
    for place, one in enumerate(recording):
        assert one.weights.shape[-1] == place + 1  # over all words so far


@every
def test_it_goes_on_word_by_word(name):
    mechanism = made(name, 170)
    query, key, value = (x.detach() for x in drawn(170))
    if not mechanism.facts.cache:
        return
    whole = mechanism(query, key, value, mask=Mask.causal()).context
    cache = mechanism.empty(key[..., :0, :], value[..., :0, :])
    parts, place = [], 0
    for size in (4, 3, *[1] * 60):
        new = (x[..., place : place + size, :] for x in (query, key, value))
        attended = mechanism.decode_step(*new, cache)
        cache, place = attended.cache, place + size
        assert cache.length == place
        parts.append(attended.context)
        if place == 40:  # as beam search does
            rows = torch.tensor([2, 0, 1])
            cache = cache.select(rows).select(torch.argsort(rows))
    found = torch.cat(parts, -2)
    torch.testing.assert_close(found, whole[..., :place, :])


@every
def test_heads_can_be_switched_off_word_by_word(name):
    mechanism = made(name, 20)
    query, key, value = (x.detach()[..., :6, :] for x in drawn(20))
    if not mechanism.facts.cache:
        return
    layer = MultiHead(HEADS * WIDTH, HEADS, mechanism=mechanism).double()

    def written():
        cache, contexts = mechanism.empty(key[..., :0, :], value[..., :0, :]), []
        for place in range(6):
            word = (x[..., place : place + 1, :] for x in (query, key, value))
            attended = layer.mechanism.decode_step(*word, cache)
            cache = attended.cache
            contexts.append(attended.context)
        return torch.cat(contexts, -2)

    plain = written()
    with intervene(None, [SwitchOff(heads=1)]):
        changed = written()
    torch.testing.assert_close(changed[:, 0], plain[:, 0])
    assert bool((changed[:, 1] == 0).all())


@every
def test_a_cache_of_another_layer_is_refused(name):
    mechanism = made(name, 20, torch.float32)
    if not mechanism.facts.cache:
        return
    layer = MultiHead(HEADS * WIDTH, HEADS, mechanism=mechanism)
    other = made("local" if name in ("linear", "performer") else "linear", 20, torch.float32)
    cache = MultiHead(HEADS * WIDTH, HEADS, mechanism=other).empty_cache(1)
    for one in (layer, MultiHead(HEADS * WIDTH, HEADS)):
        with pytest.raises(TypeError, match="cache must be one that this layer returned"):
            one(torch.randn(1, 1, HEADS * WIDTH), cache=cache)


def test_a_mask_that_a_cache_cannot_take_is_refused():
    layer = MultiHead(HEADS * WIDTH, HEADS, mechanism=made("local", 20, torch.float32))
    word, cache = torch.randn(1, 1, HEADS * WIDTH), layer.empty_cache(1)
    layer(word, mask=Mask.causal(corner="bottom-right"), cache=cache)
    with pytest.raises(ValueError, match="leave the mask out"):
        layer(word, mask=Mask.lengths([1]), cache=cache)
