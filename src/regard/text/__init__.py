"""Text processing: normalization, sentences, words, and tokenizers.

`normalize`, `sentence_spans` and `words` are functions of a string. A `Tokenizer` (SentencePiece
pieces, words or characters) turns normalized text into ids and back; `load` reads any kind from
its file. Importing this package loads none of the libraries behind it.
"""

from regard.text.normalization import normalize
from regard.text.segments import sentence_spans
from regard.text.tokenizer import BOS, EOS, MASK, PAD, UNK, Tokenizer, load
from regard.text.words import Word, is_spaceless, words

__all__ = [
    "BOS",
    "EOS",
    "MASK",
    "PAD",
    "UNK",
    "Tokenizer",
    "Word",
    "is_spaceless",
    "load",
    "normalize",
    "sentence_spans",
    "words",
]
