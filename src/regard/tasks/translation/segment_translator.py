"""Translate segments with a loaded model: search in batches, words and links by attention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

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
from regard.attention import AttentionMap, Edit, Overwrite, intervene
from regard.config import Run, SearchOptions
from regard.decoding import Hypothesis, search, word_confidence
from regard.errors import InputError
from regard.folder import SavedModel
from regard.models.batch import Batch, batch_of, source_of
from regard.models.rnn.model import RnnModel
from regard.models.transformer import TransformerModel
from regard.tasks.translation.options import TranslateOptions
from regard.tasks.translation.segments import Segment
from regard.tasks.translation.translation import ModelInfo, Sentence, copied_sentence
from regard.worker_pool import WorkerPool, cores

MANY_SENTENCES = 64  # per core, from which on each core takes whole groups of sentences


class SegmentTranslator:
    """The model of a folder and its tokenizers: translates segments, which fit its length."""

    def __init__(self, saved: SavedModel, threads: int = 0) -> None:
        self.run: Run = saved.run
        self.path: Path = saved.path
        assert isinstance(saved.network, TransformerModel | RnnModel)
        self.network = saved.network
        self.tokenizers = saved.tokenizers
        self.device = next(saved.network.parameters()).device
        self.threads = cores(threads) if self.device.type == "cpu" else 1

    @property
    def info(self) -> ModelInfo:
        """What views need to know about the model."""
        return ModelInfo(self.run.source_language, self.run.target_language, self.run.alignment)

    @property
    def max_source_tokens(self) -> int:
        """The most tokens of a segment; </s> is one more."""
        return self.network.max_length - 1

    def translate_segments(
        self,
        segments: Sequence[Segment],
        options: TranslateOptions,
        seeds: Sequence[int] | None = None,
    ) -> list[Sentence]:
        """The translation of each segment; the segments may be of different texts.

        `seeds` are the numbers that sampling is seeded with; the segments' positions by default.
        """
        sentences = [copied_sentence(segment.text) for segment in segments]
        rows = [row for row, segment in enumerate(segments) if not segment.copied]
        lengths = [len(segments[row].ids) for row in rows]
        groups = [
            [rows[number] for number in group]
            for group in _groups(lengths, options.settings, self.threads)
        ]

        def translate_group(group: list[int]) -> list[Sentence]:
            numbers = group if seeds is None else [seeds[row] for row in group]
            return self._search([segments[row] for row in group], options, numbers)

        if options.edits:  # one by one, on this thread: edits apply to the calling thread only
            groups = [[row] for row in rows]
            done = [[self._edited(segments[row], len(segments), options)] for row in rows]
        elif len(groups) < 2 or self.threads == 1:
            done = list(map(translate_group, groups))
        else:
            with WorkerPool(self.threads) as pool:
                done = pool.map(translate_group, groups)
        for group, translated in zip(groups, done, strict=True):
            for row, sentence in zip(group, translated, strict=True):
                sentences[row] = sentence
        return sentences

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Sentence]:
        """Sentences and given translations of them, with words and links by the model's attention.

        A translation is cut to the model's length; the score is 0.
        """
        encode, room = self.tokenizers.source.encode, self.max_source_tokens
        segments = [Segment(source, "", ids=encode(source)) for source, _ in pairs]
        if any(len(segment.ids) > room for segment in segments):
            raise InputError("each text must be one sentence that fits the model; split it.")
        targets = [self.tokenizers.target.encode(target)[:room] for _, target in pairs]
        maps = self._maps([segment.ids for segment in segments], targets)
        return [
            self._sentence(segment, target, maps, row)
            for row, (segment, target) in enumerate(zip(segments, targets, strict=True))
        ]

    def links(
        self, maps: Iterable[AttentionMap], row: int, source: TokenizedWords, target: TokenizedWords
    ) -> tuple[tuple[int, int], ...]:
        """Word links by the head that training selected; without one, by the last layer's mean."""
        cross = [layer_map for layer_map in maps if layer_map.kind == "cross"]
        if not cross:
            return ()
        chosen = self.run.alignment
        last = max(layer_map.layer for layer_map in cross)
        head = (
            AlignmentHead(chosen.layer, chosen.head, chosen.shift)
            if chosen
            else AlignmentHead(last, None, False)
        )
        weights = alignment_weights(
            cross,
            head,
            row,
            target_length=target.num_tokens + 1,
            source_length=source.num_tokens + 1,
        )
        mutual = bool(chosen and chosen.mutual)
        return tuple(sorted(word_links(weights, target, source, mutual=mutual)))

    def batch(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Batch:
        """Sentences and their translations as the network takes them, cut to its length."""
        batch, room = batch_of(sources, targets), self.network.max_length
        # an output that was cut off at the model's length has no step for </s>
        batch = batch._replace(inputs=batch.inputs[:, :room], labels=batch.labels[:, :room])
        return batch.to(self.device)

    def words(self, sentence: Sentence) -> tuple[TokenizedWords, TokenizedWords]:
        """The words of a translated sentence and of its translation, with their tokens."""
        assert sentence.hypothesis is not None
        source = Segment(sentence.source, "", ids=self.tokenizers.source.encode(sentence.source))
        return self._words(source, sentence.hypothesis.tokens)

    def _search(
        self, segments: Sequence[Segment], options: TranslateOptions, seeds: Sequence[int]
    ) -> list[Sentence]:
        """The translations of one batch of segments."""
        ids = [segment.ids for segment in segments]
        source = source_of(ids).to(self.device)
        start = self.tokenizers.target.encode(options.prefix) if options.prefix else []
        prefix = [start] * len(ids) if start else None
        hypotheses = search(self.network, source, options.settings, prefix=prefix, sample_ids=seeds)
        maps: list[AttentionMap] | None = None
        if options.alignment or options.attention:
            maps = self._maps(ids, [ranked[0].tokens for ranked in hypotheses])
        return [
            self._sentence(segment, ranked[0].tokens, maps, row, ranked, options.attention)
            for row, (segment, ranked) in enumerate(zip(segments, hypotheses, strict=True))
        ]

    def _edited(self, segment: Segment, num_segments: int, options: TranslateOptions) -> Sentence:
        """The translation of a segment with edits of the attention."""
        if num_segments > 1 and any(isinstance(edit, Overwrite) for edit in options.edits):
            raise InputError("a row of weights is of one sentence that fits the model.")
        unused: list[Edit] = []
        try:
            with intervene(self.network, options.edits, unused=unused.append):
                (sentence,) = self._search([segment], options, [0])
        except InputError as error:
            if "NaN" not in str(error):
                raise
            raise InputError(
                "with these edits the model's logits are NaN or infinite; choose smaller ones."
            ) from None
        except (ValueError, TypeError) as error:  # heads or weights that do not fit the model
            raise InputError(str(error)) from None
        return replace(sentence, unused_edits=len(unused))

    def _sentence(
        self,
        segment: Segment,
        tokens: Sequence[int],
        maps: Sequence[AttentionMap] | None,
        row: int,
        hypotheses: Sequence[Hypothesis] = (),
        attention: bool = False,
    ) -> Sentence:
        """A segment and the tokens of its translation; with the batch's maps, words and links."""
        target = self.tokenizers.target
        sentence = Sentence(
            source=segment.text,
            text=target.decode(tokens),
            score=hypotheses[0].score if hypotheses else 0.0,
            source_tokens=tuple(self.tokenizers.source.pieces(segment.ids)),
            tokens=tuple(target.pieces(tokens)),
            alternatives=tuple((target.decode(h.tokens), h.score) for h in hypotheses[1:]),
            finished=not hypotheses or hypotheses[0].finished,
            hypothesis=hypotheses[0] if hypotheses else None,
        )
        if maps is None:
            return sentence
        source_words, words = self._words(segment, tokens)
        confidence: Sequence[float] = ()
        if hypotheses:
            spelled = [np.flatnonzero(column).tolist() for column in words.overlap.T]
            confidence = word_confidence(hypotheses[0], spelled)
        lengths = len(segment.ids) + 1, len(tokens) + 1
        return replace(
            sentence,
            source_words=tuple(word.text for word in source_words.words),
            words=tuple(word.text for word in words.words),
            alignment=self.links(maps, row, source_words, words),
            confidence=tuple(confidence),
            attention=tuple(_row(layer_map, row, *lengths) for layer_map in maps)
            if attention
            else (),
        )

    def _words(
        self, segment: Segment, tokens: Sequence[int]
    ) -> tuple[TokenizedWords, TokenizedWords]:
        run, tokenizers = self.run, self.tokenizers
        return (
            tokenized_words(segment.text, tokenizers.source, run.source_language, ids=segment.ids),
            tokenized_output(tokens, tokenizers.target, run.target_language),
        )

    def _maps(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[AttentionMap]:
        with torch.no_grad():
            return self.network.maps(self.batch(sources, targets))


def _groups(lengths: Sequence[int], settings: SearchOptions, num_cores: int = 1) -> list[list[int]]:
    """Indices of sentences of similar length, as many together as `batch_tokens` allows.

    Many sentences make at least as many groups as there are cores.
    """
    width = settings.n_best if settings.sample else settings.beam
    most = settings.batch_tokens
    if len(lengths) >= num_cores * MANY_SENTENCES:
        most = min(most, -(-(sum(lengths) + len(lengths)) * width // num_cores))
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda n: lengths[n]):
        full = not groups or (len(groups[-1]) + 1) * (lengths[index] + 1) * width > most
        if full:
            groups.append([])
        groups[-1].append(index)
    return groups[::-1]  # the longest first, so that the last ones to finish are short


def _row(batch_map: AttentionMap, row: int, source: int, target: int) -> AttentionMap:
    """The map of one sentence of a batch, without its padding."""
    rows = source if batch_map.kind == "self" else target
    columns = target if batch_map.kind == "causal" else source
    columns = columns if batch_map.over == "keys" else batch_map.weights.shape[-1]
    weights = batch_map.weights[row : row + 1, :, :rows, :columns]
    return replace(batch_map, weights=weights, rows=batch_map.rows[:rows])
