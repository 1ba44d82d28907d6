"""Log records as JSON lines on stderr, without any text of users.

An exception's message may quote a user's text, so only its type and traceback are logged.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from regard.errors import error_fields

LOGGER = logging.getLogger("regard.server")
TRUSTED = ("regard", "uvicorn")  # loggers whose messages have no text of users


class JsonFormatter(logging.Formatter):
    """A record as a line of JSON, with its `fields`."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        trusted = record.name.partition(".")[0] in TRUSTED
        line: dict[str, Any] = {
            "time": moment,
            "level": record.levelname.lower(),
            "event": record.getMessage() if trusted else f"message of {record.name}",
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= error_fields(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False)


def log_event(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields."""
    LOGGER.log(level, event, extra={"fields": fields})


def write_log(level: int = logging.INFO) -> None:
    """Send our records, and warnings of the HTTP server and all others, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.captureWarnings(True)
    levels = {LOGGER.name: level, "uvicorn": logging.WARNING, "": logging.WARNING}
    for name, minimum in levels.items():
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(minimum)
