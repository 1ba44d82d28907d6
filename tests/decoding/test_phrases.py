"""Words that must not or must be written, whatever tokens spell them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.step_models import TableModel, sources
from regard.config import SearchOptions
from regard.decoding import RequiredPhrase, TokenTexts, forbidden_phrases, search
from regard.text.sentencepiece_tokenizer import train_sentencepiece
from regard.text.vocabulary import train_chars, train_words

LINES = ["the bank of the banker", "un arbre, l'arbre unique et l'une", "a ab abab baba ba b"]
TOKENIZERS = {
    "bpe": train_sentencepiece(LINES, 340, "bpe"),
    "word": train_words(LINES, None, "en"),
    "char": train_chars(LINES, None, "en"),
}
TEXTS = {name: TokenTexts(tokenizer) for name, tokenizer in TOKENIZERS.items()}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_texts_of_tokens_are_those_that_are_decoded(name):
    for line in LINES:
        ids = TOKENIZERS[name].encode(line)
        assert TEXTS[name].join(ids).removeprefix(" ") == line == TOKENIZERS[name].decode(ids)


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=15)
@given(
    st.integers(0, 1000),
    st.lists(st.sampled_from(["b", "ab", "ba ba", "Bank", "un", "a b", "'"]), max_size=3),
    st.sampled_from([{"beam": 1}, {"beam": 3, "n_best": 3}, {"sample": True, "n_best": 2}]),
)
def test_forbidden_words_are_never_written(name, seed, forbidden, kind):
    tokenizer = TOKENIZERS[name]
    model = letters_model(seed, name)
    bans = forbidden_phrases(forbidden, TEXTS[name])
    options = SearchOptions(max_length=12, **kind)
    (results,) = search(model, sources([5]), options, bans=bans)
    for hyp in results:
        text = tokenizer.decode(hyp.tokens).lower()
        for phrase in forbidden:
            assert not re.search(rf"(?<!\w){re.escape(phrase.lower())}(?!\w)", text) or (
                phrase == "'" and "'" not in text
            )
    if not forbidden:
        assert [results] == search(model, sources([5]), options)


def letters_model(seed, name):
    """A table that mostly writes a, b, ' and spaces, in any tokens."""
    vocab = len(TOKENIZERS[name])
    model = TableModel(seed, vocab=8, kinds=3)
    wanted = [
        token
        for token, text in enumerate(TEXTS[name].texts)
        if text and set(text.lower()) <= set("abunk' ")
    ]
    return _Spread(model, wanted, vocab)


class _Spread:
    """A model over a larger vocabulary: the table's three words, each spread over many tokens."""

    def __init__(self, model, wanted, vocab):
        import torch

        self.model, self.max_length, self.vocab = model, model.max_length, vocab
        generator = torch.Generator().manual_seed(7)
        self.bias = torch.full((vocab,), -20.0)
        self.bias[wanted] = torch.randn(len(wanted), generator=generator)
        self.bias[3] = -1.0

    def start(self, source, batch=1):
        return self.model.start(source, batch)

    def step(self, state, tokens, attention=False):
        logits, state, _ = self.model.step(state, 5 + tokens % 3)
        return logits[:, 5:].repeat(1, self.vocab // 3 + 1)[:, : self.vocab] + self.bias, state, []

    def select(self, state, rows):
        return self.model.select(state, rows)


def test_every_spelling_is_banned_and_longer_words_are_not():
    texts = TEXTS["bpe"]
    (ban,) = forbidden_phrases(["bank"], texts)
    banned = {texts.texts[token] for token in ban([])}
    assert "ank" not in banned and all(" bank".endswith(text) for text in banned)
    spelled = [texts.texts.index(part) for part in (" b", "a", "n")]
    assert {texts.texts[token] for token in ban(spelled)} >= {"k"}
    assert "ke" not in {texts.texts[token] for token in ban(spelled)}
    inside = [texts.texts.index(part) for part in (" b", "u", "b", "a", "n")]
    assert "k" not in {texts.texts[token] for token in ban(inside)}  # buban… is another word


def test_characters_without_a_token_are_matched_by_their_bytes():
    texts = TEXTS["bpe"]
    (ban,) = forbidden_phrases(["ß"], texts)
    first, second = TOKENIZERS["bpe"].encode("ß")[-2:]
    assert ban([first]) == (second,) and not ban([])


@pytest.mark.parametrize("name", TOKENIZERS)
@given(seed=st.integers(0, 1000))
@settings(max_examples=6)
def test_required_words_are_written_whole(name, seed):
    required = ["ab", "ba b", "un"] if name != "word" else ["ab", "un"]
    phrases = [RequiredPhrase(text, TOKENIZERS[name], TEXTS[name]) for text in required]
    options = SearchOptions(beam=2, max_length=16)
    ((hyp,),) = search(letters_model(seed, name), sources([5]), options, phrases=[phrases])
    text = TOKENIZERS[name].decode(hyp.tokens)
    for phrase in required:
        capital = phrase[0].upper() + phrase[1:]
        assert re.search(rf"(?<!\w){phrase}(?!\w)", text) or re.match(rf"{capital}(?!\w)", text)


def test_a_chinese_word_needs_no_space():
    tokenizer = train_sentencepiece(["我在银行里。", "他去河边。"], 300, "bpe")
    texts = TokenTexts(tokenizer)
    phrase = RequiredPhrase("银行", tokenizer, texts)
    assert phrase.occurs(texts.join(tokenizer.encode("我在银行里。")))
    assert not any(texts.join(ids).startswith(" ") for ids in phrase.spellings)
    assert phrase.next_tokens(tokenizer.encode("他"), texts.join(tokenizer.encode("他")))
