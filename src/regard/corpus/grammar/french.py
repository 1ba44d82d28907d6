"""French where words meet: elision, contraction, the forms of masculine words before a vowel."""

from __future__ import annotations

from regard.corpus.grammar.line import Line

VOWELS = frozenset("aeiouhâàéèêëîïôûœAEIOUHÉÈ")
"""First letters of words before which French elides; every h of this lexicon is mute."""

ELIDED = {
    "le": "l'",
    "la": "l'",
    "ne": "n'",
    "que": "qu'",
    "de": "d'",
    "je": "j'",
    "ce": "cet",
}
CONTRACTED = {
    ("de", "le"): "du",
    ("de", "les"): "des",
    ("à", "le"): "au",
    ("à", "les"): "aux",
}


def begins_with_vowel(word: str) -> bool:
    """Whether the word begins with a vowel sound."""
    return word[0] in VOWELS


def joined(line: Line) -> Line:
    """The line with its words joined as French does: `le animal` ▶ `l'animal`, `de le` ▶ `du`.

    >>> line = Line()
    >>> for word in "je ai vu le animal près de le pont".split():
    ...     line.add(word, 0)
    >>> joined(line).words
    ["j'", 'ai', 'vu', "l'", 'animal', 'près', 'du', 'pont']
    """
    out = Line()
    words, marks = line.words, line.marks
    last = len(words) - 1
    skip = False
    for position, word in enumerate(words):
        if skip:
            skip = False
            continue
        if position < last and (word in ELIDED or word == "à"):
            following = words[position + 1]
            if following[0] in VOWELS:
                word = ELIDED.get(word, word)
            elif (word, following) in CONTRACTED and not (
                following == "le" and words[position + 2][0] in VOWELS
            ):
                word = CONTRACTED[word, following]
                out.also.append((len(out.words), marks[position + 1]))
                skip = True
        out.words.append(word)
        out.marks.append(marks[position])
    return out
