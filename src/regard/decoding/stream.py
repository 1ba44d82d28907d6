"""Generate one sentence token by token, yielding each as soon as it is known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from regard.config import SearchOptions
from regard.decoding.request import SourceBatch, StepModel, prepare_request
from regard.decoding.sample import sampler
from regard.decoding.step_loop import StepOutput, argmax, decode_steps
from regard.errors import InputError
from regard.text import EOS, UNK


class StreamedToken(NamedTuple):
    """One generated token.

    token            its id; EOS at the end of a finished output
    log_probability  under the model
    forced           whether it belongs to the prefix
    maps             with `attention`, this step's row of every layer and head
    """

    token: int
    log_probability: float
    forced: bool
    maps: Sequence[Any]

    @property
    def finished(self) -> bool:
        """Whether it is EOS. A stream that ends without EOS was cut off at its length limit."""
        return self.token == EOS


def stream(
    model: StepModel,
    source: SourceBatch | None,
    options: SearchOptions,
    *,
    prefix: Sequence[int] = (),
    suppress_tokens: Collection[int] = (UNK,),
    sample_id: int = 0,
    attention: bool = False,
) -> Iterator[StreamedToken]:
    """Generate one sentence greedily or by sampling, the prefix first.

    The source is encoded, and errors are raised, at once; each token is computed when requested.
    The tokens are those of `search` with beam 1, or of the first sample of sentence `sample_id`.
    """
    if source is not None and len(source.tokens) != 1:
        raise InputError(f"stream takes one sentence, got {len(source.tokens)}.")
    request = prepare_request(
        model,
        source,
        max_length=options.max_length,
        prefix=[prefix],
        suppress_tokens=suppress_tokens,
    )
    choose = sampler(options, [(sample_id, 0)]) if options.sample else argmax
    return _tokens(decode_steps(model, request, choose, attention=attention), len(prefix))


def _tokens(outputs: Iterator[StepOutput], num_forced: int) -> Iterator[StreamedToken]:
    for position, output in enumerate(outputs):
        for token, log in zip(output.tokens, output.log_probabilities, strict=True):
            yield StreamedToken(token, log, position < num_forced, output.maps)
