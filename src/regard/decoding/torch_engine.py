"""Search by torch: any model with `start`, `step` and `select`, and all options.

search       one batch: options in, the best hypotheses of every sentence out
TorchEngine  any number of sentences, in batches of similar length on several cores
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from regard.config import AlignmentSettings, SearchOptions
from regard.decoding.beam import beam_search
from regard.decoding.constraints import option_bans
from regard.decoding.coverage import AttentionSum
from regard.decoding.guide import Guide
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.length_groups import length_groups
from regard.decoding.phrases import RequiredPhrase
from regard.decoding.request import (
    Ban,
    Prefixes,
    SearchRequest,
    SourceBatch,
    StepModel,
    prepare_request,
)
from regard.decoding.sampling import StreamedToken, greedy, sample, stream
from regard.decoding.scoring import score
from regard.errors import InputError
from regard.text import EOS, UNK
from regard.worker_pool import parallel_map

Result = TypeVar("Result")

MIN_FORKED_TOKENS = 512  # of the source, times the beam: a quarter of a second


def search(
    model: StepModel,
    source: SourceBatch | None,
    options: SearchOptions,
    *,
    prefix: Prefixes | None = None,
    suppress_tokens: Collection[int] = (UNK,),
    bans: Sequence[Ban] = (),
    phrases: Sequence[Sequence[RequiredPhrase]] = (),
    alignment: AlignmentSettings | None = None,
    sample_ids: Sequence[int] | None = None,
    batch: int = 1,
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of each sentence by score, best first.

    prefix           ids that each output must begin with, of any lengths; their log-probabilities
                     count. A single source may have several prefixes: one output for each
    suppress_tokens  ids never generated, besides PAD, BOS and MASK, unless forced by a prefix
    bans             ids never generated after some outputs, besides those of the options
    phrases          for each sentence those that its output must have; by beam search only
    alignment        the head whose attention is read for a coverage penalty and the place of
                     phrases; by default the mean of the last layer
    sample_ids       an integer per sentence that seeds its sampling; by default its index
    batch            number of outputs when there is neither a source nor a prefix

    The result of a sentence does not depend on the batch. Without `max_length` an output has at
    most 2 · source + 10 tokens (more if its prefix needs them), within the model's limit.
    """
    request = prepare_request(
        model,
        source,
        max_length=options.max_length,
        prefix=prefix,
        suppress_tokens=suppress_tokens,
        bans=(*option_bans(options), *bans),
        batch=batch,
    )
    if options.sample:
        if any(phrases):
            raise InputError("phrases are required of beam search only; leave sample out.")
        return sample(model, request, options, sample_ids=sample_ids)
    if options.n_best > options.beam:
        raise InputError(
            f"decoding.n_best must be at most decoding.beam, got n_best={options.n_best}, "
            f"beam={options.beam}; raise decoding.beam."
        )
    if options.beam_groups > options.beam:
        raise InputError(
            f"decoding.beam_groups must be at most decoding.beam, got "
            f"beam_groups={options.beam_groups}, beam={options.beam}; raise decoding.beam."
        )
    guide = None
    if options.beam_groups > 1 or options.coverage_penalty or any(phrases):
        is_placed = any(phrase.positions for required in phrases for phrase in required)
        attends = options.coverage_penalty or is_placed
        attention = _attention_sum(source, request, options, alignment) if attends else None
        guide = Guide(options, attention, phrases)
    elif options.beam == 1:
        hypotheses = greedy(model, request, length_penalty=options.length_penalty)
        return [[hypothesis] for hypothesis in hypotheses]
    return beam_search(model, request, options, guide)


def _attention_sum(
    source: SourceBatch | None,
    request: SearchRequest,
    options: SearchOptions,
    alignment: AlignmentSettings | None,
) -> AttentionSum | None:
    """Return what sums the attention of the rows, one for each group; None without a source."""
    if source is None:
        if options.coverage_penalty:
            raise InputError("decoding.coverage_penalty is for models with a source; leave it out.")
        return None
    lengths = source.lengths.expand(len(request)).repeat_interleave(options.beam_groups)
    return AttentionSum(lengths, alignment, options.coverage_penalty)


@dataclass(frozen=True)
class Constraints:
    """What the outputs of a search must have, or must not have.

    prefix   ids that every output begins with; after EOS nothing is added
    bans     ids that must not follow an output
    phrases  of each sentence, those that its output must have
    """

    prefix: Sequence[int] = ()
    bans: Sequence[Ban] = ()
    phrases: Sequence[Sequence[RequiredPhrase]] = ()


UNCONSTRAINED = Constraints()


@dataclass(frozen=True)
class TorchEngine:
    """Searches with a model, which may be prepared for it.

    model      whose steps are taken
    reference  the same model, whose attention can be read
    to_batch   from sentences, given as ids without EOS, to their batch
    threads    cores that it may use
    alignment  the head by which attention is read
    """

    model: StepModel
    reference: StepModel
    to_batch: Callable[[Sequence[Sequence[int]]], SourceBatch]
    threads: int = 1
    alignment: AlignmentSettings | None = None

    @staticmethod
    def can_search(options: SearchOptions) -> bool:
        """Whether torch has the options of a search: all of them."""
        return True

    def results(
        self,
        sources: Sequence[Sequence[int]],
        options: SearchOptions,
        constraints: Constraints = UNCONSTRAINED,
        sample_ids: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The results of sentences, each with its row."""
        finished = self.finished_results(
            sources, options, lambda rows, hypotheses: hypotheses, constraints, sample_ids
        )
        return iter(enumerate(finished))

    def finished_results(
        self,
        sources: Sequence[Sequence[int]],
        options: SearchOptions,
        finish: Callable[[Sequence[int], list[list[Hypothesis]]], list[Result]],
        constraints: Constraints = UNCONSTRAINED,
        sample_ids: Sequence[int] | None = None,
        *,
        fork: bool = True,
    ) -> list[Result]:
        """What `finish` makes of the results of each batch, in the order of the sentences.

        finish  is called where the batch was searched, which may be another process, with the rows
        fork    whether other processes may search: they take some time to start, and what `finish`
                returns is copied from them
        """
        lengths = [len(ids) for ids in sources]
        groups = length_groups(lengths, options, self.threads)

        def search_group(rows: list[int]) -> list[Result]:
            hypotheses = self._search(
                [sources[row] for row in rows],
                options,
                Constraints(
                    constraints.prefix,
                    constraints.bans,
                    [constraints.phrases[row] for row in rows] if constraints.phrases else (),
                ),
                rows if sample_ids is None else [sample_ids[row] for row in rows],
            )
            return finish(rows, hypotheses)

        fork = fork and sum(lengths) * options.beam >= MIN_FORKED_TOKENS
        # a search that reads attention registers hooks, which threads would do in each other's way
        forks = fork and threading.current_thread() is threading.main_thread()
        num_workers = 1 if constraints.phrases and not forks else self.threads
        done = parallel_map(search_group, groups, num_workers, fork=fork)
        results = {
            row: result
            for rows, group in zip(groups, done, strict=True)
            for row, result in zip(rows, group, strict=True)
        }
        return [results[row] for row in range(len(sources))]

    def stream(
        self, ids: Sequence[int], options: SearchOptions, prefix: Sequence[int] = ()
    ) -> Iterator[StreamedToken]:
        """The tokens of a sentence as they are generated, by greedy search or sampling."""
        return stream(self.model, self.to_batch([ids]), options, prefix=prefix)

    def _search(
        self,
        sources: Sequence[Sequence[int]],
        options: SearchOptions,
        constraints: Constraints,
        sample_ids: Sequence[int],
    ) -> list[list[Hypothesis]]:
        """The results of one batch."""
        batch, prefix = self.to_batch(sources), list(constraints.prefix)
        if prefix[-1:] == [EOS]:  # all of it is given
            given = score(self.reference, batch, [prefix[:-1]] * len(sources))
            return [[hypothesis] for hypothesis in given]
        attends = options.coverage_penalty or any(constraints.phrases)
        return search(
            self.reference if attends else self.model,
            batch,
            options,
            prefix=[prefix] * len(sources) if prefix else None,
            sample_ids=sample_ids,
            bans=constraints.bans,
            phrases=constraints.phrases,
            alignment=self.alignment,
        )
