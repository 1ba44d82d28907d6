"""Log lines as JSON, one a line, on stderr: numbers and names of our own, never users' text.

An exception's message may quote what a user wrote, so only its type and places are told.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

LOGGER = logging.getLogger("regard.server")
FRAMES = 6
OURS = ("regard", "uvicorn")  # whose messages quote nobody


class Lines(logging.Formatter):
    """A record as a line of JSON, with the `fields` that it was given."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        ours = record.name.partition(".")[0] in OURS
        line: dict[str, Any] = {
            "time": moment,
            "level": record.levelname.lower(),
            "event": record.getMessage() if ours else f"a word from {record.name}",
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= trouble(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False)


def trouble(error: BaseException) -> dict[str, Any]:
    """An exception's type and the places it came through."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error": type(error).__name__, "places": places}


def tell(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Write a line."""
    LOGGER.log(level, event, extra={"fields": fields})


def write_log(level: int = logging.INFO) -> None:
    """Send our lines, and what the HTTP server and all others have to say, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    logging.captureWarnings(True)
    for name, least in ((LOGGER.name, level), ("uvicorn", logging.WARNING), ("", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(least)
