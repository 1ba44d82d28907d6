"""Inspection of a language model: views of texts, with their continuation."""

from __future__ import annotations

import math
from dataclasses import replace

from regard.config import SearchOptions
from regard.decoding import score, word_confidence
from regard.tasks.inspection import (
    Inspection,
    InspectOptions,
    RepeatedForward,
    each_text,
    view_alone,
)
from regard.tasks.language_model.generator import Generator
from regard.views import label_score


@each_text
def inspect(generator: Generator, text: str, options: InspectOptions) -> Inspection:
    """View a text; a word's confidence is its probability after the words before it."""
    tokenizer = generator.tokenizer
    ids = tokenizer.encode(text)
    generator.batch(ids)  # check that it fits
    title = ""
    if options.generate:
        num_read = len(ids)
        settings = options.settings or SearchOptions(beam=1)
        settings = replace(settings, n_best=1, max_length=num_read + options.generate)
        hypothesis = generator.generate(text, settings=settings)[0].hypothesis
        assert hypothesis is not None
        ids = list(hypothesis.tokens[: generator.network.max_length - 1])
        title = f"{num_read:,} tokens read, {len(ids) - num_read:,} written"
    batch = generator.batch(ids)
    tokens = tuple(tokenizer.pieces(batch.inputs[0].tolist()))
    source = RepeatedForward(generator.network, lambda: generator.network.features(batch))
    view = view_alone(source, tokens, generator.run.target_language, tokenizer.decode(ids))
    groups = [[token - 1 for token in group if token] for group in view.axis("source").groups]
    confidence = word_confidence(score(generator.network, None, [ids])[0], groups)
    confidence = [c if group else math.nan for c, group in zip(confidence, groups, strict=True)]
    view = replace(view, title=title, model=options.name, confidence=tuple(confidence))
    return Inspection(view, batch, label_score(batch))
