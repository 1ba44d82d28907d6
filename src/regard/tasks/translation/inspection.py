"""Inspection of a translator: views of translated sentences."""

from __future__ import annotations

from collections.abc import Sequence

from regard.errors import InputError
from regard.models.transformer import TransformerModel
from regard.tasks import lazy_weights
from regard.tasks.inspection import MAX_TEXTS, Inspection, InspectOptions
from regard.tasks.translation.sentence_view import long_sentence_view, sentence_view
from regard.tasks.translation.translator import Translator
from regard.text.segments import MAX_WORD
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
                batch = translator.batch([encode(sentence.source)], [sentence.hypothesis.tokens])
                title = "" if sentence.finished else "cut off where the model can write no more"
                names = {"title": title, "name": options.name}
                view = (
                    long_sentence_view(translator, sentence, batch, **names)
                    if lazy
                    else sentence_view(sentence, translator.info, **names)
                )
                inspections[index].append(Inspection(view, batch, label_score(batch)))
    return [inspection for text in inspections for inspection in text]


def _check_size(translator: Translator, texts: Sequence[str], options: InspectOptions) -> None:
    """Check before translating that all sentences fit the model and the page."""
    segments = [translator.segment(text, split=options.split) for text in texts]
    counts = list(map(len, segments))
    if any(segment.copied for own in segments for segment in own):
        raise InputError(
            f"a word of {MAX_WORD:,} characters or more is copied, not translated, so that "
            "there is nothing to show; leave it out."
        )
    if not options.split and max(counts) > 1:
        raise InputError(
            f"a text of {len(texts[counts.index(max(counts))]):,} characters is more than the "
            f"{translator.max_source_tokens} tokens that the model holds; leave --no-split out, or "
            "give a shorter text."
        )
    if sum(counts) > MAX_TEXTS:
        raise InputError(
            f"a page holds at most {MAX_TEXTS} sentences, got {sum(counts):,}; choose some."
        )
