"""Inspection of a classifier: views of texts and their labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.alignment import tokenized_words
from regard.errors import InputError
from regard.models.classifier.batch import text_batch
from regard.tasks.classification.classifier import Classifier
from regard.tasks.inspection import Inspection, InspectOptions, each_text
from regard.views import SentenceView


def inspect(
    classifier: Classifier, texts: Sequence[str], options: InspectOptions
) -> list[Inspection]:
    """View each text with its label."""
    if classifier.settings.input == "series":
        raise InputError(
            f"{classifier.path}: this model reads numeric series; `regard classify` shows what "
            "decided there."
        )
    return _inspect_each(classifier, texts, options)


@each_text
def _inspect_each(classifier: Classifier, text: str, options: InspectOptions) -> Inspection:
    """View a text and its label; the cross-attention map is the pooling's."""
    result = classifier.classify(text, why="attention")
    ids = classifier.ids(text)
    split = tokenized_words(text, classifier.tokenizer, classifier.run.source_language)
    groups = [tuple(np.flatnonzero(overlap).tolist()) for overlap in split.overlap[: len(ids)].T]
    number = classifier.labels.index(result.label)
    view = SentenceView.from_maps(
        [layer_map for layer_map in classifier.attention(text) if layer_map.over == "keys"],
        source_tokens=classifier.tokenizer.pieces(ids),
        target_tokens=(result.label,),
        source_words=tuple(word.text for word in split.words),
        source_groups=tuple(groups),
        target_words=(result.label,),
        target_groups=((0,),),
        confidence=(result.probability,),
        title=", ".join(f"{name} {share:.1%}" for name, share in result.probabilities.items()),
        model=options.name,
        source_language=classifier.run.source_language,
        source_text=text.strip(),
        target_text=result.label,
        target_kind="label",
    )
    return Inspection(
        view,
        text_batch([ids]).to(classifier.device),
        lambda logits: logits.log_softmax(-1)[:, number],
    )
