"""Running regard's own commands as processes."""

from __future__ import annotations

import subprocess
import sys
import time

from regard.errors import InputError


def run_regard(*arguments: object) -> None:
    """Run `regard …` and print its time; if it fails, its last line is the error."""
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "regard", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise InputError(f"`regard {arguments[0]}` failed: {lines[-1]}")
    seconds = time.monotonic() - start
    print(f"  regard {arguments[0]}: {seconds:.1f} s", file=sys.stderr, flush=True)
