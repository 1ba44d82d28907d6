"""What comes back from a translator: text, and what explains it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from regard.attention import AttentionMap
from regard.config import AlignmentSettings
from regard.decoding import Hypothesis

Link = tuple[int, int]


class Maker(NamedTuple):
    """What views need to know of the model that translated, named as a `Run` has it."""

    source_language: str = ""
    target_language: str = ""
    alignment: AlignmentSettings | None = None


@dataclass(frozen=True, eq=False)
class Sentence:
    """One sentence and its translation.

    source, text          the sentence and its translation
    score                 log-probability by length, as the search compares it
    source_tokens, tokens readable pieces of both, without </s>
    source_words, words   words of both
    alignment             word links (source word, target word)
    confidence            of each target word, from 0 to 1
    attention             every layer's and head's map, if asked for; one sentence each
    alternatives          other hypotheses, the best first, if more than one was asked for
    finished              False if the longest allowed output was reached before its end
    hypothesis            ids, and the log-probability of each; None if the source was copied
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


def copied_sentence(text: str) -> Sentence:
    """A piece of text that is its own translation."""
    one = (text,)
    return Sentence(text, text, 0.0, one, one, one, one, alignment=((0, 0),), confidence=(1.0,))


@dataclass(frozen=True, eq=False)
class Translation:
    """A text and its translation, sentence by sentence.

    text      the translation, with the white space between sentences as the language has it
    source    what was given
    sentences in the order of the text; several where it was split
    maker     the languages, and which attention is read as the alignment

    Notebooks show it as the page does: words, their links, and the maps if they were asked for.
    """

    text: str
    source: str
    sentences: tuple[Sentence, ...]
    maker: Maker = field(default=Maker(), repr=False)

    @property
    def score(self) -> float:
        """The mean of the sentences' scores; 0 for an empty text."""
        scores = [sentence.score for sentence in self.sentences]
        return sum(scores) / len(scores) if scores else 0.0

    @property
    def tokens(self) -> tuple[str, ...]:
        """All sentences' tokens."""
        return tuple(token for sentence in self.sentences for token in sentence.tokens)

    @property
    def words(self) -> tuple[str, ...]:
        """All sentences' words."""
        return tuple(word for sentence in self.sentences for word in sentence.words)

    @property
    def source_words(self) -> tuple[str, ...]:
        """The words of all that was read."""
        return tuple(word for sentence in self.sentences for word in sentence.source_words)

    @property
    def confidence(self) -> tuple[float, ...]:
        """Of each word."""
        return tuple(share for sentence in self.sentences for share in sentence.confidence)

    @property
    def alignment(self) -> tuple[Link, ...]:
        """Links between `source_words` and `words`, counted through all sentences."""
        links: list[Link] = []
        before = (0, 0)
        for sentence in self.sentences:
            links += [(before[0] + s, before[1] + t) for s, t in sentence.alignment]
            before = before[0] + len(sentence.source_words), before[1] + len(sentence.words)
        return tuple(links)

    @property
    def attention(self) -> tuple[AttentionMap, ...]:
        """All sentences' maps, one sentence after another; `sentences` tells them apart."""
        return tuple(one for sentence in self.sentences for one in sentence.attention)

    def _repr_html_(self) -> str:
        from regard.tasks.notebook import notebook_html
        from regard.tasks.translation.sentence_view import viewed

        shown = self.sentences if self.words else ()
        return notebook_html((viewed(sentence, self.maker) for sentence in shown), self.text)

    def as_dict(self) -> dict[str, Any]:
        """What `--json` prints: all but the maps."""
        return {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            "sentences": [
                {
                    "source": one.source,
                    "text": one.text,
                    "score": one.score,
                    "tokens": list(one.tokens),
                    "source_words": list(one.source_words),
                    "words": list(one.words),
                    "alignment": [list(link) for link in one.alignment],
                    "confidence": [round(share, 4) for share in one.confidence],
                    "alternatives": [
                        {"text": text, "score": score} for text, score in one.alternatives
                    ],
                    "finished": one.finished,
                }
                for one in self.sentences
            ],
        }
