"""Translation by our own engine: any model, with all options, edits of the attention, and maps."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

from regard.attention import AttentionMap, Edit, Overwrite, intervene
from regard.attention.inspection import observe
from regard.config import SearchOptions
from regard.decoding import score, search, stream
from regard.decoding.length_groups import length_groups
from regard.errors import InputError
from regard.models.batch import source_of
from regard.models.ensemble import EnsembleModel
from regard.tasks.translation.glossary import TargetLexicon, Term
from regard.tasks.translation.translation import Sentence, TranslateOptions
from regard.tasks.translation.translation_model import Explanation, TranslationModel, sentence_map
from regard.text import is_spaceless
from regard.text.segments import Segment
from regard.text.tokenizer import EOS
from regard.worker_pool import WorkerPool, parallel_map

MAPPED_TOKENS = 1024  # of a batch's sources; the weights of larger ones exceed the caches
MIN_FORKED_TOKENS = 512  # of the source, times the beam: a quarter of a second


class OwnSearch:
    """Searches with the network of a model."""

    def __init__(self, model: TranslationModel) -> None:
        self.model = model

    @cached_property
    def _lexicon(self) -> TargetLexicon:
        return TargetLexicon(self.model.tokenizers.target)

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
        """The translations of segments by our own engine, by their numbers.

        `required` are terms of some segments, besides those of the glossary.
        """
        lengths = [len(segments[row].ids) for row in rows]
        groups = [
            [rows[number] for number in group]
            for group in length_groups(lengths, options.settings, self.model.threads)
        ]

        def translate_group(group: list[int]) -> list[Sentence]:
            numbers = group if seeds is None else [seeds[row] for row in group]
            own = [(required or {}).get(row, ()) for row in group]
            return self._search([segments[row] for row in group], options, numbers, own)

        # processes take some time to start, and maps are costly to return
        many = sum(lengths) * options.settings.beam >= MIN_FORKED_TOKENS
        fork = many and not options.attention and not observe.observers()
        _ = self.model.step_model  # prepared once, before processes are forked
        # a search that reads attention registers hooks, which threads would do in each other's way
        forks = fork and threading.current_thread() is threading.main_thread()
        alone = bool(options.glossary or required) and not forks
        done = parallel_map(translate_group, groups, 1 if alone else self.model.threads, fork=fork)
        return {
            row: sentence
            for group, translated in zip(groups, done, strict=True)
            for row, sentence in zip(group, translated, strict=True)
        }

    def num_required_tokens(self, segment: Segment, options: TranslateOptions) -> int:
        """The tokens of all terms of the glossary that the translation of a segment must have."""
        source = self.model.tokenizers.source
        terms = self._lexicon.required(options.glossary, segment.text, segment.ids, source)
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
        source = source_of([segment.ids]).to(self.model.device)
        spaceless = is_spaceless(self.model.info.target_language)
        ids: list[int] = []
        shown = ""
        begin = target.encode(prefix) if prefix else []
        for step in stream(self.model.step_model, source, settings, prefix=begin):
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
        seeds: Sequence[int],
        more_terms: Sequence[tuple[Term, ...]] = (),
    ) -> list[Sentence]:
        """The translations of one batch of segments; `more_terms` are required of each."""
        ids = [segment.ids for segment in segments]
        source = source_of(ids).to(self.model.device)
        start = self._prefix(options.prefix)
        prefix = [start] * len(ids) if start else None
        tokenizer = self.model.tokenizers.source
        terms = [
            self._lexicon.required(options.glossary, segment.text, segment.ids, tokenizer)
            for segment in segments
        ]
        for own, segment, more in zip(terms, segments, more_terms, strict=bool(more_terms)):
            own |= self._lexicon.required(more, segment.text, segment.ids, tokenizer)
        settings = options.settings
        attends = settings.coverage_penalty or any(terms)  # which a prepared network cannot show
        if start[-1:] == [EOS]:  # all of it is given
            given = score(self.model.network, source, [start[:-1]] * len(ids))
            hypotheses = [[hypothesis] for hypothesis in given]
        else:
            hypotheses = search(
                self.model.network if attends else self.model.step_model,
                source,
                settings,
                prefix=prefix,
                sample_ids=seeds,
                bans=self._lexicon.bans(options.forbid),
                phrases=[list(required.values()) for required in terms],
                alignment=self.model.run.alignment,
            )
        targets = [ranked[0].tokens for ranked in hypotheses]
        explanations: list[Explanation | None] = [None] * len(ids)
        if options.alignment or options.attention:
            maps = self.model.maps(ids, targets)
            explanations = [
                self.model.explanation(maps, row, segment, tokens, options.attention)
                for row, (segment, tokens) in enumerate(zip(segments, targets, strict=True))
            ]
        sentences = list(map(self.model.sentence, segments, targets, hypotheses, explanations))
        if not options.glossary:
            return sentences
        glossary = frozenset(options.glossary)
        missing = [
            tuple(t for t in self._lexicon.missing(own, ranked[0].tokens) if t in glossary)
            for own, ranked in zip(terms, hypotheses, strict=True)
        ]
        return [replace(s, missing_terms=m) for s, m in zip(sentences, missing, strict=True)]

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
