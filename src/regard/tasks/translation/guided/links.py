"""The links that guided heads learn: read from files, or made by an aligner or another model.

Links join characters of a pair's normalized texts, so that they do not depend on the tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.alignment import align_bidirectional, locate_words
from regard.alignment.token_links import token_links
from regard.config import Run
from regard.config.guides import AUTO, WRITTEN, Guide
from regard.config.stored import CONFIG
from regard.corpus.mixture import CorpusPart
from regard.corpus.pairs import Pair, SpanLink
from regard.errors import InputError
from regard.folder import Tokenizers
from regard.formats import read_lines
from regard.formats.pair import format_error
from regard.formats.word_links import line_links
from regard.tasks.text.guided_rows import GuidedRows, TokenLinks, new_rows
from regard.tasks.translation.tagged_pairs import target_of
from regard.text import Word, normalize, words
from regard.text.tags import tag_ids
from regard.text.words import word_texts

MAX_CELLS = 100_000_000  # pairs of words that are aligned together, about half a gigabyte
WORDS = ".words.tsv"

Links = tuple[SpanLink, ...]


def with_links(
    pairs: Sequence[Pair], parts: Sequence[CorpusPart], run: Run, num_read: int
) -> list[Pair]:
    """Return the pairs with the links of every guide; `num_read` pairs were read from the parts."""
    columns = []
    for guide in run.guides:
        if guide.links == AUTO:
            columns.append(_aligned(guide, pairs, run))
        elif (Path(guide.links) / CONFIG).is_file():
            columns.append(_aligned_by_model(guide, pairs, run))
        else:
            lines = _read(guide, parts, num_read)
            columns.append([_spans(guide, pair, lines, run) for pair in pairs])
    return [
        pair._replace(links=links)
        for pair, links in zip(pairs, zip(*columns, strict=True), strict=True)
    ]


class _LinkLines(NamedTuple):
    """The lines of links, where each is, and the words that they count, if these are given."""

    lines: list[str]
    places: list[tuple[Path, int]]
    words: list[str] | None


def _read(guide: Guide, parts: Sequence[CorpusPart], num_read: int) -> _LinkLines:
    """Read the file or files of a guide: a line for each of the pairs that were read."""
    files = _files(guide, parts)
    lines, places, given = list[str](), list[tuple[Path, int]](), list[str]()
    for file in files:
        added = list(read_lines(file))
        lines += added
        places += [(file, number) for number in range(1, len(added) + 1)]
        if _words_of(file).is_file():
            given += read_lines(_words_of(file))
    if len(lines) != num_read:
        raise InputError(
            f"{', '.join(map(str, files))}: there must be a line of links for each pair that was "
            f"read, got {len(lines)} lines for {num_read} pairs; write an empty line where there "
            "are none."
        )
    if given and len(given) != len(lines):
        raise InputError(
            f"{_words_of(files[0])}: there must be a line of words for each line of links, got "
            f"{len(given)} for {len(lines)}; correct it, or take it away."
        )
    return _LinkLines(lines, places, given or None)


def _files(guide: Guide, parts: Sequence[CorpusPart]) -> list[Path]:
    """Return the files of a guide: the one it names, or those beside the corpus."""
    suffix = WRITTEN.get(guide.links)
    if suffix is None or Path(guide.links).is_file():
        if not Path(guide.links).is_file():
            raise InputError(
                f"training.guide {guide.name}: there is no such file of links; give one, the "
                f"folder of a model, or one of {', '.join((AUTO, *WRITTEN))}."
            )
        return [Path(guide.links)]
    corpus = [Path(file) for part in parts for file in part.files]
    beside = list(dict.fromkeys(file.with_suffix(suffix) for file in corpus))
    for file in beside:
        if not file.is_file():
            raise InputError(
                f"{file}: training.guide {guide.name} needs this file beside the corpus, which "
                "`regard corpus write` makes; give a file of links instead."
            )
    return beside


def _words_of(file: Path) -> Path:
    """Return the file of the words that a file of links counts, as `corpus write` makes it."""
    return file.with_suffix(WORDS)


def _spans(guide: Guide, pair: Pair, read: _LinkLines, run: Run) -> Links:
    """Return the links of a pair that was read, between characters."""
    file, number = read.places[pair.number]
    given = read.words[pair.number].split("\t") if read.words else [None, None]
    sides = PairWords(
        _words(pair.source, run.source_language, given[0]),
        _words(pair.target, target_of(pair, run.target_language), given[-1]),
    )
    links = line_links(read.lines[pair.number], file, number).every
    try:
        return span_links(guide, sides, links)
    except IndexError:
        what = (
            f"a word is linked that is not in the pair of {len(sides.source)} source and "
            f"{len(sides.target)} target words"
        )
        raise format_error(file, number, what, "count the words of each side from 0") from None


class PairWords(NamedTuple):
    """The words of both sides of a pair."""

    source: Sequence[Word]
    target: Sequence[Word]

    def of(self, attention: str) -> tuple[Sequence[Word], Sequence[Word]]:
        """Return the words that an attention attends from, and those that it attends to."""
        query, key = SIDES[attention]
        return getattr(self, query), getattr(self, key)


SIDES = {
    "encoder": ("source", "source"),
    "decoder": ("target", "target"),
    "cross": ("target", "source"),
}
"""The sides of a pair that each attention attends from and to."""


def span_links(guide: Guide, words: PairWords, links: Iterable[tuple[int, int]]) -> Links:
    """Return links between words as links between characters.

    A link is a source and a target word for cross-attention, and otherwise the word that attends
    and the word that it attends to.
    """
    queries, keys = words.of(guide.attention)
    across = guide.attention == "cross"
    ordered = ((second, first) if across else (first, second) for first, second in links)
    return tuple(
        (queries[query].start, queries[query].end, keys[key].start, keys[key].end)
        for query, key in ordered
    )


def _words(text: str, language: str, given: str | None) -> list[Word]:
    """Return the words of a normalized text: its own, or those given, with spaces between."""
    return words(text, language) if given is None else locate_words(normalize(given).split(), text)


def _aligned(guide: Guide, pairs: Sequence[Pair], run: Run) -> list[Links]:
    """Align words statistically: the links that both directions have in common."""
    portions = _portions(pairs, run)
    return [links for some in portions for links in _aligned_portion(guide, some, run)]


def _portions(pairs: Sequence[Pair], run: Run) -> Iterator[list[Pair]]:
    """Yield the pairs in portions that are aligned together: all, if they are not too many."""
    portion, cells = list[Pair](), 0
    for pair in pairs:
        cells += len(word_texts(pair.source, run.source_language)) * len(
            word_texts(pair.target, target_of(pair, run.target_language))
        )
        portion.append(pair)
        if cells > MAX_CELLS:
            yield portion
            portion, cells = [], 0
    if portion:
        yield portion


def _aligned_portion(guide: Guide, pairs: Sequence[Pair], run: Run) -> list[Links]:
    sources = [words(pair.source, run.source_language) for pair in pairs]
    targets = [words(p.target, target_of(p, run.target_language)) for p in pairs]
    aligned = align_bidirectional(
        [[word.text for word in sentence] for sentence in sources],
        [[word.text for word in sentence] for sentence in targets],
    )
    return [
        span_links(guide, PairWords(source, target), sorted(forward & backward))
        for source, target, forward, backward in zip(
            sources, targets, aligned.forward, aligned.backward, strict=True
        )
    ]


def _aligned_by_model(guide: Guide, pairs: Sequence[Pair], run: Run) -> list[Links]:
    """Align words by a trained model, with its own alignment head and the targets given."""
    from regard.tasks import load  # which imports this module
    from regard.tasks.alignment.model_aligner import WINDOW, ModelAligner
    from regard.tasks.translation.translator import Translator

    model = load(guide.links)
    if guide.attention != "cross" or not isinstance(model, Translator) or not model.run.alignment:
        raise InputError(
            f"training.guide {guide.name}: a model aligns source and target, for cross-attention, "
            f"and {guide.links} must be one that translates with attention; give a file of links."
        )
    several = len(model.run.target_languages) > 1
    aligned: list[Links] = [()] * len(pairs)
    by_language: dict[str, list[int]] = {}
    for row, pair in enumerate(pairs):
        by_language.setdefault(target_of(pair, run.target_language), []).append(row)
    for language, rows in by_language.items():
        aligner = ModelAligner(model.into(language) if several else model)
        rows.sort(key=lambda row: len(pairs[row].source) + len(pairs[row].target))
        for start in range(0, len(rows), WINDOW):
            window = rows[start : start + WINDOW]
            links = aligner.links([(pairs[row].source, pairs[row].target) for row in window])
            for row, found in zip(window, links, strict=True):
                info = aligner.model.info
                sides = PairWords(
                    words(pairs[row].source, info.source_language),
                    words(pairs[row].target, info.target_language),
                )
                aligned[row] = span_links(guide, sides, sorted(found))
    return aligned


def encoded_links(
    pairs: Sequence[Pair],
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    tokenizers: Tokenizers,
    run: Run,
) -> list[GuidedRows]:
    """Return the links of pairs between the tokens of their encoded sides, for every guide."""
    guides = run.guides
    if not guides or not all(pair.links for pair in pairs):
        return []
    columns: list[list[TokenLinks]] = [[] for _ in guides]
    for pair, source, target in zip(pairs, sources, targets, strict=True):
        num_tags = len(tag_ids(tokenizers.source.tags, pair.tags))
        spans = {
            "source": tokenizers.source.spans(pair.source, source[num_tags:]),
            "target": tokenizers.target.spans(pair.target, target),
        }
        first = {"source": num_tags, "target": 1}  # after tags, after BOS
        length = {"source": len(source), "target": len(target) + 1}
        for column, guide, links in zip(columns, guides, pair.links, strict=True):
            query, key = SIDES[guide.attention]
            found = token_links(links, spans[query], spans[key])
            found += [[first[query], first[key]]]
            fits = (found[:, 0] < length[query]) & (found[:, 1] < length[key])
            if guide.attention == "decoder":
                fits &= found[:, 1] <= found[:, 0]  # the decoder sees no later token
            column.append(found[fits])
    return [
        new_rows(guide, column, run, targets) for guide, column in zip(guides, columns, strict=True)
    ]
