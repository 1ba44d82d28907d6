"""The colours of every figure: those of the page, on a light ground.

Blue and orange are told apart also by those who see few colours; what differs by colour differs by
mark or by a word too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.colors import Colormap, Normalize

PAPER = "#ffffff"
INK = "#1c2126"
MUTED = "#5d6770"
LINE = "#dfe1de"
ACCENT = "#1a5a9e"
SECOND = "#b3561f"
MASKED = "#d9dbd8"  # what may not be looked at; never the colour of a weight
HATCH = "#a9aeb2"

SERIES = (ACCENT, SECOND, "#2e8b57", "#7d5ba6", "#8a6d00", "#c2577f", "#00798c", "#5d6770")
MARKS = "osD^vPX*"

STRENGTH = 0.7  # a weight is coloured a little more than it is, so that small ones are seen


def weight_colours() -> Colormap:
    """From paper (0) to blue; a masked cell is grey."""
    return _ramp("regard weights", PAPER, ACCENT)


def sign_colours() -> Colormap:
    """From orange (below zero) over paper to blue (above); a missing cell is grey."""
    return _ramp("regard signs", SECOND, PAPER, ACCENT)


def turn_colours() -> Colormap:
    """Round in a circle, so that a full turn has the colour of none."""
    return _ramp("regard turns", PAPER, ACCENT, "#1c2126", SECOND, PAPER)


def weight_scale(largest: float) -> Normalize:
    """Weights from 0 to `largest`, coloured by their power of 0.7 as on the page."""
    from matplotlib.colors import PowerNorm

    return PowerNorm(STRENGTH, vmin=0.0, vmax=largest if largest > 0 else 1.0)


def sign_scale(largest: float) -> Normalize:
    """Values from −largest to `largest`, zero in the middle."""
    from matplotlib.colors import Normalize

    bound = largest if largest > 0 else 1.0
    return Normalize(-bound, bound)


def _ramp(name: str, *colours: str) -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, list(colours), N=512).with_extremes(bad=MASKED)
