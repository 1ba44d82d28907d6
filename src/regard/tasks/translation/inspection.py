"""Inspection of a translator: views of translated sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regard.errors import InputError
from regard.models.batch import Batch, batch_of
from regard.models.transformer import TransformerModel
from regard.tasks import lazy_weights
from regard.tasks.inspection import MAX_TEXTS, Inspection, InspectOptions
from regard.tasks.translation.segments import ENDLESS_WORD, pieces_of, segments, whole
from regard.tasks.translation.sentence_view import long_sentence, seen_sentence
from regard.tasks.translation.translator import Translator
from regard.views import label_score


def inspect(
    translator: Translator, texts: Sequence[str], options: InspectOptions
) -> list[Inspection]:
    """Translate texts, and view each sentence; maps of long texts are recorded when shown."""
    encode = translator.tokenizers.source.encode
    _check_size(translator, texts, options)
    whole_texts = not options.split and isinstance(translator.network, TransformerModel)
    long = [whole_texts and len(encode(text)) > lazy_weights.LONG for text in texts]
    inspections: list[list[Inspection]] = [[] for _ in texts]
    for lazy in (False, True):
        indices = [index for index, is_long in enumerate(long) if is_long == lazy]
        translations = translator.translate(
            [texts[index] for index in indices],
            settings=options.settings,
            prefix=options.prefix,
            alignment=not lazy,
            attention=not lazy,
            split=options.split,
        )
        for index, translation in zip(indices, translations, strict=True):
            for sentence in translation.sentences:
                assert sentence.hypothesis is not None
                batch = _batch(translator, encode(sentence.source), sentence.hypothesis.tokens)
                view = (long_sentence if lazy else seen_sentence)(translator, sentence, batch)
                view = replace(view, model=options.name)
                if not sentence.finished:
                    view = replace(view, title="cut off where the model can write no more")
                inspections[index].append(Inspection(view, batch, label_score(batch)))
    return [inspection for text in inspections for inspection in text]


def _check_size(translator: Translator, texts: Sequence[str], options: InspectOptions) -> None:
    """Check before translating that all sentences fit the model and the page."""
    language, tokenizer = translator.run.source_language, translator.tokenizers.source
    room = translator.network.max_length - 1
    cut = segments if options.split else whole
    counts = [len(cut(text, language, tokenizer, room)) for text in texts]
    if not options.split and max(counts) > 1:
        raise InputError(
            f"a text of {len(texts[counts.index(max(counts))]):,} characters is more than the "
            f"{room} tokens that the model holds; leave --no-split out, or give a shorter text."
        )
    if any(part.copied for text in texts for part in pieces_of(text, language, tokenizer, room)):
        raise InputError(
            f"a word of {ENDLESS_WORD:,} characters or more is copied, not translated, so that "
            "there is nothing to show; leave it out."
        )
    if sum(counts) > MAX_TEXTS:
        raise InputError(
            f"a page holds at most {MAX_TEXTS} sentences, got {sum(counts):,}; choose some."
        )


def _batch(translator: Translator, source: Sequence[int], target: Sequence[int]) -> Batch:
    """A sentence and its translation, cut to the model's length."""
    batch, room = batch_of([source], [target]), translator.network.max_length
    batch = batch._replace(inputs=batch.inputs[:, :room], labels=batch.labels[:, :room])
    return batch.to(translator.device)
