"""The colors of every figure: those of the HTML page's light theme.

Blue and orange can be told apart with color blindness; what differs by color also differs by marker
or by a word.
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
MASKED = "#d9dbd8"  # masked cells; never the color of a weight
HATCH = "#a9aeb2"

SERIES = (ACCENT, SECOND, "#2e8b57", "#7d5ba6", "#8a6d00", "#c2577f", "#00798c", "#5d6770")
MARKERS = "osD^vPX*"

GAMMA = 0.7  # exponent of the color scale, which makes small weights visible


def weight_colors() -> Colormap:
    """From paper (0) to blue; masked cells are gray."""
    return _color_map("regard weights", PAPER, ACCENT)


def signed_colors() -> Colormap:
    """From orange (negative) over paper to blue (positive); missing cells are gray."""
    return _color_map("regard signs", SECOND, PAPER, ACCENT)


def cyclic_colors() -> Colormap:
    """A cyclic color map: a full turn has the color of none."""
    return _color_map("regard turns", PAPER, ACCENT, INK, SECOND, PAPER)


def masked_colors() -> Colormap:
    """The color of masked cells alone."""
    return _color_map("regard masked", MASKED, MASKED)


def weight_scale(largest: float) -> Normalize:
    """Weights from 0 to `largest`, with the page's exponent."""
    from matplotlib.colors import PowerNorm

    return PowerNorm(GAMMA, vmin=0.0, vmax=largest if largest > 0 else 1.0)


def signed_scale(largest: float) -> Normalize:
    """Values from −largest to `largest`, with zero in the middle."""
    from matplotlib.colors import Normalize

    bound = largest if largest > 0 else 1.0
    return Normalize(-bound, bound)


def _color_map(name: str, *colors: str) -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, list(colors), N=512).with_extremes(bad=MASKED)
