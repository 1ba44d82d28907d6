"""A translation word by word, as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

from regard.errors import InputError
from regard.server.http.errors import ApiError
from regard.server.queue.service import Service
from regard.tasks.translation.translator import StreamedText


async def events(service: Service, stream: Iterator[StreamedText]) -> AsyncIterator[str]:
    """`word` events with a sentence's number and its text so far, then `done` with all of it."""
    whole = ""
    try:
        while (update := await service.call(None, partial(next, stream, None))) is not None:
            whole = update.whole
            yield event("word", sentence=update.sentence, text=update.text)
        yield event("done", text=whole)
    except (ApiError, InputError) as error:
        yield event("error", error=str(error))


def event(name: str, **fields: Any) -> str:
    """One server-sent event; JSON has no line breaks of its own.

    >>> event("word", text="é")
    'event: word\\ndata: {"text": "é"}\\n\\n'
    """
    return f"event: {name}\ndata: {json.dumps(fields, ensure_ascii=False)}\n\n"
