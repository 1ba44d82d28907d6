"""Show the attention of any model in the browser view.

Shapes: B sentences, H heads, Q queries, K keys.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from glob import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.views.html.notebook import Page
from regard.views.maps.arrays import KIND_NAMES, Bools
from regard.views.maps.external import ADVICE, external_maps, resolve_kinds
from regard.views.maps.pieces import group_words, is_special, readable, words_of
from regard.views.maps.sentence import SentenceView

if TYPE_CHECKING:
    from regard.attention import AttentionMap

_SIDES = {  # of the rows and of the columns
    "self": ("source", "source"),
    "causal": ("target", "target"),
    "cross": ("target", "source"),
}


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
    """Show a model's attention over one text, or over a source and what a decoder wrote.

    maps           what `regard.attention.record` recorded of any torch model; or the output of a
                   transformers model with its attentions (the output, a dict, or the tuple of one
                   tensor (B, H, Q, K) per layer)
    tokens         of the text or source, as the tokenizer writes them (▁, ## and Ġ are understood)
    target_tokens  what an encoder–decoder wrote, one per row; with one more, the first is the
                   decoder's start token
    words          of each side, if they are not to be grouped by the tokens' marks
    mask           (B, K) or (K,), 1 or True where there is a token: padding is cut off on either
                   side; `tokens` may include it or not. `target_mask` is the target's
    row            which sentence of the batch
    start          the decoder's start token, if `target_tokens` does not include it

    >>> import numpy as np
    >>> show([np.full((1, 2, 3, 3), 1 / 3)], ["[CLS]", "hello", "[SEP]"])
    Page('attention', 1 text)
    """
    _check_texts(tokens=tokens, target_tokens=target_tokens, words=words, target_words=target_words)
    external = external_maps(maps, row)
    parts = [part for part in external.maps if part.over == "keys"]
    if not parts:
        raise ValueError(f"maps must have at least one attention map over words; {ADVICE}.")
    keep = _select_mask(mask, row, "mask", external.num_sequences)
    keep_target = _select_mask(target_mask, row, "target_mask", external.num_sequences)
    if target_tokens is None:
        keep = keep_target = _extend_mask(keep, parts, len(tokens))
    masks = {"source": keep, "target": keep_target}
    parts = resolve_kinds(external._replace(maps=[_cut_padding(part, masks) for part in parts]))
    for part in parts:
        _check_weights(part)
    source = _without_padding(tokens, keep)
    if target_tokens is None:
        if any(part.kind == "cross" for part in parts):
            raise ValueError("target_tokens are needed for maps between two texts.")
        if len(source) == _num_rows(parts) + 1 and all(part.kind == "causal" for part in parts):
            source = source[:-1]  # the last generated token was never read
        _check_counts(parts, source, source)
        _check_words(words, source, "words", "tokens")
        view = SentenceView.from_text(parts, tokens=source, words=words)
    else:
        target = _without_padding(target_tokens, keep_target)
        decoder = [part for part in parts if part.kind in ("cross", "causal")]
        if not decoder:
            raise ValueError("target_tokens need maps of a decoder, got none; leave them out.")
        if len(target) == _num_rows(decoder) + 1:
            start, target = target[0], target[1:]
        _check_counts(parts, source, target)
        _check_words(words, source, "words", "tokens")
        _check_words(target_words, target, "target_words", "target_tokens")
        source, target = readable(source), readable(target)
        source_words, source_groups = group_words(source, words)
        target_words, target_groups = group_words(target, target_words)
        view = SentenceView.from_maps(
            parts,
            source_tokens=source,
            target_tokens=target,
            start_token=start,
            source_words=source_words,
            source_groups=source_groups,
            target_words=target_words,
            target_groups=target_groups,
            target_language=target_language,
        )
    view = replace(view, model=model, title=title, source_language=language)
    return Page(title or model or "attention", (view,))


def _check_texts(**texts: Any) -> None:
    """Raise an error if tokens or words are not texts."""
    for name, items in texts.items():
        if items is None and name != "tokens":
            continue
        wrong = (
            [item for item in items if not isinstance(item, str)] if np.iterable(items) else [items]
        )
        if wrong:
            kind = "None" if wrong[0] is None else type(wrong[0]).__name__
            raise TypeError(
                f"{name} must be texts, got {kind}; a tokenizer gives the texts of ids by "
                "convert_ids_to_tokens(ids)."
            )


def _check_weights(part: AttentionMap) -> None:
    """Raise an error if a weight is negative or not finite."""
    for wrong, name in ((~part.weights.isfinite(), "not finite"), (part.weights < 0, "negative")):
        if bool(wrong.any()):
            raise ValueError(
                f"{int(wrong.sum())} weights of the {KIND_NAMES.get(part.kind, part.kind)} map of "
                f"layer {part.layer} are {name}; attention weights are at least zero (padding is "
                "left out by mask=...)."
            )


def _check_counts(
    maps: Sequence[AttentionMap], source: Sequence[str], target: Sequence[str]
) -> None:
    """Raise an error unless there is a token for each row and column of the maps."""
    texts = {"source": ("tokens", source), "target": ("target_tokens", target)}
    if source is target:
        texts["target"] = texts["source"]
    counts: dict[tuple[str, str], int] = {}
    for part in maps:
        rows, columns = _SIDES[part.kind]
        for key, count in (
            ((rows, "rows"), max(part.rows, default=-1) + 1),
            ((columns, "columns"), part.weights.shape[-1]),
        ):
            counts[key] = max(counts.get(key, 0), count)
    for (side, what), count in counts.items():
        name, tokens = texts[side]
        if count != len(tokens):
            raise ValueError(
                f"{name} must be one for each of the maps' {count} {what}, got {len(tokens)}; use "
                f"{'mask' if name == 'tokens' else 'target_mask'}=... if some are padding."
            )


def _check_words(
    words: Sequence[str] | None, tokens: Sequence[str], name: str, tokens_name: str
) -> None:
    """Raise an error if words do not spell the tokens; case and accents may differ."""
    if words is None:
        return
    spelled = [word for word in words_of(readable(tokens))[0] if not _is_name(word)]
    known = re.split("[⁇\ufffd]+|<unk>|\\[UNK\\]", "".join(spelled))  # between unknown tokens
    pattern = "*".join(escape(_letters(part)) for part in known)
    if not fnmatchcase(_letters("".join(word for word in words if not _is_name(word))), pattern):
        raise ValueError(
            f"{name} must spell the {tokens_name}, {_beginning(spelled)}, got {_beginning(words)}; "
            f"without them, words are grouped by the marks of the {tokens_name}."
        )


def _is_name(word: str) -> bool:
    """Whether it is a name such as [CLS] rather than text; an unknown piece is text."""
    return is_special(word) and word.strip("<>[]").lower() != "unk"


def _letters(text: str) -> str:
    """The text without spaces, case and accents."""
    letters = unicodedata.normalize("NFKD", text.replace("▁", " ")).casefold()
    return "".join(c for c in letters if not unicodedata.combining(c) and c not in "⏎⇥ \n\t\r")


def _beginning(words: Sequence[str]) -> str:
    text = " ".join(words)
    return f"“{text[:40]}…”" if len(text) > 40 else f"“{text}”"


def _select_mask(mask: Any, row: int, name: str, num_sequences: int | None) -> Bools | None:
    """The mask of one sentence; generation may have returned several sequences for each."""
    if mask is None:
        return None
    values = np.asarray(mask.detach().cpu() if hasattr(mask, "detach") else mask)
    if values.ndim not in (1, 2) or not np.isin(values, (0, 1)).all():
        raise ValueError(
            f"{name} must be ones and zeros of shape (sentences, tokens) or (tokens,), True where "
            f"there is a token, got shape {values.shape}."
        )
    if values.ndim == 1:
        return np.asarray(values, np.bool_)
    if num_sequences and len(values) and num_sequences % len(values) == 0:
        row //= num_sequences // len(values)
    if not 0 <= row < len(values):
        raise ValueError(f"row must be below {len(values)}, the rows of {name}, got {row}.")
    return np.asarray(values[row], np.bool_)


def _extend_mask(keep: Bools | None, maps: Sequence[AttentionMap], num_tokens: int) -> Bools | None:
    """The mask of a prompt, extended by the generated tokens.

    The last of `num_tokens` tokens may have been written and never read.
    """
    longest = max(part.weights.shape[-1] for part in maps)
    first = min((part.weights.shape[2] for part in maps if 0 in part.rows), default=0)
    if keep is None or longest == first:  # a single pass
        return keep
    if len(keep) == first:
        keep = np.append(keep, np.ones(longest - first, np.bool_))
    if len(keep) == longest and num_tokens in (longest + 1, int(keep.sum()) + 1):
        keep = np.append(keep, True)
    return keep


def _cut_padding(part: AttentionMap, masks: Mapping[str, Bools | None]) -> AttentionMap:
    """The map without the rows and columns of padding."""
    row_mask, column_mask = (masks[side] for side in _SIDES[part.kind])
    weights, rows = part.weights, list(part.rows)
    if column_mask is not None:
        num_keys = weights.shape[-1]
        if len(column_mask) < num_keys:
            raise ValueError(f"mask must cover the maps' {num_keys} keys, got {len(column_mask)}.")
        weights = weights[..., np.flatnonzero(column_mask[:num_keys]).tolist()]
    if row_mask is not None:
        row_indices = [n for n, p in enumerate(rows) if p < len(row_mask) and row_mask[p]]
        position = np.cumsum(row_mask) - 1
        weights, rows = weights[:, :, row_indices], [int(position[rows[n]]) for n in row_indices]
    return replace(part, weights=weights, rows=tuple(rows))


def _without_padding(tokens: Sequence[str], mask: Bools | None) -> tuple[str, ...]:
    if mask is None or len(tokens) == int(mask.sum()):
        return tuple(tokens)
    if len(tokens) != len(mask):
        raise ValueError(
            f"mask must have one value per token ({len(tokens)}), got {len(mask)}, of which "
            f"{int(mask.sum())} are tokens."
        )
    return tuple(token for token, is_real in zip(tokens, mask, strict=True) if is_real)


def _num_rows(maps: Sequence[AttentionMap]) -> int:
    return max(position for part in maps for position in part.rows) + 1
