"""Models whose words begin with vectors learned elsewhere."""

import numpy as np
import pytest
import torch

from regard.config import LanguageModelSettings, RnnSettings, TrainingSettings, TransformerSettings
from regard.errors import InputError
from regard.folder import Tokenizers
from regard.tasks import build
from regard.text.sentencepiece_tokenizer import train_sentencepiece
from regard.text.vocabulary import train_chars, train_words
from regard.vectors import Vectors, write_vectors
from regard.vectors.initialize import embedding_tables, initialize_embeddings, vector_rows

ENGLISH = ["The cat didn't see the dog, because it was tired.", "A dog saw a cat."] * 3
FRENCH = ["L'animal n'a pas vu le chien.", "Un chat a vu la rue."] * 3
CHINESE = ["猫没有看见狗。", "我用Python写字。"] * 3
DIM = 8


def vectors(*words, seed=0):
    return Vectors(words, 3 * np.random.default_rng(seed).normal(size=(len(words), DIM)))


def result(table, tokenizer):
    """The tokens that get a vector, and whose."""
    rows = vector_rows(table, tokenizer)
    return {tokenizer.pieces([token])[0]: table.words[row] for token, row in rows.items()}


def test_word_tokens():
    table = vectors("the", "The", "cat", "didn't", ",", "animal", "l'")
    assert result(table, train_words(ENGLISH, None, "en")) == {
        "▁The": "The",
        "▁cat": "cat",
        "▁didn't": "didn't",
        "▁the": "the",
        ",": ",",
    }
    french = result(table, train_words(FRENCH, None, "fr"))
    assert french == {"▁L'": "l'", "animal": "animal"}


def test_pieces_that_are_whole_words():
    tokenizer = train_sentencepiece(ENGLISH, 300, "bpe")
    pieces = tokenizer.pieces(range(5, len(tokenizer)))
    table = vectors(*sorted({piece.removeprefix("▁") for piece in pieces} - {""}))
    given = result(table, tokenizer)
    assert given["▁cat"] == "cat" and given["."] == "."
    inner = [piece for piece in pieces if piece[0] != "▁" and piece.isalpha()]
    assert inner and not set(inner) & set(given)
    assert not any(piece.startswith("<0x") for piece in given)


def test_characters():
    table = vectors("猫", "狗", "a", "P", "。", "有")
    assert set(result(table, train_chars(CHINESE, None, "zh"))) == {"猫", "狗", "。", "有"}


def models():
    words = Tokenizers(train_words(ENGLISH, None, "en"), train_words(FRENCH, None, "fr"))
    shared = Tokenizers(words.source, words.source)
    small = {"dim": DIM, "num_heads": 2, "ff": 8, "dropout": 0.0}
    layers = {"num_encoder_layers": 1, "num_decoder_layers": 1}
    return {
        "transformer": (TransformerSettings(**small, **layers, tied="output"), words),
        "tied": (TransformerSettings(**small, **layers, tied="all"), shared),
        "rnn": (RnnSettings(embedding=DIM, dim=6, attention_dim=6, tied="output"), words),
        "lm": (LanguageModelSettings(**small, num_layers=1), shared),
    }


def began(name, tmp_path, **files):
    settings, tokenizers = models()[name]
    named = {}
    for setting, table in files.items():
        path = tmp_path / f"{setting}.vec"
        write_vectors(path, table)
        named[setting] = str(path)
    torch.manual_seed(0)
    network = build(settings, len(tokenizers.source), len(tokenizers.target))
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    lines, settings = [], TrainingSettings(steps=1, **named)
    initialize_embeddings(network, settings, tokenizers.source, tokenizers.target, lines.append)
    return network, tokenizers, before, lines


@pytest.mark.parametrize("name", ["transformer", "tied", "rnn", "lm"])
def test_tokens_begin_with_their_vectors(name, tmp_path):
    table = vectors("cat", "dog", "le", "chien", "never")
    network, tokenizers, before, lines = began(name, tmp_path, vectors=table)
    sides = dict(embedding_tables(network, tokenizers.source, tokenizers.target))
    assert set(sides) == ({"source", "target"} if name != "lm" else {"target"})
    for side, embedding in sides.items():
        tokenizer = getattr(tokenizers, side)
        rows = vector_rows(table, tokenizer)
        assert len(rows) == 2
        weight = embedding.weight.detach()
        given = torch.from_numpy(table.matrix[list(rows.values())])
        put = weight[list(rows)]
        torch.testing.assert_close(put / put.norm(), given / given.norm(), rtol=1e-4, atol=1e-5)
        names = [n for n, p in network.named_parameters() if p is embedding.weight]
        others = [i for i in range(len(tokenizer)) if i not in rows]
        old = before[names[0]]
        assert torch.equal(weight[others], old[others])
        usual = old[5:].square().sum(1).mean().sqrt()
        assert put.square().sum(1).mean().sqrt().item() == pytest.approx(usual.item(), rel=1e-4)
        assert (weight[0] == 0).all()
    message = "2 of" in lines[0] and lines[0].endswith("vectors.vec.")
    assert message and len(lines) == (1 if tokenizers.shared else 2)
    if name != "lm":
        assert network.output.weight is sides["target"].weight


def test_each_side_has_its_own_file(tmp_path):
    english, both = vectors("cat", "chien"), vectors("dog", "chien", seed=1)
    network, tokenizers, before, lines = began(
        "transformer", tmp_path, vectors_source=english, vectors=both
    )
    tables = embedding_tables(network, tokenizers.source, tokenizers.target)
    source, target = (table.weight for _, table in tables)
    cat, dog = (tokenizers.source.encode(f"A {word}")[1] for word in ("cat", "dog"))
    chien = tokenizers.target.encode("le chien")[1]
    assert not torch.equal(source[cat], before["source.vectors.weight"][cat])
    assert torch.equal(source[dog], before["source.vectors.weight"][dog])
    cosine = torch.cosine_similarity(target[chien], torch.from_numpy(both["chien"]), dim=0)
    assert cosine > 0.999
    assert [line.split(" tokens")[0].split()[-1] for line in lines] == ["source", "target"]


def test_a_shared_table_takes_both_files(tmp_path):
    one, other = vectors("cat"), vectors("cat", "dog", seed=1)
    network, tokenizers, _, lines = began(
        "tied", tmp_path, vectors_source=one, vectors_target=other
    )
    table = network.source.vectors.weight
    cat, dog = (tokenizers.source.encode(f"A {word}")[1] for word in ("cat", "dog"))
    for token, wanted in ((cat, one["cat"]), (dog, other["dog"])):
        assert torch.cosine_similarity(table[token], torch.from_numpy(wanted), dim=0) > 0.999
    assert [line.split(" of")[0] for line in lines] == ["1", "1"]


def test_another_width_is_refused(tmp_path):
    wide = Vectors(("cat",), np.ones((1, 5)))
    with pytest.raises(InputError, match=r"must have 8 numbers.*got 5; learn"):
        began("tied", tmp_path, vectors=wide)


@pytest.mark.parametrize("setting", ["vectors_source", "vectors_target"])
def test_a_side_of_a_model_without_sides_is_refused(tmp_path, setting):
    with pytest.raises(InputError, match=rf"training\.{setting} .* --training\.vectors instead"):
        began("lm", tmp_path, **{setting: vectors("cat")})


def test_without_the_setting_nothing_happens(tmp_path):
    network, _, before, lines = began("tied", tmp_path)
    assert not lines
    assert all(torch.equal(before[name], new) for name, new in network.state_dict().items())
