"""Commands of regard's own that a bench needs to have run, as processes."""

from __future__ import annotations

import subprocess
import sys
import time

from regard.errors import InputError


def run_regard(*words: object) -> None:
    """Run `regard …`, and say how long it took; if it fails, its last line is the error."""
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "regard", *map(str, words)],
        capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise InputError(f"`regard {words[0]}` failed: {lines[-1]}")
    taken = time.monotonic() - begun
    print(f"  regard {words[0]}: {taken:.1f} s", file=sys.stderr, flush=True)
