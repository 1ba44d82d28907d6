"""Translation by torch: any model, with all options, edits of the attention, and maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from regard.attention import AttentionMap, Edit, Overwrite, intervene
from regard.attention.inspection import observe
from regard.config import SearchOptions
from regard.decoding import Constraints, Hypothesis, RequiredPhrase, TorchEngine
from regard.decoding.length_groups import length_groups
from regard.errors import InputError
from regard.models.batch import source_of
from regard.models.ensemble import EnsembleModel
from regard.tasks.translation.glossary import Term
from regard.tasks.translation.translation import Sentence, TranslateOptions
from regard.tasks.translation.translation_model import Explanation, TranslationModel, sentence_map
from regard.text import is_spaceless
from regard.text.segments import Segment
from regard.text.tokenizer import EOS
from regard.worker_pool import WorkerPool

MAPPED_TOKENS = 1024  # of a batch's sources; the weights of larger ones exceed the caches


class TorchSearch:
    """Translates segments with the network of a model, by `TorchEngine`."""

    def __init__(self, model: TranslationModel) -> None:
        self.model = model

    @property
    def engine(self) -> TorchEngine:
        """The engine; it runs the network itself while that is observed."""
        model = self.model
        return TorchEngine(
            model.step_model,
            model.network,
            lambda sources: source_of(sources).to(model.device),
            model.threads,
            model.run.alignment,
        )

    def maps(
        self,
        segments: Sequence[Segment],
        targets: Sequence[Sequence[int]],
        settings: SearchOptions,
    ) -> list[tuple[AttentionMap, ...]]:
        """The attention maps of sentences and given translations, by our own forward pass."""
        together = replace(settings, beam=1, sample=False, batch_tokens=MAPPED_TOKENS)
        groups = length_groups([len(s.ids) for s in segments], together, self.model.threads)

        def compute(group: list[int]) -> list[tuple[AttentionMap, ...]]:
            ids, given = [segments[n].ids for n in group], [targets[n] for n in group]
            maps = self.model.maps(ids, given)
            return [
                tuple([sentence_map(m, row, len(source) + 1, len(target) + 1) for m in maps])
                for row, (source, target) in enumerate(zip(ids, given, strict=True))
            ]

        with WorkerPool(self.model.threads) as pool:
            done = pool.map(compute, groups)
        own = dict(zip(chain(*groups), chain(*done), strict=True))
        return [own[number] for number in range(len(segments))]

    def translate(
        self,
        segments: Sequence[Segment],
        rows: Sequence[int],
        options: TranslateOptions,
        seeds: Sequence[int] | None,
        required: Mapping[int, tuple[Term, ...]] | None = None,
    ) -> dict[int, Sentence]:
        """The translations of segments, by their numbers.

        `required` are terms of some segments, besides those of the glossary.
        """
        chosen = [segments[row] for row in rows]
        more_terms = [(required or {}).get(row, ()) for row in rows]
        sample_ids = rows if seeds is None else [seeds[row] for row in rows]
        return dict(zip(rows, self._search(chosen, options, sample_ids, more_terms), strict=True))

    def num_required_tokens(self, segment: Segment, options: TranslateOptions) -> int:
        """The tokens of all terms of the glossary that the translation of a segment must have."""
        source = self.model.tokenizers.source
        terms = self.model.lexicon.required(options.glossary, segment.text, segment.ids, source)
        return sum(map(len, terms.values()))

    def translate_edited(
        self, segment: Segment, num_segments: int, options: TranslateOptions
    ) -> Sentence:
        """The translation of a segment with edits of the attention."""
        if isinstance(self.model.network, EnsembleModel):
            raise InputError("edits are of one model's attention; load it without the others.")
        if num_segments > 1 and any(isinstance(edit, Overwrite) for edit in options.edits):
            raise InputError("a row of weights is of one sentence that fits the model.")
        unused: list[Edit] = []
        try:
            with intervene(self.model.network, options.edits, unused=unused.append):
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

    def stream(self, segment: Segment, prefix: str) -> Iterator[str]:
        """The translation of a segment, each time with one more word."""
        if segment.copied:
            yield segment.text
            return
        target = self.model.tokenizers.target
        settings = replace(self.model.run.decoding, beam=1, n_best=1, sample=False)
        spaceless = is_spaceless(self.model.info.target_language)
        ids: list[int] = []
        shown = ""
        begin = target.encode(prefix) if prefix else []
        for step in self.engine.stream(segment.ids, settings, begin):
            if step.finished:
                break
            ids.append(step.token)
            words = _whole_words(target.decode(ids), spaceless)
            if words != shown:
                shown = words
                yield shown
        if (final := target.decode(ids)) != shown:
            yield final

    def _search(
        self,
        segments: Sequence[Segment],
        options: TranslateOptions,
        sample_ids: Sequence[int],
        more_terms: Sequence[tuple[Term, ...]] = (),
    ) -> list[Sentence]:
        """The translations of segments; `more_terms` are required of each."""
        terms = self._required_terms(segments, options, more_terms)

        def finish(rows: Sequence[int], hypotheses: list[list[Hypothesis]]) -> list[Sentence]:
            batch = [segments[row] for row in rows]
            sentences = self._sentences(batch, hypotheses, options)
            if not options.glossary:
                return sentences
            return [
                replace(
                    sentence,
                    missing_terms=self._missing_terms(terms[row], ranked[0].tokens, options),
                )
                for sentence, row, ranked in zip(sentences, rows, hypotheses, strict=True)
            ]

        constraints = Constraints(
            self._prefix(options.prefix),
            self.model.lexicon.bans(options.forbid),
            [list(phrases.values()) for phrases in terms],
        )
        return self.engine.finished_results(
            [segment.ids for segment in segments],
            options.settings,
            finish,
            constraints,
            sample_ids,
            fork=not options.attention and not observe.observers(),  # maps are costly to return
        )

    def _sentences(
        self,
        segments: Sequence[Segment],
        hypotheses: Sequence[Sequence[Hypothesis]],
        options: TranslateOptions,
    ) -> list[Sentence]:
        """The translations of a batch by its hypotheses, with words and maps if requested."""
        targets = [ranked[0].tokens for ranked in hypotheses]
        explanations: list[Explanation | None] = [None] * len(segments)
        if options.alignment or options.attention:
            maps = self.model.maps([segment.ids for segment in segments], targets)
            explanations = [
                self.model.explanation(maps, row, segment, tokens, options.attention)
                for row, (segment, tokens) in enumerate(zip(segments, targets, strict=True))
            ]
        return list(map(self.model.sentence, segments, targets, hypotheses, explanations))

    def _required_terms(
        self,
        segments: Sequence[Segment],
        options: TranslateOptions,
        more_terms: Sequence[tuple[Term, ...]],
    ) -> list[dict[Term, RequiredPhrase]]:
        """The terms that each segment has, and what its translation must have; none at all: []."""
        if not options.glossary and not any(more_terms):
            return []
        required, tokenizer = self.model.lexicon.required, self.model.tokenizers.source
        return [
            required(options.glossary, segment.text, segment.ids, tokenizer)
            | required(more, segment.text, segment.ids, tokenizer)
            for segment, more in zip(segments, more_terms or [()] * len(segments), strict=True)
        ]

    def _missing_terms(
        self,
        required: Mapping[Term, RequiredPhrase],
        tokens: Sequence[int],
        options: TranslateOptions,
    ) -> tuple[Term, ...]:
        """The terms of the glossary that a translation does not have."""
        missing = self.model.lexicon.missing(required, tokens)
        return tuple(term for term in missing if term in options.glossary)

    def _prefix(self, prefix: str | Sequence[int]) -> list[int]:
        """The ids of what a translation begins with."""
        target = self.model.tokenizers.target
        if isinstance(prefix, str):
            return target.encode(prefix) if prefix else []
        if wrong := [token for token in prefix if not 0 <= token < len(target)]:
            raise InputError(
                f"there is no token {wrong[0]}: the model writes tokens 0 to {len(target) - 1}."
            )
        if EOS in prefix[:-1]:
            raise InputError(f"nothing follows the end of a sentence, token {EOS}; leave it out.")
        return list(prefix)


def _whole_words(text: str, spaceless: bool) -> str:
    """The part that will not change any more: all but the last word or unfinished character.

    >>> _whole_words("Le chat dor", False), _whole_words("猫睡", True)
    ('Le chat', '猫睡')
    """
    return text.rstrip("\ufffd") if spaceless else text.rpartition(" ")[0]
