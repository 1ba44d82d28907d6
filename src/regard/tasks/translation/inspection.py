"""Views of translated sentences: their words, links and attention maps; `regard inspect`."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from regard.alignment import AlignmentHead, alignment_weights
from regard.attention import record
from regard.config import Run
from regard.decoding import word_confidence
from regard.errors import InputError
from regard.models.batch import Batch
from regard.models.transformer import TransformerModel
from regard.tasks import inspection
from regard.tasks.inspection import (
    MAX_TEXTS,
    Inspection,
    InspectOptions,
    RepeatedForward,
    lazy_maps,
)
from regard.tasks.translation.translation import ModelInfo, Sentence
from regard.tasks.translation.translator import Translator
from regard.text.segments import MAX_WORD
from regard.views import Matrix, SentenceView, label_score, word_weights


def inspect(
    translator: Translator, texts: Sequence[str], options: InspectOptions
) -> list[Inspection]:
    """Translate texts, and view each sentence; maps of long texts are recorded when shown."""
    encode = translator.encode_source
    _check_size(translator, texts, options)
    whole_texts = not options.split and isinstance(translator.network, TransformerModel)
    long = [whole_texts and len(encode(text)) > inspection.LONG for text in texts]
    inspections: list[list[Inspection]] = [[] for _ in texts]
    for lazy in (False, True):
        indices = [index for index, is_long in enumerate(long) if is_long == lazy]
        translations = translator.translate(
            [texts[index] for index in indices],
            settings=options.settings,
            prefix=options.prefix,
            edits=options.edits,
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
    return [each for text in inspections for each in text]


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


END = "</s>"


def sentence_view(
    sentence: Sentence,
    model: Run | ModelInfo,
    *,
    reference: str | None = None,
    title: str = "",
    name: str = "",
) -> SentenceView:
    """The view of a sentence that was translated with `alignment` and perhaps `attention`."""
    num_rows = [len(layer_map.rows) for layer_map in sentence.attention if layer_map.kind != "self"]
    ended = all(rows > len(sentence.tokens) for rows in num_rows)  # else cut off without </s>
    return SentenceView.from_maps(
        [layer_map for layer_map in sentence.attention if layer_map.over == "keys"],
        0,
        source_tokens=(*sentence.source_tokens, END),
        target_tokens=(*sentence.tokens, END) if ended else sentence.tokens,
        source_words=sentence.source_words,
        target_words=sentence.words,
        links=sentence.alignment,
        alignment_head=_alignment_head(model),
        confidence=sentence.confidence,
        reference=reference,
        title=title,
        model=name,
        source_language=model.source_language,
        target_language=model.target_language,
        source_text=sentence.source,
        target_text=sentence.text,
    )


def long_sentence_view(
    translator: Translator, sentence: Sentence, batch: Batch, *, title: str = "", name: str = ""
) -> SentenceView:
    """The view of a long sentence translated without maps: they are recorded when they are shown.

    The links are taken from the one layer that was selected for them.
    """
    network, run = translator.network, translator.run
    assert sentence.hypothesis is not None
    source, target = translator.words(sentence)
    source_groups, groups = (tuple(map(tuple, side.tokens)) for side in (source, target))
    source_tokens = (*sentence.source_tokens, END)
    ended = batch.inputs.shape[1] > len(sentence.tokens)
    tokens = (*sentence.tokens, END) if ended else sentence.tokens
    input_tokens = ("<s>", *tokens[:-1])
    axes = {
        "encoder": (source_tokens, source_tokens),
        "decoder": (input_tokens, input_tokens),
        "cross": (tokens, source_tokens),
    }
    maps = lazy_maps(RepeatedForward(network, lambda: network.features(batch)), axes)
    layers = [head_maps.layer for head_maps in maps if head_maps.kind == "cross"]
    links: tuple[tuple[int, int], ...] = ()
    if layers:
        layer = run.alignment.layer if run.alignment else max(layers)
        with torch.no_grad(), record(network, kinds="cross", layers=layer) as recording:
            network.features(batch)
        links = translator.links(recording, 0, source, target)
    return SentenceView(
        source_tokens,
        tokens,
        tuple(word.text for word in source.words),
        tuple(word.text for word in target.words),
        links=links,
        maps=maps,
        alignment_head=_alignment_head(run),
        confidence=tuple(word_confidence(sentence.hypothesis, groups)),
        title=title,
        model=name,
        source_language=run.source_language,
        target_language=run.target_language,
        source_groups=source_groups,
        target_groups=groups,
        source_text=sentence.source,
        target_text=sentence.text,
    )


def alignment_matrix(sentence: Sentence, run: Run, *, legend: bool = True) -> Matrix:
    """The alignment for the terminal: shades are the weights that links were taken from."""
    view = sentence_view(sentence, run)
    cross = [layer_map for layer_map in sentence.attention if layer_map.kind == "cross"]
    chosen = run.alignment
    if not cross or chosen is None:
        return Matrix(view, legend=legend)
    plane = alignment_weights(
        cross,
        AlignmentHead(chosen.layer, chosen.head, chosen.shift),
        0,
        target_length=len(view.target_tokens),
        source_length=len(view.source_tokens),
    )
    weights = word_weights(plane.astype("float32"), view.axis("target"), view.axis("source"))
    return Matrix(view, weights, legend=legend)


def _alignment_head(model: Run | ModelInfo) -> tuple[int, int] | None:
    """The layer and head that links are taken from, if it is a single head."""
    chosen = model.alignment
    return None if chosen is None or chosen.head is None else (chosen.layer, chosen.head)
