"""The translation façade: segment a text, translate the segments, assemble the translation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, Unpack, overload

from regard.config import Run, SearchOptions, TransformerSettings
from regard.config.search_keywords import SearchKeywords
from regard.errors import InputError
from regard.folder import SavedModel
from regard.tasks.translation.batching import MAX_LINES, overlapped, windows
from regard.tasks.translation.engine_search import begin_ctranslate2
from regard.tasks.translation.glossary import glossary_terms
from regard.tasks.translation.translation import (
    ModelInfo,
    OptionKeywords,
    Sentence,
    TranslateOptions,
    Translation,
    copied_sentence,
)
from regard.tasks.translation.translation_model import TranslationModel
from regard.tasks.translation.wording.recall import Recall, check_threshold, recalled, with_matches
from regard.tasks.translation.wording.second_search import protected
from regard.tasks.translation.wording.terms import put_terms
from regard.text.language_names import parse_direction
from regard.text.masking import copyable_names
from regard.text.segments import (
    Segment,
    join_translations,
    segment_protected,
    segment_text,
    split_long,
)
from regard.text.tags import language_tag, tag_ids, tag_token

if TYPE_CHECKING:
    from regard.attention import Edit
    from regard.corpus.memory import MemoryMatch, TranslationMemory
    from regard.tasks.translation.torch_search import TorchSearch


def find_direction(run: Run, to: str) -> tuple[str, str]:
    """Source and target language of a model's direction, by its target or as a pair."""
    known = run.directions
    for source, target in known:
        if to in (target, f"{source}-{target}"):
            return source, target
    parsed = parse_direction(to) if to.strip("-") else ""
    if known and parsed != to:  # a name, as in German
        return find_direction(run, parsed)
    if not known:
        return "", ""
    listed = ", ".join(f"{source}-{target}" for source, target in known)
    raise InputError(f"the model does not translate into {to}; it has {listed}.")


class StreamedText(NamedTuple):
    """The state of a translation that is being streamed.

    sentence  number of the sentence that grew, from 0
    text      that sentence's translation so far, in whole words
    whole     the translation of the whole text so far
    """

    sentence: int
    text: str
    whole: str


class Translator(TranslationModel):
    """Translates with the model of a folder."""

    def __init__(self, saved: SavedModel, threads: int = 0) -> None:
        super().__init__(saved, threads)
        self._bound: dict[tuple[str, str], Translator] = {}

    @overload
    def translate(
        self, text: str, *, to: str = "", tag: str = "", **options: Unpack[OptionKeywords]
    ) -> Translation: ...

    @overload
    def translate(
        self, text: list[str], *, to: str = "", tag: str = "", **options: Unpack[OptionKeywords]
    ) -> list[Translation]: ...

    def translate(
        self,
        text: str | list[str],
        *,
        to: str = "",
        tag: str = "",
        **options: Unpack[OptionKeywords],
    ) -> Translation | list[Translation]:
        """The translation of a text, or of each text of a list.

        to, tag    target language and kind of text, for a model that has tags; see `into`
        options    those of `OptionKeywords`: prefix, forbid, glossary, protect, memory, split,
                   alignment, attention, edits …; and any field of `SearchOptions`: beam=5,
                   n_best=3, sample=True …

        A run of a thousand characters without a space is copied.
        """
        texts = [text] if isinstance(text, str) else list(text)
        bound = self.into(to, tag=tag)
        translations = bound._translate(texts, bound.options(**options), 0)
        return translations[0] if isinstance(text, str) else translations

    def into(self, to: str = "", *, tag: str = "") -> Translator:
        """The translator for a target language, or for a kind of text; it shares the network.

        to   target language of a model of several, as in "de"; or a pair, as in "en-de"
        tag  name of a tag that the model was trained with, as in "news"
        """
        if not (to or tag):
            return self
        origin = self._origin or self
        key = to or "-".join((self.info.source_language, self.info.target_language)), tag
        if key not in origin._bound:
            origin._bound[key] = origin._bind(*key)
        return origin._bound[key]

    def _bind(self, to: str, tag: str) -> Translator:
        direction = find_direction(self.run, to)
        language = (language_tag(direction[1]),) if len(self.run.target_languages) > 1 else ()
        self.prepare_engine()  # which the translators share
        bound = copy(self)
        bound._origin, bound.info = self, ModelInfo(*direction, self.run.alignment)
        bound.tags = (*language, tag_token(tag)) if tag else language
        tag_ids(self.tokenizers.source.tags, bound.tags)  # an error now rather than later
        return bound

    @property
    def torch_search(self) -> TorchSearch:
        """What translates with the network itself."""
        from regard.tasks.translation.torch_search import TorchSearch

        return TorchSearch(self)

    @property
    def own(self) -> TorchSearch:
        """Deprecated name of `torch_search`."""
        return self.torch_search

    def translate_lines(
        self,
        lines: Iterable[str | None],
        *,
        first: int = 0,
        max_lines: int = MAX_LINES,
        max_characters: int | None = None,
        to: str = "",
        tag: str = "",
        **options: Unpack[OptionKeywords],
    ) -> Iterator[list[Translation]]:
        """The translations of any number of lines in order, some at a time as they are done.

        lines      None among them: no other line is ready yet, so those before are translated
        first      number of the first line, from which sampling is seeded
        max_lines  most lines of a window, which is translated at once so that lines of similar
                   length share batches; a window is sized to take a few seconds
        max_characters  characters of every window, whatever time it takes
        options    those of `translate`; `alignment` is False by default

        The translations are those of `translate`, whatever the windows are.
        """
        options.setdefault("alignment", False)
        bound = self.into(to, tag=tag)
        chosen = bound.options(**options)
        begin = partial(bound._begin, options=chosen)
        groups = windows(lines, max_lines, max_characters)
        yield from overlapped(groups, begin, first, max_lines)

    def options(
        self,
        *,
        settings: SearchOptions | None = None,
        prefix: str | Sequence[int] = "",
        forbid: Sequence[str] = (),
        glossary: Mapping[str, str] | None = None,
        protect: bool = False,
        memory: TranslationMemory | None = None,
        fuzzy_threshold: float = 1.0,
        split: bool = True,
        alignment: bool = True,
        attention: bool = False,
        edits: Sequence[Edit] = (),
        **search: Unpack[SearchKeywords],
    ) -> TranslateOptions:
        """The options of `translate` as one object."""
        chosen = settings or self.run.decoding
        if protect and search.get("sample", chosen.sample):
            alignment = True  # by which placeholders are put where they belong
        itself = bool(prefix or attention or edits)  # which are about the model's own tokens
        recall = None
        if memory is not None and not itself:
            recall = Recall(memory, check_threshold(fuzzy_threshold), show=alignment)
        return TranslateOptions(
            chosen.changed(**search),
            prefix if isinstance(prefix, str) else tuple(prefix),
            split,
            alignment,
            attention,
            tuple(edits),
            (forbid,) if isinstance(forbid, str) else tuple(forbid),
            glossary_terms(glossary or {}),
            protect and not itself,
            recall,
        )

    def segment(
        self,
        text: str,
        *,
        split: bool = True,
        prefix: str | Sequence[int] = "",
        protect: bool = False,
    ) -> list[Segment]:
        """The segments of a text, which are translated one by one; just one with a prefix.

        With `protect` they have stand-ins in place of placeholders.
        """
        language, tokenizer = self.info.source_language, self.tokenizers.source
        if protect:
            segments = segment_protected(
                text, language, tokenizer, self.max_source_tokens, self._names, split=split
            )
        elif not prefix:
            segments = segment_text(text, language, tokenizer, self.max_source_tokens, split=split)
        else:
            segments = split_long(text, language, tokenizer, self.max_source_tokens)
            if len(segments) != 1:
                raise InputError(
                    "prefix is for one sentence that fits the model; give it by itself."
                )
        if not (tags := self.source_tags):
            return segments
        return [s if s.copied else s._replace(ids=[*tags, *s.ids]) for s in segments]

    def segment_with(self, text: str, options: TranslateOptions) -> list[Segment]:
        """The segments of a text by the options of its translation; one if the memory has it."""
        recall = options.recall
        if recall is not None and recall.memory.exact(text) is not None:
            return [Segment(text.strip(), text[: len(text) - len(text.lstrip())])]
        return self.segment(
            text, split=options.split, prefix=options.prefix, protect=options.protect
        )

    def tokens_at_once(self, settings: SearchOptions) -> int | None:
        """Source tokens that CTranslate2 searches at once; None if torch searches."""
        engine = self.engine.engine
        if engine is None or not engine.can_search(settings):
            return None
        return engine.tokens_at_once(settings)

    def searches_fast(self, settings: SearchOptions) -> bool:
        """Whether the fastest engine that this model has can search with these settings."""
        engine = self.engine.engine
        return engine is None or engine.can_search(settings)

    def estimate_map_size(self, text: str, *, split: bool = True) -> int:
        """The approximate number of weights of all maps, for a translation as long as the text."""
        model = self.run.model
        lengths = [len(segment.ids) + 1 for segment in self.segment(text, split=split)]
        squares = sum(length * length for length in lengths)
        if not isinstance(model, TransformerSettings):
            return squares
        return model.num_heads * (model.num_encoder_layers + 2 * model.num_decoder_layers) * squares

    def estimate_steps(self, segment: Segment, options: TranslateOptions) -> int:
        """The most steps that torch takes for a segment, one for each hypothesis."""
        if segment.copied:
            return 0
        length = 2 * len(segment.ids) + 10
        width = max(options.settings.beam, options.settings.n_best)
        return length * (width + self.torch_search.num_required_tokens(segment, options))

    def begin_segments(
        self,
        segments: Sequence[Segment],
        options: TranslateOptions,
        seeds: Sequence[int] | None = None,
    ) -> Callable[[], list[Sentence]]:
        """Have CTranslate2 search what it can, and return what finishes the translations.

        The segments may be of different texts. `seeds` are the numbers that sampling is seeded
        with; the segments' positions by default.
        """
        known = {row: copied_sentence(s.text) for row, s in enumerate(segments) if s.copied}
        shown: Mapping[int, tuple[MemoryMatch, ...]] = {}
        if options.recall is not None:
            found, shown = recalled(self, segments, options.recall, options.alignment)
            known |= found
        rows = [row for row in range(len(segments)) if row not in known]
        searched = None if options.edits else begin_ctranslate2(self, segments, rows, options)

        def finish() -> list[Sentence]:
            if options.edits:  # one by one, on this thread: edits apply to the calling thread only
                done = {
                    row: self.torch_search.translate_edited(segments[row], len(segments), options)
                    for row in rows
                }
            else:
                done = searched() if searched is not None else {}
                if rest := [row for row in rows if row not in done]:
                    done |= self.torch_search.translate(segments, rest, options, seeds)
            if options.glossary:
                done = put_terms(self, done)
            if options.protect:
                done = protected(self, segments, done, options)
            sentences = known | with_matches(done, shown)
            return [sentences[row] for row in range(len(segments))]

        return finish

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return copyable_names(self.tokenizers.source, self.tokenizers.target)

    def assemble(
        self, text: str, segments: Sequence[Segment], sentences: Sequence[Sentence]
    ) -> Translation:
        """The translation of a text from those of its segments, with the text's line breaks.

        Where the sentences have alternatives, the next best translations of the whole text too.
        """
        end = "\n" * text[len(text.rstrip()) :].count("\n")
        distinct: dict[str, Translation] = {}
        for rank in range(1 + max([len(s.alternatives) for s in sentences], default=0)):
            ranked = tuple([s.ranked(rank) for s in sentences] if rank else sentences)
            texts = [sentence.text for sentence in ranked]
            joined = join_translations(segments, texts, self.info.target_language) + end
            distinct.setdefault(joined, Translation(joined, text, ranked, self.info))
        best, *others = distinct.values()
        return replace(best, alternatives=tuple(others)) if others else best

    def stream(self, text: str, *, prefix: str = "", split: bool = True) -> Iterator[StreamedText]:
        """The translation of a text while it is written, word by word, by greedy search.

        Errors are raised at once; a word is computed when the iterator is advanced.
        """
        return self._stream(self.segment(text, split=split, prefix=prefix), prefix)

    def _translate(
        self, texts: Sequence[str], options: TranslateOptions, first: int
    ) -> list[Translation]:
        """The translations of texts, the first of which is number `first`."""
        return self._begin(texts, options, first)()

    def _begin(
        self, texts: Sequence[str], options: TranslateOptions, first: int
    ) -> Callable[[], list[Translation]]:
        """Begin to search, and return what finishes the translations of texts."""
        cut = [self.segment_with(text, options) for text in texts]
        segments = [segment for segments in cut for segment in segments]
        seeds = [
            first + number + (position << 32)
            for number, segments in enumerate(cut)
            for position in range(len(segments))
        ]
        finish = self.begin_segments(segments, options, seeds)

        def assembled() -> list[Translation]:
            sentences = iter(finish())
            return [
                self.assemble(text, segments, [next(sentences) for _ in segments])
                for text, segments in zip(texts, cut, strict=True)
            ]

        return assembled

    def _stream(self, segments: Sequence[Segment], prefix: str) -> Iterator[StreamedText]:
        texts: list[str] = []
        for number, segment in enumerate(segments):
            texts.append("")
            for text in self.torch_search.stream(segment, prefix):
                texts[-1] = text
                joined = join_translations(segments[: number + 1], texts, self.info.target_language)
                yield StreamedText(number, text, joined)
