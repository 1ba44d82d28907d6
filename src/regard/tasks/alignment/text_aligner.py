"""The statistical aligner over sentence pairs: it learns from the pairs that it aligns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from regard.alignment import BidirectionalLinks, align_bidirectional, symmetrize
from regard.alignment.symmetrization import SYMMETRIZATIONS
from regard.tasks.alignment.aligned_pair import AlignedPair, split_words

METHODS = (*SYMMETRIZATIONS, "forward", "backward")
"""How links of both directions are combined; `forward` and `backward` are one direction alone."""


def align_text(
    pairs: Iterable[tuple[str, str]],
    languages: tuple[str, str] = ("", ""),
    *,
    method: str = "grow-diag-final-and",
    tokenized: bool = False,
    more: Iterable[tuple[str, str]] = (),
    more_tokenized: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Iterator[AlignedPair]:
    """Align sentence pairs by what they and `more` pairs have in common.

    method     how both directions are combined, one of `METHODS`
    tokenized  whether words are what spaces separate in `pairs`
    more       pairs to learn from besides, whose words are split by spaces if `more_tokenized`
    progress   called after each pass over the text with the number of its pairs
    """
    sources, targets = [], []
    for source, target in pairs:
        sources.append(split_words(source, languages[0], tokenized=tokenized))
        targets.append(split_words(target, languages[1], tokenized=tokenized))
    num_pairs = len(sources)
    for source, target in more:
        sources.append(split_words(source, languages[0], tokenized=more_tokenized))
        targets.append(split_words(target, languages[1], tokenized=more_tokenized))
    both = align_bidirectional(sources, targets, progress)
    both = BidirectionalLinks(both.forward[:num_pairs], both.backward[:num_pairs])
    if method in ("forward", "backward"):
        links = getattr(both, method)
    else:
        links = symmetrize(*both, method)
    for source_words, target_words, found in zip(sources, targets, links, strict=False):
        yield AlignedPair(tuple(source_words), tuple(target_words), found)
