"""The front door of search: settings in, the best hypotheses of every sentence out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from regard.config import SearchOptions
from regard.decoding.beam import beam
from regard.decoding.greedy import greedy
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.request import Prefixes, request
from regard.decoding.sample import sample
from regard.decoding.writer import UNK, Reading, Writer
from regard.errors import InputError


def search(
    writer: Writer,
    source: Reading | None,
    settings: SearchOptions,
    *,
    prefix: Prefixes | None = None,
    never: Collection[int] = (UNK,),
    numbers: Sequence[int] | None = None,
    batch: int = 1,
) -> list[list[Hypothesis]]:
    """For each sentence its `n_best` hypotheses by score, best first, finished or cut off.

    prefix   ids that each output must begin with, of any lengths; their log-probabilities count.
             A single source may have several: one output for each
    never    ids that are not written, beside PAD, BOS and MASK, unless a prefix has them
    numbers  each sentence's number, from which sampling is seeded; its place in the batch without
    batch    how many outputs, when there is neither a source nor a prefix

    A sentence's result is the same alone and in any batch. Without `max_length` an output has at
    most 2 · source + 10 tokens (more if its prefix needs it), within the model's limit.
    """
    wanted = request(
        writer, source, max_length=settings.max_length, prefix=prefix, never=never, batch=batch
    )
    if settings.sample:
        return sample(writer, wanted, settings, numbers=numbers)
    if settings.n_best > settings.beam:
        raise InputError(
            f"decoding.n_best is {settings.n_best}, but a beam of {settings.beam} finds no more "
            "than that; raise decoding.beam."
        )
    if settings.beam == 1:
        found = greedy(writer, wanted, length_penalty=settings.length_penalty)
        return [[one] for one in found]
    return beam(
        writer,
        wanted,
        beam=settings.beam,
        n_best=settings.n_best,
        length_penalty=settings.length_penalty,
    )
