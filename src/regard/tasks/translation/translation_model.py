"""A translation network with its tokenizers: words, links and alternatives of sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from regard.alignment import (
    AlignmentHead,
    TokenizedWords,
    alignment_weights,
    extract_links,
    pool,
    tokenized_output,
    tokenized_words,
)
from regard.alignment.tokenized_words import Array
from regard.config import SearchOptions
from regard.decoding import Hypothesis
from regard.errors import InputError
from regard.folder import LoadedModel, SavedModel
from regard.tasks.translation.engine import (
    EngineChoice,
    check_names,
    choose_engine,
    open_converted,
)
from regard.tasks.translation.glossary import TargetLexicon
from regard.tasks.translation.translation import ModelInfo, Sentence
from regard.tasks.translation.word_fields import TranslatedTokens, word_fields
from regard.text.segments import Segment
from regard.text.tags import tag_ids, tagged_language

if TYPE_CHECKING:
    from regard.attention import AttentionMap
    from regard.models.batch import Batch


class Explanation(NamedTuple):
    """The attention of a sentence.

    weights  (T, S) of the head for alignment, T target and S source tokens; None without attention
    maps     of all layers and heads, if they were requested
    """

    weights: Array | None
    maps: tuple[AttentionMap, ...] = ()


class TranslationModel(LoadedModel):
    """The network and tokenizers of a model folder."""

    def __init__(self, saved: SavedModel, threads: int = 0) -> None:
        super().__init__(saved, threads)
        languages = saved.run.source_language, saved.run.target_language
        self.info = ModelInfo(*languages, saved.run.alignment)
        self.tags: tuple[str, ...] = ()  # before every source sentence; see `Translator.into`
        self._origin: Self | None = None  # the translator of all languages that this one is of
        self._engine_names = ("torch", "auto")  # `load` chooses: the folder must hold this network
        self._engine: EngineChoice | None = None

    @property
    def max_length(self) -> int:
        """Most tokens of a sentence, </s> included; the least of an ensemble's."""
        if self.saved.num_networks > 1:
            return int(self.network.max_length)
        return self.run.model.max_length

    @property
    def max_source_tokens(self) -> int:
        """Most tokens of a source sentence, without tags and </s>."""
        return self.max_length - 1 - len(self.tags)

    @property
    def source_tags(self) -> list[int]:
        """The ids of the tags before every source sentence."""
        targets = self._target_languages
        if len(targets) > 1 and not any(map(tagged_language, self.tags)):
            raise InputError(
                f"{self.path}: the model translates into {', '.join(targets)}; choose one with "
                f"--to {targets[0]} (in Python, to={targets[0]!r})."
            )
        return tag_ids(self.tokenizers.source.tags, self.tags) if self.tags else []

    @cached_property
    def _target_languages(self) -> list[str]:
        return self.run.target_languages

    def encode_source(self, text: str) -> list[int]:
        """The ids of the tags and of a source sentence."""
        return [*self.source_tags, *self.tokenizers.source.encode(text)]

    def use_engine(self, engine: str = "auto", precision: str = "auto") -> None:
        """Choose what searches: CTranslate2 (in int8 or fp32) or our own engine (torch).

        "auto" is CTranslate2 wherever it can run the model and has the options of a search.
        """
        check_names(engine, precision)
        self._engine_names = engine, precision
        convertible = engine != "torch"
        self._engine = open_converted(self.saved, self.threads, precision) if convertible else None
        if self._engine is not None:
            return
        if engine == "ctranslate2":
            self.prepare_engine()  # an error now rather than later
        else:
            _ = self.network

    def prepare_engine(self) -> EngineChoice:
        """Convert the model now rather than when it first translates."""
        return self.engine

    @property
    def engine(self) -> EngineChoice:
        """The engine that searches; the model is converted on first use."""
        if self._engine is None:
            self._engine = choose_engine(self.saved, self.threads, *self._engine_names)
        return self._engine

    @cached_property
    def lexicon(self) -> TargetLexicon:
        """Words and phrases in the tokens of the target language."""
        return TargetLexicon(self.tokenizers.target)

    @property
    def step_model(self) -> Any:
        """What our own engine runs: the prepared network, or the network while it is observed."""
        from regard.attention.inspection import observe

        return self.network if observe.observers() else self._prepared

    @cached_property
    def _prepared(self) -> Any:
        if self._origin is not None:
            return self._origin._prepared
        from regard.models.fast import for_inference

        return for_inference(self.network)

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Sentence]:
        """Sentences and given translations of them, with words and links by the model's attention.

        A translation is cut to the model's length; the score is 0.
        """
        room = self.max_length - 1
        segments = [Segment(source, "", ids=self.encode_source(source)) for source, _ in pairs]
        if any(len(segment.ids) > room for segment in segments):
            raise InputError("each text must be one sentence that fits the model; split it.")
        targets = [self.tokenizers.target.encode(target)[:room] for _, target in pairs]
        maps = self.maps([segment.ids for segment in segments], targets)
        return [
            self.sentence(
                segment, target, explanation=self.explanation(maps, row, segment, target, False)
            )
            for row, (segment, target) in enumerate(zip(segments, targets, strict=True))
        ]

    def alternatives(
        self, text: str, translation: str, word: int, count: int = 5
    ) -> list[tuple[str, float]]:
        """Translations that continue differently from a word on, with that choice's probability."""
        from regard.decoding import alternatives
        from regard.models.batch import source_of

        source_ids, ids = self.encode_pair(text, translation)
        target = tokenized_output(ids, self.tokenizers.target, self.info.target_language)
        if not 0 <= word < len(target.words):
            raise InputError(f"word {word} is not in {translation!r}; count from 0.")
        position = target.tokens[word][0]
        source = source_of([source_ids]).to(self.device)
        choices = alternatives(
            self.network, source, ids, position, count, options=SearchOptions(beam=1)
        )
        texts = []
        for choice in choices:
            tokens = ids[:position] if choice.continuation is None else choice.continuation.tokens
            texts.append((self.tokenizers.target.decode(tokens), choice.probability))
        return texts

    def encode_pair(self, text: str, translation: str) -> tuple[list[int], list[int]]:
        """The tokens of a sentence and its translation; an error if the model cannot take them."""
        source = self.encode_source(text)
        if not len(self.tags) < len(source) < self.max_length:
            raise InputError("the text must be one sentence that fits the model; give less text.")
        target = self.tokenizers.target.encode(translation)
        if len(target) > self.max_length:
            raise InputError("the translation is longer than the model can write; give less text.")
        return source, target

    def spell(self, text: str) -> str:
        """Target text as the model writes it: unknown words are written differently."""
        return self.tokenizers.target.decode(self.tokenizers.target.encode(text))

    def word_weights(
        self, maps: Iterable[AttentionMap], row: int, source: TokenizedWords, target: TokenizedWords
    ) -> Array | None:
        """(target words, source words): the attention read as alignment, None without any.

        By the head that training selected; without one, by the last layer's mean.
        """
        lengths = target.num_tokens + 1, source.num_tokens + 1
        weights = self.token_weights(maps, row, *lengths)
        return None if weights is None else pool(weights, target, source)

    def links(
        self, maps: Iterable[AttentionMap], row: int, source: TokenizedWords, target: TokenizedWords
    ) -> tuple[tuple[int, int], ...]:
        """Word links by the attention of `word_weights`."""
        return self._links(self.word_weights(maps, row, source, target))

    def batch(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Batch:
        """Sentences and their translations as the network takes them, cut to its length."""
        from regard.models.batch import batch_of

        batch, room = batch_of(sources, targets), self.max_length
        # an output that was cut off at the model's length has no step for </s>
        batch = batch._replace(inputs=batch.inputs[:, :room], labels=batch.labels[:, :room])
        return batch.to(self.device)

    def words(self, sentence: Sentence) -> tuple[TokenizedWords, TokenizedWords]:
        """The words of a translated sentence and of its translation, with their tokens."""
        assert sentence.hypothesis is not None
        source = Segment(sentence.source, "", ids=self.encode_source(sentence.source))
        return self.segment_words(source, sentence.hypothesis.tokens)

    def sentence(
        self,
        segment: Segment,
        tokens: Sequence[int],
        hypotheses: Sequence[Hypothesis] = (),
        explanation: Explanation | None = None,
    ) -> Sentence:
        """A segment and the tokens of its translation; with an explanation, words and links."""
        source, target = self.tokenizers.source, self.tokenizers.target
        words: dict[str, Any] = {}
        if explanation is not None:
            hypothesis = hypotheses[0] if hypotheses else None
            given = TranslatedTokens(
                segment, tokens, target.decode(tokens), hypothesis, explanation.weights
            )
            (words,) = self.word_fields([given])
            words["attention"] = explanation.maps
        return Sentence(
            source=segment.text,
            text=target.decode(tokens),
            score=hypotheses[0].score if hypotheses else 0.0,
            source_tokens=tuple(source.pieces(segment.ids)),
            tokens=tuple(target.pieces(tokens)),
            alternatives=tuple((target.decode(h.tokens), h.score) for h in hypotheses[1:]),
            finished=not hypotheses or hypotheses[0].finished,
            hypothesis=hypotheses[0] if hypotheses else None,
            **words,
        )

    def word_fields(
        self, given: Sequence[TranslatedTokens], *, shift: bool = False
    ) -> Iterator[dict[str, Any]]:
        """The fields of sentences that are about their words; see `word_fields`."""
        return word_fields(given, self.tokenizers, self.info, self.run.cleaning, shift=shift)

    def _links(self, weights: Array | None) -> tuple[tuple[int, int], ...]:
        mutual = bool(self.run.alignment and self.run.alignment.mutual)
        return () if weights is None else tuple(sorted(extract_links(weights, mutual=mutual)))

    def segment_words(
        self, segment: Segment, tokens: Sequence[int]
    ) -> tuple[TokenizedWords, TokenizedWords]:
        """The words of a segment and of the tokens of its translation."""
        info, tokenizers = self.info, self.tokenizers
        return (
            tokenized_words(segment.text, tokenizers.source, info.source_language, ids=segment.ids),
            tokenized_output(tokens, tokenizers.target, info.target_language),
        )

    def maps(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[AttentionMap]:
        """The maps of all layers and heads, by our own forward pass."""
        import torch

        with torch.no_grad():
            maps: list[AttentionMap] = self.step_model.maps(self.batch(sources, targets))
        return maps

    def token_weights(
        self, maps: Iterable[AttentionMap], row: int, target_length: int, source_length: int
    ) -> Array | None:
        """(T, S): the maps' weights of the head for alignment, None without any; EOS counts."""
        cross = [layer_map for layer_map in maps if layer_map.kind == "cross"]
        if not cross:
            return None
        chosen = self.run.alignment
        last = max(layer_map.layer for layer_map in cross)
        head = (
            AlignmentHead(chosen.layer, chosen.head, chosen.shift)
            if chosen
            else AlignmentHead(last, None, False)
        )
        return alignment_weights(
            cross, head, row, target_length=target_length, source_length=source_length
        )

    def explanation(
        self,
        maps: Sequence[AttentionMap],
        row: int,
        segment: Segment,
        tokens: Sequence[int],
        attention: bool,
    ) -> Explanation:
        """What a batch's maps say about one of its sentences."""
        target, source = len(tokens) + 1, len(segment.ids) + 1
        own = tuple(
            sentence_map(m, row, source, target) for m in maps if attention or m.kind == "cross"
        )
        weights = self.token_weights(own, 0, target, source)
        return Explanation(weights, own if attention else ())


def sentence_map(batch_map: AttentionMap, row: int, source: int, target: int) -> AttentionMap:
    """The map of one sentence of a batch, without its padding; lengths count EOS."""
    from regard.attention import AttentionMap

    weights = batch_map.weights
    _, num_heads, num_rows, num_columns = weights.shape
    rows = min(source if batch_map.kind == "self" else target, num_rows)
    if batch_map.over == "keys":
        num_columns = min(target if batch_map.kind == "causal" else source, num_columns)
    # one view instead of three, as there are many maps
    own = weights.as_strided(
        (1, num_heads, rows, num_columns),
        weights.stride(),
        weights.storage_offset() + row * weights.stride(0),
    )
    return AttentionMap(
        own,
        batch_map.kind,
        batch_map.layer,
        batch_map.heads,
        batch_map.rows[:rows],
        batch_map.module,
        batch_map.over,
    )
