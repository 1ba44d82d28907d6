"""The links of a guided head between the tokens of a corpus: in batches, and on disk.

Rows and columns are those of the attention's weights: a source token is counted from 0, after its
tags; the decoder's inputs begin with BOS, so that a target token is counted from 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.config import Run
from regard.config.guides import Guide
from regard.errors import InputError
from regard.models.batch import Batch, GuidedHead
from regard.tasks.text.id_rows import Rows

TokenLinks = NDArray[np.int32]
"""(n, 2): row and column of each link of a sentence."""


class GuidedRows:
    """A head and the links of every sentence.

    The loss of a head is a mean over the rows that have links, and that of the labels a mean over
    labels. Both are computed in shards of a batch, which are summed, so the head's is summed over
    rows and multiplied by the labels of the corpus per such row: a factor that no shard changes.
    """

    def __init__(self, guide: Guide, links: Sequence[TokenLinks], weight: float, labels: int):
        """`labels` is the number of labels of the corpus."""
        self.guide, self.links = guide, links
        num_rows = sum(len(np.unique(sentence[:, 0])) for sentence in links)
        if not num_rows:
            raise InputError(
                f"training.guide {guide.name}: no sentence has links to learn from; give others."
            )
        self.factor = weight * labels / num_rows

    def head(self, rows: Sequence[int], batch: Batch) -> GuidedHead:
        """Return the head with the links of the given sentences, which make up a batch."""
        guide, num_targets = self.guide, batch.inputs.shape[1]
        num_sources = num_targets if batch.source is None else batch.source.tokens.shape[1]
        num_queries = num_sources if guide.attention == "encoder" else num_targets
        num_keys = num_targets if guide.attention == "decoder" else num_sources
        links = np.zeros((len(rows), num_queries, num_keys), bool)
        for index, row in enumerate(rows):
            query, key = self.links[row].T
            links[index, query, key] = True
        return GuidedHead(
            guide.attention, guide.layer, guide.head, self.factor, torch.from_numpy(links)
        )

    def tensors(self, name: str) -> dict[str, Tensor]:
        """Return the links as tensors to be stored, under names that begin with `name`."""
        key = _key(name, self.guide)
        joined = np.concatenate([*self.links, np.zeros((0, 2), np.int32)])
        lengths = torch.tensor([len(sentence) for sentence in self.links], dtype=torch.int32)
        return {key: torch.from_numpy(joined), f"{key}.lengths": lengths}


def stored_rows(
    tensors: dict[str, Tensor], name: str, guide: Guide, run: Run, targets: Rows
) -> GuidedRows:
    """Return the links that were stored under `name` for a guide."""
    key = _key(name, guide)
    if key not in tensors:
        raise InputError(
            f"training.guide {guide.name}: the run that is resumed has no links for this head; "
            "begin a new run with them, or leave them out."
        )
    lengths = tensors[f"{key}.lengths"].tolist()
    links = [part.numpy() for part in tensors[key].split(lengths)]
    return GuidedRows(guide, links, run.training.guide_weight, _labels(targets))


def new_rows(guide: Guide, links: Sequence[TokenLinks], run: Run, targets: Rows) -> GuidedRows:
    """Return the links of a corpus with these targets."""
    return GuidedRows(guide, links, run.training.guide_weight, _labels(targets))


def _labels(targets: Rows) -> int:
    return sum(len(target) + 1 for target in targets)


def _key(name: str, guide: Guide) -> str:
    return f"{name}.guide.{guide.attention}.{guide.layer}.{guide.head}"
