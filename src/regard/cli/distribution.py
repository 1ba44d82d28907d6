"""A table of the most probable tokens: logits, probabilities, and what sampling makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from regard.config import SearchOptions

BAR = 24  # columns of a probability of 1


class RankedWord(Protocol):
    """A token with its numbers."""

    @property
    def token(self) -> str: ...
    @property
    def logit(self) -> float: ...
    @property
    def probability(self) -> float: ...
    @property
    def sampled(self) -> float: ...


def print_distribution(
    words: Sequence[RankedWord],
    settings: SearchOptions,
    title: str,
    texts: Sequence[str] | None = None,
) -> None:
    """Print a distribution, best first; a line says where top-k or top-p cuts it off."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console, how = Console(highlight=False), _how(settings)
    table = Table(box=box.SIMPLE, title_justify="left")
    table.add_column(escape(title), no_wrap=True)
    for name in ("logit", "probability", *(["sampled"] if how else [])):
        table.add_column(name, justify="right")
    table.add_column("text" if texts else "", overflow="fold")
    cut = False
    for number, word in enumerate(words):
        if how and not word.sampled and not cut:
            table.add_section()
            cut = True
        share = word.sampled if how else word.probability
        numbers = [f"{word.logit:.2f}", f"{word.probability:.1%}"]
        numbers += [f"{word.sampled:.1%}" if word.sampled else "cut"] if how else []
        last = escape(texts[number]) if texts else "█" * round(share * BAR)
        table.add_row(escape(_shown(word.token)), *numbers, last)
    console.print(table)
    listed = sum(word.probability for word in words)
    summary = f"  these {len(words)} have {listed:.1%} of the probability"
    console.print(f"{summary}; {how}" if how else summary)


def _how(settings: SearchOptions) -> str:
    """How sampling changes the probabilities; empty if it does not."""
    parts = [f"temperature {settings.temperature:g}"] if settings.temperature != 1 else []
    parts += [f"top-k {settings.top_k}"] if settings.top_k else []
    parts += [f"top-p {settings.top_p:g}"] if settings.top_p < 1 else []
    return "sampled with " + ", ".join(parts) if parts else ""


def _shown(token: str) -> str:
    return token.replace("▁", " ").strip() or token
