"""One sentence, token by token, each handed out as soon as it is written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from regard.config import SearchOptions
from regard.decoding.greedy import most_probable
from regard.decoding.request import Request, request
from regard.decoding.sample import drawing
from regard.decoding.walk import Choose, walk
from regard.decoding.writer import EOS, UNK, Reading, Writer
from regard.errors import InputError


class Step(NamedTuple):
    """One token as it is written.

    token            its id; EOS at the end of what is finished
    log_probability  the model's own
    forced           whether it is one of the prefix
    maps             with `look`, what each layer and head looked at for it
    """

    token: int
    log_probability: float
    forced: bool
    maps: Sequence[Any]

    @property
    def finished(self) -> bool:
        """Whether it is the end. A stream that ends without it was stopped at its length."""
        return self.token == EOS


def stream(
    writer: Writer,
    source: Reading | None,
    settings: SearchOptions,
    prefix: Sequence[int] = (),
    *,
    look: bool = False,
    never: Collection[int] = (UNK,),
    number: int = 0,
) -> Iterator[Step]:
    """Write one sentence greedily, or by sampling, the prefix first.

    The source is read, and errors are raised, at once; a token is computed when it is asked for.
    The tokens are those that `search` finds with a beam of 1, or the first sample of sentence
    `number`.
    """
    if source is not None and len(source.tokens) != 1:
        raise InputError(
            f"a stream writes one sentence, but {len(source.tokens)} came; stream them in turn."
        )
    wanted = request(writer, source, max_length=settings.max_length, prefix=[prefix], never=never)
    choose = drawing(settings, [(number, 0)]) if settings.sample else most_probable
    return _steps(writer, wanted, choose, len(prefix), look)


def _steps(
    writer: Writer, wanted: Request, choose: Choose, forced: int, look: bool
) -> Iterator[Step]:
    for place, moment in enumerate(walk(writer, wanted, choose, look=look)):
        for token, log in zip(moment.tokens, moment.log_probabilities, strict=True):
            yield Step(token, log, place < forced, moment.maps)
