"""Translating with a loaded model: cut, search in batches on all cores, align, put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import overload

import numpy as np
import torch

from regard.alignment import (
    AlignmentHead,
    TokenizedWords,
    alignment_weights,
    tokenized_output,
    tokenized_words,
    word_links,
)
from regard.attention import AttentionMap
from regard.config import Run, SearchOptions
from regard.decoding import Hypothesis, alternatives, search, word_confidence
from regard.errors import InputError
from regard.folder import SavedModel
from regard.models.batch import batch_of, source_of
from regard.models.build import Translating
from regard.tasks.translation.line_windows import MOST_LINES, windows
from regard.tasks.translation.segments import Segment, pieces_of, put_together, whole
from regard.tasks.translation.translation import Maker, Sentence, Translation, copied_sentence
from regard.text import normalize
from regard.training.shards import Crew, cores

MANY_SENTENCES = 64  # for a core, from which on cores take sentences, not parts of an operation


@dataclass(frozen=True)
class Wish:
    """What is wanted with the translation."""

    alignment: bool
    attention: bool


class Translator:
    """Translates with the model of a folder."""

    def __init__(self, saved: SavedModel, threads: int = 0) -> None:
        self.run: Run = saved.run
        self.path: Path = saved.path
        assert isinstance(saved.network, Translating)
        self.network = saved.network
        self.tokenizers = saved.tokenizers
        self.device = next(saved.network.parameters()).device
        self.threads = cores(threads) if self.device.type == "cpu" else 1

    @overload
    def translate(
        self,
        text: str,
        *,
        settings: SearchOptions | None = None,
        prefix: str = "",
        alignment: bool = True,
        attention: bool = False,
        split: bool = True,
    ) -> Translation: ...

    @overload
    def translate(
        self,
        text: list[str],
        *,
        settings: SearchOptions | None = None,
        prefix: str = "",
        alignment: bool = True,
        attention: bool = False,
        split: bool = True,
    ) -> list[Translation]: ...

    def translate(
        self,
        text: str | list[str],
        *,
        settings: SearchOptions | None = None,
        prefix: str = "",
        alignment: bool = True,
        attention: bool = False,
        split: bool = True,
    ) -> Translation | list[Translation]:
        """The translation of a text, or of each text of a list.

        settings   how to search; the model's own by default
        prefix     what the translation must begin with (a single sentence)
        alignment  whether word links are read from attention
        attention  whether every layer's and head's maps are kept
        split      whether text is cut into sentences; what is too long for the model always is

        A word of a thousand characters and more, which is none, is copied.
        """
        texts = [text] if isinstance(text, str) else list(text)
        found = self._texts(
            texts, settings or self.run.decoding, prefix, Wish(alignment, attention), split, 0
        )
        return found[0] if isinstance(text, str) else found

    def translate_lines(
        self,
        lines: Iterable[str | None],
        *,
        settings: SearchOptions | None = None,
        prefix: str = "",
        alignment: bool = False,
        attention: bool = False,
        split: bool = True,
        first: int = 0,
        together: int = MOST_LINES,
    ) -> Iterator[list[Translation]]:
        """The translations of any number of lines in order, some at a time as they are done.

        lines     None among them says that no other line is ready yet: what came is translated
        first     the number of the first line, from which sampling is seeded
        together  most lines of a window, which is translated at once so that lines of like length
                  share batches; a window is made to take a few seconds

        The translations are those of `translate`, whatever the windows are.
        """
        chosen, wish = settings or self.run.decoding, Wish(alignment, attention)
        for window in windows(lines, together):
            yield self._texts(window, chosen, prefix, wish, split, first)
            first += len(window)

    def _texts(
        self,
        texts: Sequence[str],
        settings: SearchOptions,
        prefix: str,
        wish: Wish,
        split: bool,
        first: int,
    ) -> list[Translation]:
        """The translations of texts, of which the first has the number `first`."""
        made = [self._cut(one, prefix, split) for one in texts]
        flat = [
            (part.text, first + place + (nth << 32))
            for place, parts in enumerate(made)
            for nth, part in enumerate(parts)
            if not part.copied
        ]
        sources, numbers = [text for text, _ in flat], [number for _, number in flat]
        done = iter(self.sentences(sources, settings, wish, prefix, numbers))
        translations = []
        for one, parts in zip(texts, made, strict=True):
            own = [copied_sentence(part.text) if part.copied else next(done) for part in parts]
            joined = put_together(parts, [s.text for s in own], self.run.target_language)
            translations.append(Translation(joined, one, tuple(own), maker_of(self.run)))
        return translations

    def _cut(self, text: str, prefix: str, split: bool) -> list[Segment]:
        language, tokenizer = self.run.source_language, self.tokenizers.source
        room = self.network.max_length - 1
        if not prefix:
            return pieces_of(text, language, tokenizer, room, split=split)
        parts = whole(text, language, tokenizer, room)
        if len(parts) != 1:
            raise InputError("prefix is for one sentence that fits the model; give it by itself.")
        return parts

    def sentences(
        self,
        texts: Sequence[str],
        settings: SearchOptions,
        wish: Wish,
        prefix: str = "",
        numbers: Sequence[int] | None = None,
    ) -> list[Sentence]:
        """Single sentences, each of which fits the model.

        `numbers` are those from which sampling is seeded; the sentences' places without.
        """
        ids = [self.tokenizers.source.encode(text) for text in texts]
        start = self.tokenizers.target.encode(prefix) if prefix else []
        groups = _groups([len(row) for row in ids], settings, self.threads)
        found: list[Sentence | None] = [None] * len(texts)
        seeds = range(len(texts)) if numbers is None else numbers

        def work(rows: list[int]) -> list[Sentence]:
            return self._group(
                [texts[n] for n in rows],
                [ids[n] for n in rows],
                [seeds[n] for n in rows],
                settings,
                wish,
                start,
            )

        few = len(groups) == 1 or self.threads == 1
        with nullcontext() if few else Crew(self.threads) as crew:
            done = list(map(work, groups)) if crew is None else crew.map(work, groups)
        for rows, sentences in zip(groups, done, strict=True):
            for row, sentence in zip(rows, sentences, strict=True):
                found[row] = sentence
        return [sentence for sentence in found if sentence is not None]

    def alternatives(
        self, text: str, translation: str, word: int, count: int = 5
    ) -> list[tuple[str, float]]:
        """What else could stand at a word of a translation: whole translations, probabilities."""
        ids = self.tokenizers.target.encode(translation)
        target = tokenized_output(ids, self.tokenizers.target, self.run.target_language)
        if not 0 <= word < len(target.words):
            raise InputError(f"word {word} is not in {translation!r}; count from 0.")
        position = int(np.flatnonzero(target.overlap[:, word])[0])
        source = source_of([self.tokenizers.source.encode(text)]).to(self.device)
        found = alternatives(
            self.network, source, ids, position, count, options=SearchOptions(beam=1)
        )  # fmt: skip
        texts = []
        for one in found:
            tokens = ids[:position] if one.continuation is None else one.continuation.tokens
            texts.append((self.tokenizers.target.decode(tokens), one.probability))
        return texts

    def _group(
        self,
        texts: list[str],
        ids: list[list[int]],
        numbers: list[int],
        settings: SearchOptions,
        wish: Wish,
        start: list[int],
    ) -> list[Sentence]:
        source = source_of(ids).to(self.device)
        prefix = [start] * len(ids) if start else None
        found = search(self.network, source, settings, prefix=prefix, sample_ids=numbers)
        best = [hypotheses[0] for hypotheses in found]
        maps: list[AttentionMap] = []
        if wish.alignment or wish.attention:
            batch = batch_of(ids, [h.tokens for h in best])
            room = self.network.max_length  # an output cut off there has no step for its end
            batch = batch._replace(inputs=batch.inputs[:, :room], labels=batch.labels[:, :room])
            with torch.no_grad():
                maps = self.network.maps(batch.to(self.device))
        return [
            self._sentence(text, ids[row], found[row], maps, row, wish)
            for row, text in enumerate(texts)
        ]

    def _sentence(
        self,
        text: str,
        ids: list[int],
        found: list[Hypothesis],
        maps: list[AttentionMap],
        row: int,
        wish: Wish,
    ) -> Sentence:
        best, target = found[0], self.tokenizers.target
        sentence = Sentence(
            source=text,
            text=target.decode(best.tokens),
            score=best.score,
            source_tokens=tuple(self.tokenizers.source.pieces(ids)),
            tokens=tuple(target.pieces(best.tokens)),
            alternatives=tuple((target.decode(h.tokens), h.score) for h in found[1:]),
            finished=best.finished,
            hypothesis=best,
        )
        if not (wish.alignment or wish.attention):
            return sentence
        own = tokenized_words(normalize(text), self.tokenizers.source, self.run.source_language)
        other = tokenized_output(best.tokens, target, self.run.target_language)
        spelled = [np.flatnonzero(column).tolist() for column in other.overlap.T]
        return replace(
            sentence,
            source_words=tuple(word.text for word in own.words),
            words=tuple(word.text for word in other.words),
            alignment=self.links(maps, row, own, other),
            confidence=tuple(word_confidence(best, spelled)),
            attention=tuple(_one(m, row, len(ids) + 1, len(best.tokens) + 1) for m in maps)
            if wish.attention
            else (),
        )

    def links(
        self, maps: Iterable[AttentionMap], row: int, own: TokenizedWords, other: TokenizedWords
    ) -> tuple[tuple[int, int], ...]:
        """Word links by the attention that training chose; without one, the last layer's mean."""
        cross = [one for one in maps if one.kind == "cross"]
        if not cross:
            return ()
        chosen = self.run.alignment
        last = max(one.layer for one in cross)
        reading = (
            AlignmentHead(chosen.layer, chosen.head, chosen.shift)
            if chosen
            else AlignmentHead(last, None, False)
        )
        weights = alignment_weights(
            cross,
            reading,
            row,
            target_length=other.num_tokens + 1,
            source_length=own.num_tokens + 1,
        )
        return tuple(sorted(word_links(weights, other, own, mutual=bool(chosen and chosen.mutual))))


def maker_of(run: Run) -> Maker:
    """What views need to know of a run."""
    return Maker(run.source_language, run.target_language, run.alignment)


def _groups(lengths: Sequence[int], settings: SearchOptions, cores: int = 1) -> list[list[int]]:
    """Places of sentences of similar length, as many together as `batch_tokens` allows.

    Many sentences make at least as many groups as there are cores, one of which each core takes.
    """
    width = settings.n_best if settings.sample else settings.beam
    most = settings.batch_tokens
    if len(lengths) >= cores * MANY_SENTENCES:
        most = min(most, -(-(sum(lengths) + len(lengths)) * width // cores))
    groups: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lambda n: lengths[n]):
        full = not groups or (len(groups[-1]) + 1) * (lengths[place] + 1) * width > most
        if full:
            groups.append([])
        groups[-1].append(place)
    return groups[::-1]  # the longest first, so that the last ones to finish are short


def _one(whole_map: AttentionMap, row: int, source: int, target: int) -> AttentionMap:
    """One sentence of a batch's map, without its padding."""
    rows = source if whole_map.kind == "self" else target
    columns = target if whole_map.kind == "causal" else source
    columns = columns if whole_map.over == "keys" else whole_map.weights.shape[-1]
    weights = whole_map.weights[row : row + 1, :, :rows, :columns]
    return replace(whole_map, weights=weights, rows=whole_map.rows[:rows])
