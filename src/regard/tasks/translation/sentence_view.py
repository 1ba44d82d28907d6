"""A translated sentence as views show it: its words, their links, and every head's map."""

from __future__ import annotations

import numpy as np
import torch

from regard.alignment import AlignmentHead, alignment_weights, tokenized_output, tokenized_words
from regard.attention import record
from regard.config import Run
from regard.decoding import word_confidence
from regard.models.batch import Batch
from regard.tasks.lazy_weights import Pass, waiting_maps
from regard.tasks.translation.translation import Maker, Sentence
from regard.tasks.translation.translator import Translator
from regard.text import normalize
from regard.views import Matrix, Viewed, word_weights

END = "</s>"


def viewed(
    sentence: Sentence,
    run: Run | Maker,
    *,
    reference: str | None = None,
    title: str = "",
    model: str = "",
) -> Viewed:
    """What there is to see of a sentence, translated with `alignment` and perhaps `attention`."""
    chosen = run.alignment
    written = [len(one.rows) for one in sentence.attention if one.kind != "self"]
    ended = all(rows > len(sentence.tokens) for rows in written)  # else cut off at the model's end
    over_words = [one for one in sentence.attention if one.over == "keys"]
    return Viewed.from_maps(
        over_words,
        0,
        source_tokens=(*sentence.source_tokens, END),
        target_tokens=(*sentence.tokens, END) if ended else sentence.tokens,
        source_words=sentence.source_words,
        target_words=sentence.words,
        links=sentence.alignment,
        aligned_by=None if chosen is None or chosen.head is None else (chosen.layer, chosen.head),
        confidence=sentence.confidence,
        reference=reference,
        title=title,
        model=model,
        source_language=run.source_language,
        target_language=run.target_language,
        source_text=sentence.source,
        target_text=sentence.text,
    )


def seen_sentence(translator: Translator, sentence: Sentence, batch: Batch) -> Viewed:
    """A sentence that was translated with all its maps."""
    return viewed(sentence, translator.run)


def long_sentence(translator: Translator, sentence: Sentence, batch: Batch) -> Viewed:
    """A long sentence, translated without maps: they are recorded when they are looked at.

    The links are read from the one layer that is meant for it.
    """
    network, best = translator.network, sentence.hypothesis
    assert best is not None
    run, target = translator.run, translator.tokenizers.target
    own = tokenized_words(
        normalize(sentence.source), translator.tokenizers.source, run.source_language
    )
    other = tokenized_output(best.tokens, target, run.target_language)
    source_groups, groups = (
        tuple(tuple(np.flatnonzero(column).tolist()) for column in side.overlap.T)
        for side in (own, other)
    )
    source_tokens = (*sentence.source_tokens, END)
    ended = batch.inputs.shape[1] > len(sentence.tokens)
    tokens = (*sentence.tokens, END) if ended else sentence.tokens
    read_tokens = ("<s>", *tokens[:-1])
    axes = {
        "encoder": (source_tokens, source_tokens),
        "decoder": (read_tokens, read_tokens),
        "cross": (tokens, source_tokens),
    }
    maps = waiting_maps(Pass(network, lambda: network.features(batch)), axes)
    chosen = run.alignment
    layers = [one.layer for one in maps if one.kind == "cross"]
    links: tuple[tuple[int, int], ...] = ()
    if layers:
        layer = chosen.layer if chosen else max(layers)
        with torch.no_grad(), record(network, kinds="cross", layers=layer) as recording:
            network.features(batch)
        links = translator.links(recording, 0, own, other)
    return Viewed(
        source_tokens,
        tokens,
        tuple(word.text for word in own.words),
        tuple(word.text for word in other.words),
        links=links,
        maps=maps,
        aligned_by=None if chosen is None or chosen.head is None else (chosen.layer, chosen.head),
        confidence=tuple(word_confidence(best, groups)),
        source_language=run.source_language,
        target_language=run.target_language,
        source_groups=source_groups,
        target_groups=groups,
        source_text=sentence.source,
        target_text=sentence.text,
    )


def drawn(sentence: Sentence, run: Run, *, legend: bool = True) -> Matrix:
    """The alignment as the terminal shows it: shades are the weights that links were read from."""
    shown = viewed(sentence, run)
    cross = [one for one in sentence.attention if one.kind == "cross"]
    chosen = run.alignment
    if not cross or chosen is None:
        return Matrix(shown, legend=legend)
    plane = alignment_weights(
        cross,
        AlignmentHead(chosen.layer, chosen.head, chosen.shift),
        0,
        target_length=len(shown.target_tokens),
        source_length=len(shown.source_tokens),
    )
    weights = word_weights(plane.astype("float32"), shown.axis("target"), shown.axis("source"))
    return Matrix(shown, weights, legend=legend)
