"""Any model's attention in the page's view: as `record` saw it, or as a foreign model gave it.

Shapes: B sentences, H heads, Q queries, K keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.views.foreign import ASK, foreign_maps
from regard.views.notebook import Page
from regard.views.pieces import readable, words_of
from regard.views.sentence import Viewed
from regard.views.spelling import word_groups

if TYPE_CHECKING:
    from regard.attention import AttentionMap

_SIDES = {
    "self": ("source", "source"),
    "causal": ("target", "target"),
    "cross": ("target", "source"),
}
Truths = NDArray[np.bool_]


def show(
    maps: Any,
    tokens: Sequence[str],
    *,
    target_tokens: Sequence[str] | None = None,
    words: Sequence[str] | None = None,
    target_words: Sequence[str] | None = None,
    mask: Any = None,
    target_mask: Any = None,
    row: int = 0,
    start: str = "<s>",
    language: str = "",
    target_language: str = "",
    title: str = "",
    model: str = "",
) -> Page:
    """A model's attention over one text, or over a source and what a decoder wrote.

    maps           what `regard.attention.record` saw of any torch model; or what a model of
                   transformers answered with its attentions (the output, a dict, or the tuple of
                   one tensor (B, H, Q, K) for each layer)
    tokens         of the text or source, as the tokeniser shows them (▁, ## and Ġ are understood)
    target_tokens  what an encoder–decoder wrote, one for each row; one more, and the first is taken
                   for what the decoder read at its start
    words          of each side, if they are not to be found by the tokens' marks
    mask           (B, K) or (K,), 1 or True where there is a token: padding is cut away on either
                   side; `tokens` may still have it or not. `target_mask` is the target's
    row            which sentence of the batch

    >>> import numpy as np
    >>> show([np.full((1, 2, 3, 3), 1 / 3)], ["[CLS]", "hello", "[SEP]"])
    Page('attention', 1 text)
    """
    found = [one for one in foreign_maps(maps) if one.over == "keys"]
    if not found:
        raise ValueError(f"maps must hold at least one attention map over words; {ASK}.")
    keep, keep_target = _kept(mask, row, "mask"), _kept(target_mask, row, "target_mask")
    sides = {"source": keep, "target": keep if target_tokens is None else keep_target}
    for one in found:
        _check(one, row, sides)
    found = [_cut(one, row, sides) for one in found]
    source = _without_padding(tokens, keep)
    if target_tokens is None:
        if any(one.kind == "cross" for one in found):
            raise ValueError("target_tokens are needed: there are maps between two texts.")
        source = _read_tokens(found, source)
        viewed = Viewed.alone(
            found, tokens=source, words=words, language=language, model=model, title=title
        )
    else:
        target = _without_padding(target_tokens, keep_target)
        start, target = _begun(found, start, target)
        viewed = _both(found, source, target, start, words, target_words)
        viewed = replace(
            viewed,
            model=model,
            title=title,
            source_language=language,
            target_language=target_language,
        )
    return Page(title or model or "attention", (viewed,))


def _kept(mask: Any, row: int, name: str) -> Truths | None:
    """Where there is a token, of one sentence."""
    if mask is None:
        return None
    found = np.asarray(mask.detach().cpu() if hasattr(mask, "detach") else mask)
    if found.ndim not in (1, 2) or not np.isin(found, (0, 1)).all():
        raise ValueError(
            f"{name} must be (sentences, tokens) or (tokens,) of ones and zeros, True where there "
            f"is a token, but an array of shape {found.shape} came."
        )
    return np.asarray(found if found.ndim == 1 else found[row], np.bool_)


def _check(one: AttentionMap, row: int, sides: Mapping[str, Truths | None]) -> None:
    """An error if there is no such sentence, or a mask is too short."""
    sentences, keys = len(one.weights), one.weights.shape[-1]
    if not 0 <= row < sentences:
        raise ValueError(f"row must be below {sentences}, the sentences there are, but {row} came.")
    mask = sides[_SIDES[one.kind][1]]
    if mask is not None and len(mask) < keys:
        raise ValueError(f"the mask is of {len(mask)} places, but the maps are of {keys} keys.")


def _cut(one: AttentionMap, row: int, sides: Mapping[str, Truths | None]) -> AttentionMap:
    """One sentence of a map, without the rows and columns of padding."""
    above, beside = _SIDES[one.kind]
    weights, rows = one.weights[row : row + 1], list(one.rows)
    if (columns := sides[beside]) is not None:
        weights = weights[..., np.flatnonzero(columns[: weights.shape[-1]]).tolist()]
    if (kept := sides[above]) is not None:
        places = [n for n, p in enumerate(rows) if p < len(kept) and kept[p]]
        before = np.cumsum(kept) - 1
        weights, rows = weights[:, :, places], [int(before[rows[n]]) for n in places]
    return replace(one, weights=weights, rows=tuple(rows))


def _without_padding(tokens: Sequence[str], keep: Truths | None) -> tuple[str, ...]:
    if keep is None or len(tokens) == int(keep.sum()):
        return tuple(tokens)
    if len(tokens) != len(keep):
        raise ValueError(
            f"there are {len(tokens)} tokens, but the mask is of {len(keep)} places, of which "
            f"{int(keep.sum())} are tokens."
        )
    return tuple(token for token, here in zip(tokens, keep, strict=True) if here)


def _read_tokens(maps: Sequence[AttentionMap], tokens: tuple[str, ...]) -> tuple[str, ...]:
    """The tokens of a text alone; the last that was generated was written and never read."""
    rows = _length(maps)
    if len(tokens) == rows + 1 and all(one.kind == "causal" for one in maps):
        return tokens[:-1]
    if len(tokens) > rows:
        raise ValueError(f"there are {len(tokens)} tokens, but the maps are of {rows}.")
    return tokens


def _length(maps: Sequence[AttentionMap]) -> int:
    return max(position for one in maps for position in one.rows) + 1


def _begun(
    maps: Sequence[AttentionMap], start: str, target: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """What the decoder read first, and what it wrote: a token for each of its rows."""
    own = [one for one in maps if one.kind in ("cross", "causal")]
    if not own:
        raise ValueError("target_tokens came, but there are no maps of a decoder; leave them out.")
    if len(target) == _length(own) + 1:
        return target[0], target[1:]
    return start, target


def _both(
    maps: Sequence[AttentionMap],
    source: tuple[str, ...],
    target: tuple[str, ...],
    start: str,
    words: Sequence[str] | None,
    target_words: Sequence[str] | None,
) -> Viewed:
    own, other = readable(source), readable(target)
    sides = []
    for shown, given in ((own, words), (other, target_words)):
        found, groups = words_of(shown)
        sides.append(
            (found, groups) if given is None else (tuple(given), word_groups(shown, given))
        )
    return Viewed.from_maps(
        maps,
        source_tokens=own,
        target_tokens=other,
        start=start,
        source_words=sides[0][0],
        source_groups=sides[0][1],
        target_words=sides[1][0],
        target_groups=sides[1][1],
    )
