"""Text processing: normalization, sentences, words, and tokenizers.

`normalize`, `split_sentences` and `words` are functions of a string. A `Tokenizer` (SentencePiece
pieces, words or characters) turns normalized text into ids and back; `load` reads any kind from
its file. Importing this package loads none of the libraries behind it.
"""

from regard.text.language import is_spaceless, joiner
from regard.text.normalization import normalize
from regard.text.sentences import sentence_spans, split_sentences
from regard.text.tokenizer import BOS, EOS, MASK, PAD, UNK, Tokenizer, load
from regard.text.words import Word, words

__all__ = [
    "BOS",
    "EOS",
    "MASK",
    "PAD",
    "UNK",
    "Tokenizer",
    "Word",
    "is_spaceless",
    "joiner",
    "load",
    "normalize",
    "sentence_spans",
    "split_sentences",
    "words",
]
