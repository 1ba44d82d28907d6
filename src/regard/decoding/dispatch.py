"""The entry point of search: options in, the best hypotheses of every sentence out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from regard.config import AlignmentSettings, SearchOptions
from regard.decoding.beam import beam_search
from regard.decoding.constraints import option_bans
from regard.decoding.coverage import AttentionSum
from regard.decoding.guide import Guide
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.phrases import RequiredPhrase
from regard.decoding.request import (
    Ban,
    Prefixes,
    SearchRequest,
    SourceBatch,
    StepModel,
    prepare_request,
)
from regard.decoding.sampling import greedy, sample
from regard.errors import InputError
from regard.text import UNK


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
