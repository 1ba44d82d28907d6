"""Terms of a glossary that the model could not write, put in place of the words that it wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from regard.documents.projection import SpanProjection, word_spans
from regard.tasks.translation.glossary import TermFinder
from regard.tasks.translation.translation import Sentence
from regard.tasks.translation.wording.insertion import insert_phrase, replace_words
from regard.tasks.translation.wording.warning import TranslationWarning
from regard.text import normalize

if TYPE_CHECKING:
    from regard.tasks.translation.glossary import Term
    from regard.tasks.translation.translation_model import TranslationModel


def put_terms(model: TranslationModel, sentences: Mapping[int, Sentence]) -> dict[int, Sentence]:
    """The translations with every term of the glossary that they miss, and a warning for it."""
    done = dict(sentences)
    for row, sentence in sentences.items():
        if sentence.missing_terms:
            linked = sentence if sentence.words else _linked(model, sentence)
            for term in sentence.missing_terms:
                linked = _with_term(linked, term, model.info.target_language)
            done[row] = linked
    return done


def _linked(model: TranslationModel, sentence: Sentence) -> Sentence:
    """A translation with its words and links."""
    (linked,) = model.align([(sentence.source, sentence.text)])
    return replace(
        sentence, source_words=linked.source_words, words=linked.words, alignment=linked.alignment
    )


def _with_term(sentence: Sentence, term: Term, language: str) -> Sentence:
    """A translation with the term in place of the words that its source is linked to."""
    source = normalize(sentence.source)
    spans = TermFinder((term,)).find(source).get(term, [(0, 0)])
    start, end = SpanProjection(source, sentence).target(*spans[0])
    covered = [
        number
        for number, (first, last) in enumerate(word_spans(sentence.text, sentence.words))
        if first < end and start < last
    ]
    if covered:
        sentence = replace_words(sentence, covered, term[1])
    else:
        sentence = insert_phrase(sentence, term[1], len(sentence.words), language)
    warning = TranslationWarning("term", (" → ".join(term),))
    return replace(sentence, warnings=(*sentence.warnings, warning))
