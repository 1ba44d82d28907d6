"""How a run stands, in `status.json` of its folder: running, finished, stopped or failed."""

from __future__ import annotations

import json
import os
import platform
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from regard.storage import replace_file

STATUS = "status.json"


class StatusFile:
    """Says "running" while it is entered, then how the run ended; without a folder, nothing.

    The process and its host stand beside it, so that a run that was killed can be told from one
    that goes on. A status that cannot be written does not stop the run.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.finished = False

    def __enter__(self) -> Self:
        self._write("running")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            reason = " ".join(str(error).split()) or type(error).__name__
            self._write("failed", reason=reason)
        else:
            self._write("finished" if self.finished else "stopped")

    def _write(self, state: str, **more: Any) -> None:
        if self.folder is None:
            return
        process = {"pid": os.getpid(), "host": platform.node(), "time": time.time()}
        with suppress(OSError):
            replace_file(self.folder / STATUS, json.dumps({"state": state, **process, **more}))
