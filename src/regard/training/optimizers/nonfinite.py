"""Updates whose loss or gradient is NaN or infinite: skipped, at a lower rate, and not endlessly.

The weights and the optimizer's moments stay as they are. Each such update halves the learning rate,
which recovers over the following updates. After `LIMIT` in a row the run stops: its weights have
diverged. What is needed for that is in the run's state, so that a resumed run does the same.
"""

from __future__ import annotations

import math
from pathlib import Path

from regard.command import command
from regard.errors import InputError
from regard.training.checkpoint import RunState, steps

LIMIT = 8  # skipped updates in a row
BACKOFF = 0.5
RECOVERY = 2 ** (1 / 100)  # per update: twice the rate after a hundred


def is_finite(loss: float, norm: float) -> bool:
    """Whether an update was made: loss and norm of the gradient are numbers."""
    return math.isfinite(loss) and math.isfinite(norm)


def note_update(state: RunState, finite: bool) -> None:
    """Note whether the update that is over was made or skipped, and adapt the learning rate."""
    if finite:
        state.nonfinite = 0
        state.rate_factor = min(1.0, state.rate_factor * RECOVERY)
    else:
        state.nonfinite += 1
        state.num_skipped += 1
        state.rate_factor *= BACKOFF


def skipped_line(state: RunState, rate: float) -> str:
    """Return the sentence about an update that was skipped; `rate` is that of the next one."""
    return (
        f"Update {state.step} is skipped: its loss or gradient is not finite; "
        f"the learning rate is lowered to {rate:.2g} for now."
    )


def check_divergence(state: RunState, folder: Path | None, rate: float) -> None:
    """Raise an error after `LIMIT` skipped updates in a row; `rate` is the setting's."""
    if state.nonfinite < LIMIT:
        return
    problem = (
        f"the loss or its gradient was not finite in {LIMIT} updates in a row, up to update "
        f"{state.step}, so the training has stopped"
    )
    if folder is None or not steps(folder):
        raise InputError(f"{problem}; give a lower --training.learning_rate, now {rate:g}.")
    again = command("train", "--resume", folder, "--training.learning_rate", f"{rate / 4:g}")
    raise InputError(
        f"{folder}: {problem}; up to update {steps(folder)[-1]} the run is saved, continue from "
        f"there at a lower rate with `{again}`."
    )
