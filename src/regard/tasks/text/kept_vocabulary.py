"""The vocabulary of a model that another run begins with: kept, and perhaps with more tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.corpus.pairs import Pair
from regard.folder import Tokenizers, load_tokenizers


def known_tokenizers(folder: Path, pairs: Sequence[Pair]) -> Tokenizers:
    """Return the tokenizers in a folder, with those tags of the pairs that they do not have."""
    kept = load_tokenizers(folder)
    tags = dict.fromkeys(tag for pair in pairs for tag in pair.tags)
    new = [tag for tag in tags if tag not in kept.source.tags]
    if not new:
        return kept
    source = kept.source.with_tags(new)
    return Tokenizers(source, source if kept.shared else kept.target)


def grown_weights(
    weights: Mapping[str, Tensor], network: nn.Module, tokenizers: Tokenizers
) -> dict[str, Tensor]:
    """Return a model's weights for a network with more tags, which are the last ids.

    The rows of new tags, of embeddings and output, are those of the network, which are random.
    """
    sizes, own = {len(tokenizers.source), len(tokenizers.target)}, network.state_dict()
    grown = dict(weights)
    for name, old in weights.items():
        new = own.get(name)
        if new is None or new.shape == old.shape or new.shape[1:] != old.shape[1:]:
            continue
        if new.shape[0] in sizes and old.shape[0] < new.shape[0]:
            grown[name] = torch.cat([old, new[old.shape[0] :].to(old)])
    return grown
