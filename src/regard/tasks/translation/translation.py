"""How texts are translated, and what a translator returns: the text, and what explains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.config import AlignmentSettings, SearchOptions
from regard.config.search_keywords import SearchKeywords
from regard.decoding import Hypothesis
from regard.tasks.translation.checks import QualityFlag, flag_notes
from regard.tasks.translation.glossary import Term
from regard.tasks.translation.wording.warning import TranslationWarning

if TYPE_CHECKING:
    from regard.attention import AttentionMap, Edit
    from regard.corpus.memory import MemoryMatch, TranslationMemory
    from regard.tasks.translation.wording.recall import Recall


class OptionKeywords(SearchKeywords, total=False):
    """What `Translator.translate` takes besides the text, and the fields of `SearchOptions`."""

    settings: SearchOptions | None
    """All of the search at once; the model's own by default."""
    prefix: str | Sequence[int]
    """What the translation must begin with. Of a single sentence: text, or the ids of its tokens;
    after </s> nothing is added."""
    forbid: Sequence[str]
    """Words that are not written. Words or phrases, in upper or lower case."""
    glossary: Mapping[str, str]
    """Terms and their translations. Where a sentence has a term, its translation has the given one,
    or `missing_terms` says that it has not."""
    protect: bool
    """Whether placeholders, addresses and numbers are kept, or warned of. Placeholders are %s,
    {name} or <0/>; paths and code are kept too; what must be checked is in `warnings` (False)."""
    memory: TranslationMemory | None
    """A `TranslationMemory` (`regard.corpus.memory`): a text or sentence that it has is translated
    as there; similar ones are `matches` of the sentence."""
    fuzzy_threshold: float
    """Score from which similar sentences are used as well, with a warning (1)."""
    split: bool
    """Whether the text is cut into sentences. What is too long always is (True)."""
    alignment: bool
    """Whether words, links and confidence are returned (True)."""
    attention: bool
    """Whether the attention maps of all layers and heads are returned (False)."""
    edits: Sequence[Edit]
    """Changes of the attention: `SwitchOff`, `Overwrite`, `ForceAlignment`."""


class TranslateKeywords(OptionKeywords, total=False):
    """What `Translator.translate` takes besides the text; see `Translator.into`."""

    to: str
    tag: str


@dataclass(frozen=True)
class TranslateOptions:
    """How texts are translated; segments of equal options can share a batch.

    settings   the search
    prefix     what the translation of a single sentence begins with: text, or ids of tokens
    forbid     words or phrases that are not written
    glossary   terms and the translations that they must have
    protect    whether placeholders, addresses, code and numbers are kept, or flagged
    recall     a memory of translations, and which of its matches are used
    split      whether a text is cut into sentences; what exceeds the model's input always is
    alignment  whether words, their links and their confidence are returned
    attention  whether the attention maps of all layers and heads are returned
    edits      changes of the attention (`regard.attention.intervene`)
    """

    settings: SearchOptions
    prefix: str | tuple[int, ...] = ""
    split: bool = True
    alignment: bool = True
    attention: bool = False
    edits: tuple[Edit, ...] = ()
    forbid: tuple[str, ...] = ()
    glossary: tuple[Term, ...] = ()
    protect: bool = False
    recall: Recall | None = None


Link = tuple[int, int]


class ModelInfo(NamedTuple):
    """The facts about a model that views need, named as in a `Run`."""

    source_language: str = ""
    target_language: str = ""
    alignment: AlignmentSettings | None = None


@dataclass(frozen=True, eq=False)
class Sentence:
    """One sentence and its translation.

    source, text          the sentence and its translation
    score                 log-probability by length, as the search compares it
    source_tokens, tokens readable tokens of both, without </s>
    source_words, words   words of both
    alignment             word links (source word, target word)
    confidence            of each target word, from 0 to 1
    attention             maps of every layer and head, if requested, for this sentence only
    alternatives          other hypotheses and their scores, best first, if several were requested
    finished              False if the output was cut off at its maximum length
    hypothesis            token ids and their log-probabilities; None if the source was copied
    unused_edits          number of edits that changed no attention
    flags                 signs that something is left out or said twice, with the words
    missing_terms         terms of the glossary whose translation the model could not write
    warnings              what must be checked: placeholders, numbers, terms, uses of a memory
    matches               sentences of the memory that equal or resemble this one, best first
    """

    source: str
    text: str
    score: float
    source_tokens: tuple[str, ...]
    tokens: tuple[str, ...]
    source_words: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    alignment: tuple[Link, ...] = ()
    confidence: tuple[float, ...] = ()
    attention: tuple[AttentionMap, ...] = ()
    alternatives: tuple[tuple[str, float], ...] = ()
    finished: bool = True
    hypothesis: Hypothesis | None = field(default=None, repr=False)
    unused_edits: int = 0
    flags: tuple[QualityFlag, ...] = ()
    missing_terms: tuple[Term, ...] = ()
    warnings: tuple[TranslationWarning, ...] = ()
    matches: tuple[MemoryMatch, ...] = ()

    def ranked(self, rank: int) -> Sentence:
        """The sentence with its hypothesis of a rank, without words; rank 0 is the best.

        Where there are fewer hypotheses, the best.
        """
        if not 0 < rank <= len(self.alternatives):
            return self
        text, score = self.alternatives[rank - 1]
        return Sentence(self.source, text, score, (), ())

    def annotated(self, **notes: Any) -> Sentence:
        """The sentence with other `warnings` or `matches`, which are not about its words."""
        return replace(self, **notes)

    def as_dict(self) -> dict[str, Any]:
        """The sentence as JSON has it, without the maps."""
        return {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            "tokens": list(self.tokens),
            "source_words": list(self.source_words),
            "words": list(self.words),
            "alignment": [list(link) for link in self.alignment],
            "confidence": [round(share, 4) for share in self.confidence],
            "alternatives": [{"text": text, "score": score} for text, score in self.alternatives],
            "finished": self.finished,
            "flags": [flag._asdict() for flag in self.flags],
            "missing_terms": [list(term) for term in self.missing_terms],
            "warnings": [warning.as_dict() for warning in self.warnings],
            "matches": [match.as_dict() for match in self.matches],
        }


def copied_sentence(text: str) -> Sentence:
    """A piece of text that is its own translation."""
    word = (text,)
    return Sentence(text, text, 0.0, word, word, word, word, alignment=((0, 0),), confidence=(1.0,))


@dataclass(frozen=True, eq=False)
class Translation:
    """A text and its translation, sentence by sentence.

    text          the translation, with the source's line breaks
    source        the given text
    sentences     in the order of the text; several where it was split
    model         the languages, and the attention head that word links are taken from
    alternatives  the next best translations of the whole text, if several were requested; their
                  sentences have no words (`Translator.align` finds them)

    Notebooks show words, links and maps as the page does.
    """

    text: str
    source: str
    sentences: tuple[Sentence, ...]
    model: ModelInfo = field(default=ModelInfo(), repr=False)
    alternatives: tuple[Translation, ...] = ()

    @property
    def score(self) -> float:
        """The mean of the sentences' scores; 0 for an empty text."""
        scores = [sentence.score for sentence in self.sentences]
        return sum(scores) / len(scores) if scores else 0.0

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of all sentences."""
        return tuple(token for sentence in self.sentences for token in sentence.tokens)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of all sentences."""
        return tuple(word for sentence in self.sentences for word in sentence.words)

    @property
    def source_words(self) -> tuple[str, ...]:
        """The source words of all sentences."""
        return tuple(word for sentence in self.sentences for word in sentence.source_words)

    @property
    def confidence(self) -> tuple[float, ...]:
        """The confidence of each word."""
        return tuple(share for sentence in self.sentences for share in sentence.confidence)

    @property
    def alignment(self) -> tuple[Link, ...]:
        """Links between `source_words` and `words`, numbered through all sentences."""
        links: list[Link] = []
        num_source, num_target = 0, 0
        for sentence in self.sentences:
            links += [(num_source + s, num_target + t) for s, t in sentence.alignment]
            num_source += len(sentence.source_words)
            num_target += len(sentence.words)
        return tuple(links)

    @property
    def attention(self) -> tuple[AttentionMap, ...]:
        """The maps of all sentences, one sentence after another."""
        return tuple(layer_map for sentence in self.sentences for layer_map in sentence.attention)

    @property
    def unused_edits(self) -> int:
        """The number of edits that changed no attention in any sentence."""
        return min((sentence.unused_edits for sentence in self.sentences), default=0)

    @property
    def missing_terms(self) -> tuple[Term, ...]:
        """The terms of the glossary whose translation could not be written."""
        return tuple(term for sentence in self.sentences for term in sentence.missing_terms)

    @property
    def warnings(self) -> tuple[TranslationWarning, ...]:
        """What must be checked in all sentences."""
        return tuple(warning for sentence in self.sentences for warning in sentence.warnings)

    @property
    def notes(self) -> list[str]:
        """The flags of all sentences in words."""
        return [
            note for s in self.sentences for note in flag_notes(s.flags, s.source_words, s.words)
        ]

    def _repr_html_(self) -> str:
        from regard.tasks.notebook import notebook_html
        from regard.tasks.translation.inspection import sentence_view

        shown = self.sentences if self.words else ()
        return notebook_html((sentence_view(sentence, self.model) for sentence in shown), self.text)

    def as_dict(self) -> dict[str, Any]:
        """What `--json` prints: everything but the maps."""
        return {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            "warnings": [warning.as_dict() for warning in self.warnings],
            "sentences": [sentence.as_dict() for sentence in self.sentences],
        }
