"""A translation word by word, as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeVar

from regard.decoding import stream
from regard.errors import InputError
from regard.models.batch import source_of
from regard.server.api.v1_schema import LookAsked
from regard.server.http.errors import RefusalError
from regard.tasks.translation.segments import Segment, put_together
from regard.text import is_spaceless
from regard.translator import Translator

Result = TypeVar("Result")


class Step(Protocol):
    """Runs a function on the translator's thread."""

    def __call__(self, function: Callable[[], Result], /) -> Awaitable[Result]: ...


async def events(
    step: Step, translator: Translator, parts: list[Segment], asked: LookAsked
) -> AsyncIterator[str]:
    """`word` events with a sentence's number and its text so far, then `done` with all of it.

    The words are those of a search with a beam of 1.
    """
    language = translator.run.target_language
    done: list[str] = []
    try:
        for number, part in enumerate(parts):
            text = ""
            async for text in _growing(step, translator, part.text, asked.prefix or ""):
                yield event("word", sentence=number, text=text)
            done.append(text)
        yield event("done", text=put_together(parts, done, language))
    except (RefusalError, InputError) as error:
        yield event("error", error=str(error))


async def _growing(
    step: Step, translator: Translator, text: str, prefix: str
) -> AsyncIterator[str]:
    """A sentence's translation, each time with one more word."""
    target = translator.tokenizers.target
    settings = replace(translator.run.decoding, beam=1, n_best=1, sample=False)
    source = source_of([translator.tokenizers.source.encode(text)]).to(translator.device)
    begin = target.encode(prefix) if prefix else []
    spaceless = is_spaceless(translator.run.target_language)
    tokens = await step(lambda: stream(translator.network, source, settings, prefix=begin))
    ids: list[int] = []
    shown = ""
    while (token := await step(partial(next, tokens, None))) is not None and not token.finished:
        ids.append(token.token)
        whole_words = _whole_words(target.decode(ids), spaceless)
        if whole_words != shown:
            shown = whole_words
            yield shown
    final = target.decode(ids)
    if final != shown:
        yield final


def _whole_words(text: str, spaceless: bool) -> str:
    """What will not change any more: all but the last word, or all but an unfinished character.

    >>> _whole_words("Le chat dor", False), _whole_words("猫睡", True)
    ('Le chat', '猫睡')
    """
    return text.rstrip("\ufffd") if spaceless else text.rpartition(" ")[0]


def event(name: str, **fields: Any) -> str:
    """One server-sent event; JSON has no line breaks of its own.

    >>> event("word", text="é")
    'event: word\\ndata: {"text": "é"}\\n\\n'
    """
    return f"event: {name}\ndata: {json.dumps(fields, ensure_ascii=False)}\n\n"
