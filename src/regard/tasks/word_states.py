"""How the vector of a word changes from layer to layer, in the sentences that it occurs in.

Layer 0 is the vector of the token in the table, the same in every sentence; layer l is the state
after the l-th layer, which has read the other words.

Shapes: K occurrences, L layers, D features, V words of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.errors import InputError
from regard.models.batch import Batch, Source
from regard.models.rnn.encoder import RnnEncoder
from regard.models.transformer import Layer
from regard.tasks.inspection import inspect
from regard.text import BOS, EOS
from regard.text.tokenizer import SPECIALS
from regard.vectors import Neighbor, Vectors

MAX_OCCURRENCES = 12
MAX_WORDS = 4000
"""Words of the vocabulary that neighbors are chosen from, the most frequent first."""


@dataclass(frozen=True, eq=False)
class WordStates:
    """The vectors of one word.

    contexts   K  the word with its neighbors in the sentence
    states     (K, L + 1, D)  layer 0 is the vector in the table
    neighbors  of each layer and occurrence, the words with the nearest vectors at that layer, each
               read alone
    """

    word: str
    contexts: tuple[str, ...]
    states: NDArray[np.float32]
    neighbors: tuple[tuple[tuple[Neighbor, ...], ...], ...]

    def cosines(self) -> NDArray[np.float32]:
        """(L + 1, K, K): the cosine of every two occurrences at each layer."""
        norms = np.linalg.norm(self.states, axis=-1, keepdims=True)
        unit = (self.states / np.maximum(norms, 1e-12)).swapaxes(0, 1)
        cosines: NDArray[np.float32] = unit @ unit.swapaxes(1, 2)
        return cosines


def word_states(model: Any, texts: Sequence[str], word: str, *, count: int = 5) -> WordStates:
    """Follow a word through the layers of a model that reads the texts.

    Each text must contain the word; `count` is the number of nearest words. A word of several
    tokens has the mean of their vectors.
    """
    contexts, states = [], []
    for number, text in enumerate(texts, 1):
        found = False
        for inspection in inspect(model, [text]):
            view = inspection.view
            groups = view.axis("source").groups
            hidden = hidden_states(model.network, inspection.batch)
            for index, (own, group) in enumerate(zip(view.source_words, groups, strict=True)):
                if own.casefold() == word.casefold() and group:
                    found = True
                    contexts.append(_context(view.source_words, index))
                    states.append(torch.stack([layer[0, list(group)].mean(0) for layer in hidden]))
        if not found:
            raise InputError(
                f"text {number} does not contain the word {word!r}, or the model does not know it: "
                f"{text!r}."
            )
    if not 2 <= len(states) <= MAX_OCCURRENCES:
        raise InputError(
            f"{word!r} must occur 2 to {MAX_OCCURRENCES} times in the texts, to be compared with "
            f"itself, got {len(states)}."
        )
    vectors = torch.stack(states).float().cpu().numpy()
    return WordStates(word, tuple(contexts), vectors, _neighbors(model, vectors, word, count))


def _context(words: Sequence[str], index: int, around: int = 2) -> str:
    if words[0] in SPECIALS:
        words, index = words[1:], index - 1
    start, end = max(0, index - around), min(len(words), index + around + 1)
    text = " ".join(words[start:end])
    return f"{'… ' if start else ''}{text}{' …' if end < len(words) else ''}"


def hidden_states(network: Any, batch: Batch) -> list[Tensor]:
    """(B, T, D) each: the tokens' vectors, then the states after each layer that reads them."""
    ids = batch.inputs if batch.source is None else batch.source.tokens
    with torch.no_grad(), _listening(network) as heard:
        network.features(batch)
        hidden = [_table(network)(ids), *heard]
    widths = {layer.shape[-1] for layer in hidden}
    if len(widths) > 1:
        raise InputError(
            "the vectors of the tokens and the states of this model differ in width "
            f"({', '.join(map(str, sorted(widths)))}), so that they cannot be compared."
        )
    return hidden


@contextmanager
def _listening(network: Any) -> Iterator[list[Tensor]]:
    """Collect the states of the layers that read the text, while the network runs."""
    heard: list[Tensor] = []
    encoder = getattr(network, "encoder", network)

    def listen(module: nn.Module, _: Any, output: Any) -> None:
        heard.append(output.states if isinstance(module, RnnEncoder) else output[0])

    own = [m for m in encoder.modules() if isinstance(m, Layer | RnnEncoder)]
    hooks = [module.register_forward_hook(listen) for module in own]
    try:
        yield heard
    finally:
        for hook in hooks:
            hook.remove()


def _table(network: Any) -> nn.Embedding:
    """The vectors of the tokens that the network reads."""
    source = getattr(network, "source", None) or network.words
    table: nn.Embedding = source if isinstance(source, nn.Embedding) else source.vectors
    return table


def _neighbors(
    model: Any, states: NDArray[np.float32], word: str, count: int
) -> tuple[tuple[tuple[Neighbor, ...], ...], ...]:
    """The nearest words of each layer and occurrence."""
    reads = getattr(model.network, "source", None) is not None
    tokenizer = model.tokenizers.source if reads else model.tokenizer
    pieces = tokenizer.pieces(list(range(len(tokenizer))))
    begins = any(piece.startswith("▁") for piece in pieces)
    words = [  # whole words; of a vocabulary of words, all of them
        (number, piece.removeprefix("▁"))
        for number, piece in enumerate(pieces)
        if (piece.startswith("▁") or not begins) and piece.strip("▁").isalpha()
    ][:MAX_WORDS]
    if not words:
        return ()
    batch, place = _alone(model.network, [number for number, _ in words])
    tables = hidden_states(model.network, batch)
    found = []
    for layer, table in enumerate(tables):
        vectors = Vectors(tuple(name for _, name in words), table[:, place].float().cpu().numpy())
        found.append(
            tuple(
                tuple(
                    near
                    for near in vectors.nearest(row[layer], count + 2)
                    if near.word.casefold() != word.casefold()
                )[:count]
                for row in states
            )
        )
    return tuple(found)


def _alone(network: Any, ids: Sequence[int]) -> tuple[Batch, int]:
    """Each word as a text of its own, and the word's position in it."""
    device = _table(network).weight.device
    begin = torch.full((len(ids), 1), BOS, device=device)
    word = torch.tensor(ids, device=device)[:, None]
    end = torch.full_like(begin, EOS)
    if getattr(network, "source", None) is None:
        return Batch(None, torch.cat([begin, word, end], 1), begin.expand(-1, 3)), 1
    lengths = torch.full((len(ids),), 2, device=device)
    return Batch(Source(torch.cat([word, end], 1), lengths), begin, end), 0
