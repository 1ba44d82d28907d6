"""Which launch of `torchrun` began a run, so that its restarted command goes on with the run.

`torchrun` repeats the command it was given when a process fails. The folder then holds a model
already, which is an error for any other command.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path

from regard.config.stored import CONFIG
from regard.storage import replace_file

LAUNCH = "launch.json"  # in checkpoints/


def current_launch() -> dict[str, object] | None:
    """Return what names this command of this launch of `torchrun`; None without it.

    It is the same after each restart, on whichever machine: `--rdzv-id` or, for a launch that has
    none, the machine and the process of `torchrun`, which cannot move then.
    """
    name = os.environ.get("TORCHELASTIC_RUN_ID")
    if name is None:
        return None
    if name == "none":
        name = f"{platform.node()} {os.getppid()}"
    return {"launch": name, "command": sys.argv[1:]}


def note_launch(folder: Path) -> None:
    """Note the launch that begins a run in `folder`."""
    launch = current_launch()
    path = folder / "checkpoints" / LAUNCH
    if launch is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(exist_ok=True)
    replace_file(path, json.dumps(launch, ensure_ascii=False) + "\n")


def is_restarted(folder: Path) -> bool:
    """Whether this very command of this launch has begun the run in `folder` before."""
    launch = current_launch()
    if not (folder / CONFIG).is_file():
        return False
    try:
        noted = json.loads((folder / "checkpoints" / LAUNCH).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return launch is not None and noted == launch
