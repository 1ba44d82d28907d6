"""The entry point of search: options in, the best hypotheses of every sentence out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from regard.config import SearchOptions
from regard.decoding.beam import beam_search
from regard.decoding.constraints import option_bans
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.request import Ban, Prefixes, SourceBatch, StepModel, prepare_request
from regard.decoding.step_loop import greedy, sample
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
    sample_ids: Sequence[int] | None = None,
    batch: int = 1,
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of each sentence by score, best first.

    prefix           ids that each output must begin with, of any lengths; their log-probabilities
                     count. A single source may have several prefixes: one output for each
    suppress_tokens  ids never generated, besides PAD, BOS and MASK, unless forced by a prefix
    bans             ids never generated after some outputs, besides those of the options
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
        return sample(model, request, options, sample_ids=sample_ids)
    if options.n_best > options.beam:
        raise InputError(
            f"decoding.n_best must be at most decoding.beam, got n_best={options.n_best}, "
            f"beam={options.beam}; raise decoding.beam."
        )
    if options.beam == 1:
        hypotheses = greedy(model, request, length_penalty=options.length_penalty)
        return [[hypothesis] for hypothesis in hypotheses]
    return beam_search(
        model,
        request,
        beam=options.beam,
        n_best=options.n_best,
        length_penalty=options.length_penalty,
    )
