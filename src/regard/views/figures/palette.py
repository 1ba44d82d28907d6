"""The colors of every figure: those of the HTML page's light theme.

Blue and orange can be told apart with color blindness; what differs by color also differs by marker
or by a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.colors import Colormap

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

DARK_SERIES = (
    "#6fb3f7",
    "#eb9d63",
    "#63c58d",
    "#b79be0",
    "#d1b23c",
    "#ec8fb4",
    "#4fc3d4",
    "#9aa4ad",
)


@dataclass(frozen=True)
class Theme:
    """The colors of a figure on light or dark ground: those of the HTML page."""

    paper: str = PAPER
    ink: str = INK
    muted: str = MUTED
    line: str = LINE
    series: tuple[str, ...] = SERIES


LIGHT = Theme()
DARK = Theme("#1a1e22", "#e7e9eb", "#9aa4ad", "#2e343a", DARK_SERIES)

GAMMA = 0.7  # exponent of the color scale, which makes small weights visible


_COLORS = {
    "weights": (PAPER, ACCENT),
    "signs": (SECOND, PAPER, ACCENT),  # negative and positive
    "turns": (PAPER, ACCENT, INK, SECOND, PAPER),  # a full turn has the color of none
    "masked": (MASKED, MASKED),
}


def color_map(name: str) -> Colormap:
    """The color map of "weights", "signs", "turns" or "masked" cells; missing cells are gray."""
    from matplotlib.colors import LinearSegmentedColormap

    ramp = LinearSegmentedColormap.from_list(f"regard {name}", _COLORS[name], N=512)
    return ramp.with_extremes(bad=MASKED)


def color_scale(signed: bool, largest: float) -> dict[str, Any]:
    """The `cmap` and `norm` for weights up to `largest`, or values from −largest to `largest`."""
    from matplotlib.colors import Normalize, PowerNorm

    bound = largest if largest > 0 else 1.0
    if signed:
        return {"cmap": color_map("signs"), "norm": Normalize(-bound, bound)}
    return {"cmap": color_map("weights"), "norm": PowerNorm(GAMMA, vmin=0.0, vmax=bound)}
