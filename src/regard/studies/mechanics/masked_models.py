"""Small language models that differ in how they mask, for the study `mask`.

Shapes: B sentences, T tokens (all sentences are of one length, so that there is no padding),
V tokens of the vocabulary, Q queries, K keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention import Mask, MultiHead
from regard.config import LanguageModelSettings
from regard.corpus.grammar import sample
from regard.models.lm import LanguageModel
from regard.models.parts import attention_positions
from regard.text import BOS, EOS, PAD

WORDS = 9
"""Words of every sentence, the full stop included."""
SETTINGS = LanguageModelSettings(
    dim=64, num_heads=4, num_layers=2, ff=128, dropout=0.0, max_length=512
)
RATE, BATCH = 3e-3, 64


class ZeroAfterSoftmax:
    """weight_j = keep_j · exp(s_j) / Σ_k exp(s_k), the sum over masked keys too."""

    engines = frozenset({"dense"})
    sums_to_one = False

    def __call__(
        self, scores: Tensor, keep: Tensor | None = None, *, finite: bool = False
    ) -> Tensor:
        weights = torch.softmax(scores, dim=-1)
        return weights if keep is None else weights * keep


class MaskedModel(NamedTuple):
    """A language model, and the mask of its self-attention."""

    model: LanguageModel
    mask: Mask

    def logits(self, inputs: Tensor) -> Tensor:
        """Logits (B, T, V) of the token after each of the inputs (B, T), in one pass."""
        return self.model.logits(self.model.encode(inputs, self.mask))

    def separate_logits(self, inputs: Tensor) -> Tensor:
        """The same from T passes, each over the tokens up to one position and no later ones."""
        lengths = range(1, inputs.shape[1] + 1)
        return torch.stack([self.logits(inputs[:, :length])[:, -1] for length in lengths], 1)

    @torch.no_grad()
    def weights(self, inputs: Tensor) -> Tensor:
        """Attention weights (B, H, Q, K) of the first layer."""
        layer = next(iter(self.model.layers))
        x = layer.around_attention.pre(self.model.words(inputs))
        weights: Tensor = layer.attention(x, mask=self.mask, weights=True).weights
        return weights


def masked_model(masking: str, vocabulary: int, seed: int) -> MaskedModel:
    """A new model: `masking` is "before" (−∞ before the softmax), "after" (0 after) or "none"."""
    torch.manual_seed(seed)
    model = LanguageModel(SETTINGS, vocabulary)
    if masking == "after":
        for layer in model.layers:
            attention = MultiHead(
                SETTINGS.dim,
                SETTINGS.num_heads,
                normalizer=ZeroAfterSoftmax(),
                positions=attention_positions(SETTINGS, causal=True),
            )
            attention.load_state_dict(layer.attention.state_dict())
            layer.attention = attention
    return MaskedModel(model, Mask.window(None, None if masking == "none" else 0))


@dataclass(frozen=True)
class Sentences:
    """Training and development sentences as inputs (B, T): BOS and the words."""

    train: Tensor
    dev: Tensor
    words: Sequence[str]
    """The vocabulary in the order of the ids, from PAD on."""


def labels_of(inputs: Tensor) -> Tensor:
    """The next token at each position (B, T): the inputs without BOS, and EOS."""
    return torch.cat([inputs[:, 1:], torch.full_like(inputs[:, :1], EOS)], 1)


def draw_sentences(num_train: int, num_dev: int, seed: int = 0) -> Sentences:
    """English sentences of the built-in grammar, all of the same number of words."""
    draw = partial(sample, min_words=WORDS, max_words=WORDS, seed=seed)
    drawn = [
        [pair.source_words for pair in pairs]
        for pairs in (draw("train", num_train), draw("dev", num_dev))
    ]
    special = {"<pad>": PAD, "<s>": BOS, "</s>": EOS}
    first = max(special.values()) + 1
    known = sorted({word for part in drawn for words in part for word in words})
    numbers = {word: first + at for at, word in enumerate(known)}
    names = {number: word for word, number in {**special, **numbers}.items()}
    train, dev = (
        torch.tensor([[BOS, *(numbers[word] for word in words)] for words in part])
        for part in drawn
    )
    return Sentences(train, dev, [names.get(at, "") for at in range(first + len(known))])


def loss_of(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy per target, in nats; labels that are PAD are no targets."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD)


class Checkpoint(NamedTuple):
    """Losses on the development sentences after a number of training sentences."""

    sentences: int
    apparent: float
    """With the whole sentence as the input, as in training."""
    honest: float
    """With the tokens before each target as the input, as in use."""


@torch.no_grad()
def dev_losses(masked: MaskedModel, dev: Tensor, seen: int) -> Checkpoint:
    """Apparent and honest loss."""
    labels = labels_of(dev)
    apparent = loss_of(masked.logits(dev), labels)
    return Checkpoint(seen, float(apparent), float(loss_of(masked.separate_logits(dev), labels)))


def train(
    masked: MaskedModel,
    sentences: Sentences,
    steps: int,
    seed: int,
    *,
    one_target: bool = False,
    checkpoints: int = 6,
) -> list[Checkpoint]:
    """Train a model in place by Adam, with all targets of a sentence or one chosen at random."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(masked.model.parameters(), lr=RATE)
    losses = []
    for step in range(1, steps + 1):
        rows = torch.randint(len(sentences.train), (BATCH,), generator=generator)
        inputs = sentences.train[rows]
        labels = labels_of(inputs)
        if one_target:
            chosen = torch.randint(inputs.shape[1], (BATCH, 1), generator=generator)
            selected = torch.arange(inputs.shape[1]) == chosen
            labels = labels.masked_fill(~selected, PAD)
        optimizer.zero_grad()
        loss_of(masked.logits(inputs), labels).backward()
        optimizer.step()
        if step * checkpoints // steps > (step - 1) * checkpoints // steps:
            losses.append(dev_losses(masked, sentences.dev, step * BATCH))
    return losses


@torch.no_grad()
def effect_of_the_future(masked: MaskedModel, inputs: Tensor, seed: int) -> float:
    """Mean change of the prediction of the last input token when that token is replaced.

    The change of a prediction is the total variation ½ Σ |p − p'|, from 0 to 1.
    """
    generator = torch.Generator().manual_seed(seed)
    shuffled = inputs[torch.randperm(len(inputs), generator=generator), -2]
    changed = torch.cat([inputs[:, :-1], shuffled[:, None]], 1)
    original, altered = (masked.logits(tokens)[:, -2].softmax(-1) for tokens in (inputs, changed))
    return float((original - altered).abs().sum(-1).mean() / 2)
