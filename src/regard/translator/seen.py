"""A translated sentence as views show it: its words, their links, and every head's map."""

from __future__ import annotations

from regard.alignment import Reading, read
from regard.config import Run
from regard.translator.translation import Sentence
from regard.views import Matrix, Viewed, word_weights

END = "</s>"


def viewed(
    sentence: Sentence,
    run: Run,
    *,
    reference: str | None = None,
    title: str = "",
    model: str = "",
) -> Viewed:
    """What there is to see of a sentence, translated with `alignment` and `attention`."""
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


def drawn(sentence: Sentence, run: Run, *, legend: bool = True) -> Matrix:
    """The alignment as the terminal shows it: shades are the weights that links were read from."""
    shown = viewed(sentence, run)
    cross = [one for one in sentence.attention if one.kind == "cross"]
    chosen = run.alignment
    if not cross or chosen is None:
        return Matrix(shown, legend=legend)
    plane = read(
        cross,
        Reading(chosen.layer, chosen.head, chosen.shift),
        0,
        target_length=len(shown.target_tokens),
        source_length=len(shown.source_tokens),
    )
    weights = word_weights(plane.astype("float32"), shown.axis("target"), shown.axis("source"))
    return Matrix(shown, weights, legend=legend)
