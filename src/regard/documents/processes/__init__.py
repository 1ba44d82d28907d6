"""Documents read and written by other processes, with limits of time and memory.

Documents are untrusted, and a fault in a reader could block the process that calls it: Python can
neither stop a regular expression that is being matched nor limit its memory. Another process can
be killed.

    pool.py            the processes, and documents that are in one of them
    parser_process.py  one process, seen from its parent: start, request, kill
    limits.py          limits of time and memory
    messages.py        the messages between both
    parser.py          what the process does
"""

from regard.documents.processes.limits import ParserLimits
from regard.documents.processes.pool import (
    DocumentSource,
    IsolatedDocument,
    ParserPool,
    Rendering,
    TextLimitError,
)

__all__ = [
    "DocumentSource",
    "IsolatedDocument",
    "ParserLimits",
    "ParserPool",
    "Rendering",
    "TextLimitError",
]
