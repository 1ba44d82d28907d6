"""Documents read and written by other processes, with limits of time and memory.

A document is somebody else's file, and one mistake of a reader of ours could occupy the process
that calls it: Python cannot stop an expression that is being matched, nor take its memory back.
Another process can be killed.

    pool.py            the processes, and documents that are in one of them
    parser_process.py  one process as its parent sees it: started, asked, killed
    limits.py          what a document may take
    messages.py        what the two say to each other
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
