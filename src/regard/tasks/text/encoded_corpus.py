"""A corpus as token ids, in batches, and on disk so that its run can be resumed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from regard.corpus.batches import batches
from regard.models.batch import Batch, batch_of
from regard.training.data_cursor import EpochBatches

Ids = np.ndarray[tuple[int], np.dtype[np.int32]]


class EncodedCorpus(EpochBatches[Batch]):
    """Encoded sentences in batches; `sources` is None for text without a source."""

    def __init__(
        self,
        sources: Sequence[Sequence[int]] | None,
        targets: Sequence[Sequence[int]],
        max_tokens: int,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self.sources = None if sources is None else [np.asarray(s, np.int32) for s in sources]
        self.targets: list[Ids] = [np.asarray(t, np.int32) for t in targets]
        self.max_tokens = max_tokens
        self.lengths_tgt = np.array([len(t) + 1 for t in self.targets], np.int64)
        self.lengths_src = np.array(
            [0 if self.sources is None else len(s) + 1 for s in self.sources or self.targets],
            np.int64,
        )

    def __len__(self) -> int:
        return len(self.targets)

    def cut(self, seed: int, epoch: int) -> list[list[int]]:
        """Return batches of about equal cost, of sentences of about equal length."""
        return batches(self.lengths_src, self.lengths_tgt, self.max_tokens, seed, epoch)

    def batch(self, rows: Sequence[int]) -> Batch:
        """Return the sentences with these indices as one batch."""
        sources = None if self.sources is None else [self.sources[n].tolist() for n in rows]
        return batch_of(sources, [self.targets[n].tolist() for n in rows])


def corpus_tensors(name: str, corpus: EncodedCorpus) -> dict[str, Tensor]:
    """Return a corpus as tensors to be stored, under names that begin with `name`."""
    tensors = {}
    for side, rows in (("source", corpus.sources), ("target", corpus.targets)):
        if rows is not None:
            lengths = torch.tensor([len(row) for row in rows], dtype=torch.int32)
            ids = np.concatenate([*rows, np.zeros(0, np.int32)])
            tensors[f"{name}.{side}"] = torch.from_numpy(ids)
            tensors[f"{name}.{side}.lengths"] = lengths
    return tensors


def stored_ids(tensors: dict[str, Tensor], name: str) -> list[list[int]] | None:
    """Return the rows of ids that `corpus_tensors` stored under a name, if there are any."""
    if name not in tensors:
        return None
    lengths = tensors[f"{name}.lengths"].tolist()
    return [row.tolist() for row in tensors[name].split(lengths)]
