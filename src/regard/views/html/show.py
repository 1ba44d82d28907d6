"""Any model's attention in the page's view: as `record` saw it, or as a foreign model gave it.

Shapes: B sentences, H heads, Q queries, K keys.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.views.html.notebook import Page
from regard.views.maps.foreign import ASK, decided, foreign_maps
from regard.views.maps.pieces import is_special, plain, readable, words_of
from regard.views.maps.sentence import Viewed
from regard.views.maps.spelling import word_groups

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
    _check_texts(tokens=tokens, target_tokens=target_tokens, words=words, target_words=target_words)
    answer = foreign_maps(maps, row)
    found = [one for one in answer.maps if one.over == "keys"]
    if not found:
        raise ValueError(f"maps must hold at least one attention map over words; {ASK}.")
    keep = _kept(mask, row, "mask", answer.sequences)
    keep_target = _kept(target_mask, row, "target_mask", answer.sequences)
    if target_tokens is None:
        keep = _with_written(keep, found, len(tokens))
    sides = {"source": keep, "target": keep if target_tokens is None else keep_target}
    for one in found:
        _check(one, sides)
    found = decided(answer._replace(maps=[_cut(one, sides) for one in found]))
    for one in found:
        _check_weights(one)
    source = _without_padding(tokens, keep)
    if target_tokens is None:
        if any(one.kind == "cross" for one in found):
            raise ValueError("target_tokens are needed: there are maps between two texts.")
        source = _read_tokens(found, source)
        _check_columns(found, source, source)
        _check_words(words, source, "words", "tokens")
        viewed = Viewed.alone(
            found, tokens=source, words=words, language=language, model=model, title=title
        )
    else:
        target = _without_padding(target_tokens, keep_target)
        start, target = _begun(found, start, target)
        _check_columns(found, source, target)
        _check_words(words, source, "words", "tokens")
        _check_words(target_words, target, "target_words", "target_tokens")
        viewed = _both(found, source, target, start, words, target_words)
        viewed = replace(
            viewed,
            model=model,
            title=title,
            source_language=language,
            target_language=target_language,
        )
    return Page(title or model or "attention", (viewed,))


def _check_texts(**texts: Any) -> None:
    """An error if tokens or words are something else than texts."""
    for name, given in texts.items():
        if given is None:
            if name == "tokens":
                raise TypeError(
                    "tokens must be texts, one for each row of the maps, but None came."
                )
            continue
        wrong = given if not hasattr(given, "__len__") else next(
            (one for one in given if not isinstance(one, str)), None
        )  # fmt: skip
        if wrong is not None:
            raise TypeError(
                f"{name} must be texts, but {type(wrong).__name__} came; a tokeniser gives the "
                "texts of numbers by convert_ids_to_tokens(ids)."
            )


def _check_weights(one: AttentionMap) -> None:
    """An error if a weight is negative or no number."""
    for wrong, name in ((~one.weights.isfinite(), "are no numbers"), (one.weights < 0, "negative")):
        if bool(wrong.any()):
            what = name if name.startswith("are") else f"are {name}"
            kind = {"self": "encoder", "causal": "decoder"}.get(one.kind, one.kind)
            raise ValueError(
                f"{int(wrong.sum())} weights of the {kind} map of layer {one.layer} {what}; "
                "attention weights are from zero on (padding is left out by mask=...)."
            )


def _check_columns(
    maps: Sequence[AttentionMap], source: Sequence[str], target: Sequence[str]
) -> None:
    """An error if a side of the maps has more places than there are tokens."""
    given = {"source": ("tokens", len(source)), "target": ("target_tokens", len(target))}
    if source is target:
        given["target"] = given["source"]
    length: dict[tuple[str, str], int] = {}
    for one in maps:
        above, beside = _SIDES[one.kind]
        for key, found in (
            ((above, "rows"), max(one.rows, default=-1) + 1),
            ((beside, "columns"), one.weights.shape[-1]),
        ):
            length[key] = max(length.get(key, 0), found)
    for (side, what), found in length.items():
        name, count = given[side]
        if found != count:
            masked = "mask" if name == "tokens" else "target_mask"
            raise ValueError(
                f"there are {count} {name}, but the maps have {found} {what} for them; give one "
                f"for each, and {masked}=... if some are padding."
            )


def _check_words(
    words: Sequence[str] | None, tokens: Sequence[str], name: str, others: str
) -> None:
    """An error if words do not spell what the tokens do; case and accents may differ."""
    if words is None:
        return
    spelled = [word for word in words_of(readable(tokens))[0] if not _names_nothing(word)]
    own = _letters("".join(word for word in words if not _names_nothing(word)))
    place = 0
    parts = re.split("[⁇\ufffd]+|<unk>|\\[UNK\\]", "".join(spelled))
    for number, part in enumerate(map(_letters, parts)):
        found = own.startswith(part) - 1 if number == 0 else own.find(part, place)
        if number == len(parts) - 1 and found >= 0:
            ends = len(own) - len(part)
            found = ends if own.endswith(part) and ends >= place else -1
            if number == 0 and own != part:
                found = -1
        if found < 0:
            raise ValueError(
                f"{name} do not spell the {others}: {_beginning(words)} is not "
                f"{_beginning(spelled)}; leave them out, and words are found by the marks of "
                f"the {others}."
            )
        place = found + len(part)


def _names_nothing(word: str) -> bool:
    """Whether it is a name such as [CLS] rather than text; an unknown piece is text."""
    return is_special(word) and word.strip("<>[]").lower() != "unk"


def _letters(text: str) -> str:
    """What is compared of a text: no spaces, no case, no accents."""
    plain = unicodedata.normalize("NFKD", text.replace("▁", " ")).casefold()
    return "".join(c for c in plain if not unicodedata.combining(c) and c not in "⏎⇥ \n\t\r")


def _beginning(words: Sequence[str]) -> str:
    text = " ".join(words)
    return f"“{text[:40]}…”" if len(text) > 40 else f"“{text}”"


def _kept(mask: Any, row: int, name: str, sequences: int | None) -> Truths | None:
    """Where there is a token, of one sentence; several sequences may have been written of each."""
    if mask is None:
        return None
    found = np.asarray(mask.detach().cpu() if hasattr(mask, "detach") else mask)
    if found.ndim not in (1, 2) or not np.isin(found, (0, 1)).all():
        raise ValueError(
            f"{name} must be (sentences, tokens) or (tokens,) of ones and zeros, True where there "
            f"is a token, but an array of shape {found.shape} came."
        )
    if found.ndim == 1:
        return np.asarray(found, np.bool_)
    if sequences and len(found) and sequences % len(found) == 0:
        row //= sequences // len(found)
    if not 0 <= row < len(found):
        raise ValueError(f"row must be below {len(found)}, the rows of {name}, but {row} came.")
    return np.asarray(found[row], np.bool_)


def _with_written(keep: Truths | None, maps: Sequence[AttentionMap], count: int) -> Truths | None:
    """The mask of a text alone, with the tokens that were written after those it is of.

    The last one of `count` tokens may have been written and never read.
    """
    longest = max(one.weights.shape[-1] for one in maps)
    first = min((one.weights.shape[2] for one in maps if 0 in one.rows), default=0)
    if keep is None or longest == first:  # in one pass
        return keep
    if len(keep) == first:
        keep = np.append(keep, np.ones(longest - first, np.bool_))
    if len(keep) == longest and count in (longest + 1, int(keep.sum()) + 1):
        keep = np.append(keep, True)
    return keep


def _check(one: AttentionMap, sides: Mapping[str, Truths | None]) -> None:
    """An error if a mask is too short."""
    keys = one.weights.shape[-1]
    mask = sides[_SIDES[one.kind][1]]
    if mask is not None and len(mask) < keys:
        raise ValueError(f"the mask is of {len(mask)} places, but the maps are of {keys} keys.")


def _cut(one: AttentionMap, sides: Mapping[str, Truths | None]) -> AttentionMap:
    """One sentence of a map, without the rows and columns of padding."""
    above, beside = _SIDES[one.kind]
    weights, rows = one.weights, list(one.rows)
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
        if given is None:
            sides.append(words_of(shown))
        else:
            sides.append((tuple(given), word_groups(plain(shown), given)))
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
