"""The built-in corpus: a synchronous grammar of English, French and Chinese.

Every rule is realized in three languages, so a derivation yields a sentence, its one translation,
gold word alignments, and the antecedent of every `it` and the sense of every ambiguous word.

    lexicon/ ─▶ entries ─▶ vocabulary, contexts            tables of words, read and checked
    derivation ─▶ phrases ─▶ predicates ─▶ clauses         rules
    draw_phrases ─▶ draw_clauses, draw_annotated           random choices
    pair, tokenization, showcase ─▶ sampling               sentence pairs
    measures                                               scores of models on these pairs

>>> pair = seed_sentences("fr")[0]
>>> print(pair.source, pair.target, sep=chr(10))
The animal didn't cross the street because it was too tired.
L'animal n'a pas traversé la rue parce qu'il était trop fatigué.
"""

from regard.corpus.grammar.pair import GrammarPair, Language
from regard.corpus.grammar.sampling import sample, seed_sentences

__all__ = ["GrammarPair", "Language", "sample", "seed_sentences"]
