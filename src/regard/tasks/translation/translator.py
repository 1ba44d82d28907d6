"""The translation façade: segment a text, translate the segments, assemble the translation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Unpack, overload

import numpy as np

from regard.alignment import tokenized_output
from regard.attention import Edit
from regard.config import SearchOptions, TransformerSettings
from regard.decoding import alternatives, stream
from regard.errors import InputError
from regard.models.batch import source_of
from regard.tasks.translation.line_windows import MAX_LINES, windows
from regard.tasks.translation.options import (
    SearchKeywords,
    TranslateKeywords,
    TranslateOptions,
    search_settings,
)
from regard.tasks.translation.segment_translator import SegmentTranslator
from regard.tasks.translation.segments import Segment, join_translations, segment_text, split_long
from regard.tasks.translation.translation import Sentence, Translation
from regard.text import is_spaceless


class StreamedText(NamedTuple):
    """The state of a translation that is being streamed.

    sentence  number of the sentence that grew, from 0
    text      that sentence's translation so far, in whole words
    whole     the translation of the whole text so far
    """

    sentence: int
    text: str
    whole: str


class Translator(SegmentTranslator):
    """Translates with the model of a folder."""

    @overload
    def translate(self, text: str, **options: Unpack[TranslateKeywords]) -> Translation: ...

    @overload
    def translate(
        self, text: list[str], **options: Unpack[TranslateKeywords]
    ) -> list[Translation]: ...

    def translate(
        self, text: str | list[str], **options: Unpack[TranslateKeywords]
    ) -> Translation | list[Translation]:
        """The translation of a text, or of each text of a list.

        beam=5, n_best=3, sample=True, …  the search: any field of `SearchOptions`
        settings   all of the search at once; the model's own by default
        prefix     text that the translation of a single sentence begins with
        split      whether text is cut into sentences (True); what is too long always is
        alignment  whether words, links and confidence are returned (True)
        attention  whether the attention maps of all layers and heads are returned (False)
        edits      changes of the attention: `SwitchOff`, `Overwrite`, `ForceAlignment`

        A run of a thousand characters without a space is copied.
        """
        texts = [text] if isinstance(text, str) else list(text)
        translations = self._translate(texts, self.options(**options), 0)
        return translations[0] if isinstance(text, str) else translations

    def translate_lines(
        self,
        lines: Iterable[str | None],
        *,
        first: int = 0,
        max_lines: int = MAX_LINES,
        **options: Unpack[TranslateKeywords],
    ) -> Iterator[list[Translation]]:
        """The translations of any number of lines in order, some at a time as they are done.

        lines      None among them: no other line is ready yet, so those before are translated
        first      number of the first line, from which sampling is seeded
        max_lines  most lines of a window, which is translated at once so that lines of similar
                   length share batches; a window is sized to take a few seconds
        options    those of `translate`; `alignment` is False by default

        The translations are those of `translate`, whatever the windows are.
        """
        options.setdefault("alignment", False)
        chosen = self.options(**options)
        for window in windows(lines, max_lines):
            yield self._translate(window, chosen, first)
            first += len(window)

    def options(
        self,
        *,
        settings: SearchOptions | None = None,
        prefix: str = "",
        split: bool = True,
        alignment: bool = True,
        attention: bool = False,
        edits: Sequence[Edit] = (),
        **search: Unpack[SearchKeywords],
    ) -> TranslateOptions:
        """The options of `translate` as one object."""
        chosen = search_settings(settings or self.run.decoding, **search)
        return TranslateOptions(chosen, prefix, split, alignment, attention, tuple(edits))

    def segment(self, text: str, *, split: bool = True, prefix: str = "") -> list[Segment]:
        """The segments of a text, which are translated one by one; just one with a prefix."""
        language, tokenizer = self.run.source_language, self.tokenizers.source
        if not prefix:
            return segment_text(text, language, tokenizer, self.max_source_tokens, split=split)
        segments = split_long(text, language, tokenizer, self.max_source_tokens)
        if len(segments) != 1:
            raise InputError("prefix is for one sentence that fits the model; give it by itself.")
        return segments

    def assemble(
        self, text: str, segments: Sequence[Segment], sentences: Sequence[Sentence]
    ) -> Translation:
        """The translation of a text from those of its segments, with the text's line breaks.

        Where the sentences have alternatives, the next best translations of the whole text too.
        """
        end = "\n" * text[len(text.rstrip()) :].count("\n")
        distinct: dict[str, Translation] = {}
        for rank in range(1 + max((len(s.alternatives) for s in sentences), default=0)):
            ranked = tuple(sentence.ranked(rank) for sentence in sentences)
            texts = [sentence.text for sentence in ranked]
            joined = join_translations(segments, texts, self.run.target_language) + end
            distinct.setdefault(joined, Translation(joined, text, ranked, self.info))
        best, *others = distinct.values()
        return replace(best, alternatives=tuple(others))

    def stream(self, text: str, *, prefix: str = "", split: bool = True) -> Iterator[StreamedText]:
        """The translation of a text while it is written, word by word, by greedy search.

        Errors are raised at once; a word is computed when the iterator is advanced.
        """
        return self._stream(self.segment(text, split=split, prefix=prefix), prefix)

    def alternatives(
        self, text: str, translation: str, word: int, count: int = 5
    ) -> list[tuple[str, float]]:
        """Translations that continue differently from a word on, with that choice's probability."""
        source_ids, ids = self.encode_pair(text, translation)
        target = tokenized_output(ids, self.tokenizers.target, self.run.target_language)
        if not 0 <= word < len(target.words):
            raise InputError(f"word {word} is not in {translation!r}; count from 0.")
        position = int(np.flatnonzero(target.overlap[:, word])[0])
        source = source_of([source_ids]).to(self.device)
        choices = alternatives(
            self.network, source, ids, position, count, options=SearchOptions(beam=1)
        )  # fmt: skip
        texts = []
        for choice in choices:
            tokens = ids[:position] if choice.continuation is None else choice.continuation.tokens
            texts.append((self.tokenizers.target.decode(tokens), choice.probability))
        return texts

    def encode_pair(self, text: str, translation: str) -> tuple[list[int], list[int]]:
        """The tokens of a sentence and its translation; an error if the model cannot take them."""
        source = self.tokenizers.source.encode(text)
        if not 0 < len(source) <= self.max_source_tokens:
            raise InputError("the text must be one sentence that fits the model; give less text.")
        target = self.tokenizers.target.encode(translation)
        if len(target) > self.network.max_length:
            raise InputError("the translation is longer than the model can write; give less text.")
        return source, target

    def estimate_map_size(self, text: str) -> int:
        """The approximate number of weights of all maps, for a translation as long as the text."""
        model = self.run.model
        length = len(self.tokenizers.source.encode(text)) + 1
        at_once = min(length, self.network.max_length)
        if not isinstance(model, TransformerSettings):
            return length * at_once
        return (
            model.num_heads
            * (model.num_encoder_layers + 2 * model.num_decoder_layers)
            * length
            * at_once
        )

    def spell(self, text: str) -> str:
        """Target text as the model writes it: unknown words are written differently."""
        return self.tokenizers.target.decode(self.tokenizers.target.encode(text))

    def _translate(
        self, texts: Sequence[str], options: TranslateOptions, first: int
    ) -> list[Translation]:
        """The translations of texts, the first of which is number `first`."""
        cut = [self.segment(text, split=options.split, prefix=options.prefix) for text in texts]
        segments = [segment for segments in cut for segment in segments]
        seeds = [
            first + number + (position << 32)
            for number, segments in enumerate(cut)
            for position in range(len(segments))
        ]
        sentences = iter(self.translate_segments(segments, options, seeds))
        return [
            self.assemble(text, segments, [next(sentences) for _ in segments])
            for text, segments in zip(texts, cut, strict=True)
        ]

    def _stream(self, segments: Sequence[Segment], prefix: str) -> Iterator[StreamedText]:
        texts: list[str] = []
        for number, segment in enumerate(segments):
            texts.append("")
            for text in self._growing(segment, prefix):
                texts[-1] = text
                joined = join_translations(segments[: number + 1], texts, self.run.target_language)
                yield StreamedText(number, text, joined)

    def _growing(self, segment: Segment, prefix: str) -> Iterator[str]:
        """The translation of a segment, each time with one more word."""
        if segment.copied:
            yield segment.text
            return
        target = self.tokenizers.target
        settings = replace(self.run.decoding, beam=1, n_best=1, sample=False)
        source = source_of([segment.ids]).to(self.device)
        spaceless = is_spaceless(self.run.target_language)
        ids: list[int] = []
        shown = ""
        begin = target.encode(prefix) if prefix else []
        for step in stream(self.network, source, settings, prefix=begin):
            if step.finished:
                break
            ids.append(step.token)
            words = _whole_words(target.decode(ids), spaceless)
            if words != shown:
                shown = words
                yield shown
        if (final := target.decode(ids)) != shown:
            yield final


def _whole_words(text: str, spaceless: bool) -> str:
    """The part that will not change any more: all but the last word or unfinished character.

    >>> _whole_words("Le chat dor", False), _whole_words("猫睡", True)
    ('Le chat', '猫睡')
    """
    return text.rstrip("\ufffd") if spaceless else text.rpartition(" ")[0]
