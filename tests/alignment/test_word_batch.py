"""Words and tokens of many sentences at once are those of each by itself."""

import numpy as np
import pytest

from regard.alignment import pool, tokenized_output, tokenized_words
from regard.alignment.word_batch import pool_batch, word_batch
from regard.text import normalize
from regard.text.sentencepiece_tokenizer import train_sentencepiece
from regard.text.vocabulary import train_words

LINES = [
    "The animal didn't cross the street because it was too tired.",
    "L'animal n'a pas traversé la rue, aujourd'hui, car il était fatigué...",
    "我用Python 3.11写程序。",
    "He said: “no!” (twice)",
]
TEXTS = [
    *LINES,
    "",
    "  two   spaces\tand cafe\u0301 ",
    "unseen: 😀 ñ 龘 word.",
    "a ▁ b",
]
TOKENIZERS = {
    "pieces": train_sentencepiece(LINES * 3, 400),
    "tagged": train_sentencepiece(LINES * 3, 400).with_tags(["<2fr>"]),
    "words": train_words(LINES, None, "en"),
}


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("language", ["en", "fr", "zh"])
def test_as_each_sentence_by_itself(name, language):
    tokenizer = TOKENIZERS[name]
    tags = list(tokenizer.tags.values())
    ids = [[*tags, *tokenizer.encode(text)] for text in TEXTS]
    ids.append(ids[0][:-3])  # as of a text that is cut to the model's length
    texts = [*TEXTS, TEXTS[0]]
    source = [
        tokenized_words(text, tokenizer, language, ids=own)
        for text, own in zip(texts, ids, strict=True)
    ]
    outputs = [tokenizer.encode(text) for text in texts]
    outputs[0] = [token for token in outputs[0] for _ in range(2)]  # in no text's tokens
    outputs[3] = outputs[3][1:] + outputs[3][:1]
    target = [tokenized_output(own, tokenizer, language) for own in outputs]
    sources = word_batch(list(map(normalize, texts)), ids, tokenizer, language, source.__getitem__)
    targets = word_batch(
        list(map(tokenizer.decode, outputs)), outputs, tokenizer, language, target.__getitem__
    )
    for batch, alone in ((sources, source), (targets, target)):
        for number, each in enumerate(alone):
            assert batch.words[number] == tuple(word.text for word in each.words)
            rows, columns = each.overlap.shape
            assert batch.overlap[number, :rows, :columns].tolist() == each.overlap.tolist()
            assert batch.overlap[number].sum() == each.overlap.sum()
    weights = np.random.default_rng(0).random(
        (len(texts), targets.overlap.shape[1], sources.overlap.shape[1]), np.float32
    )
    pooled = pool_batch(weights, targets, sources)
    for number, (one, other) in enumerate(zip(target, source, strict=True)):
        expected = pool(weights[number], one, other)
        rows, columns = expected.shape
        assert pooled[number, :rows, :columns] == pytest.approx(expected, abs=1e-12)
        assert not pooled[number, rows:].any() and not pooled[number, :, columns:].any()


def test_most_sentences_need_no_spans():
    """Only those with bytes, whose characters the tokens do not tell."""
    tokenizer, asked = TOKENIZERS["pieces"], []
    texts = [*LINES, "unseen: 😀"]

    def tokenized(number):
        asked.append(number)
        return tokenized_words(texts[number], tokenizer, "en")

    word_batch(texts, list(map(tokenizer.encode, texts)), tokenizer, "en", tokenized)
    assert asked == [4]
