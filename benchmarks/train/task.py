"""The task of all contenders: sizes, settings, and the batches as ids.

Contenders in other environments import this file, so it uses the standard library only.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

Rows = list[list[int]]


@dataclass(frozen=True)
class Sizes:
    """The model: a pre-norm Transformer with sinusoidal positions, all embeddings tied."""

    dim: int = 256
    heads: int = 4
    ff: int = 1024
    layers: int = 3  # of the encoder, and of the decoder
    vocab: int = 8000


@dataclass(frozen=True)
class Pairs:
    """A batch: rows of ids of both sides, without BOS, EOS or padding."""

    sources: Rows
    targets: Rows

    @property
    def tokens(self) -> int:
        """Number of target tokens with EOS."""
        return sum(len(row) + 1 for row in self.targets)


@dataclass(frozen=True)
class Task:
    """Warm-up batches, then the timed ones, which are repeated in every round.

    dropout applies to embeddings, sub-layers, attention weights and inside feed-forward.
    """

    sizes: Sizes = field(default_factory=Sizes)
    warmup: list[Pairs] = field(default_factory=list)
    timed: list[Pairs] = field(default_factory=list)
    rounds: int = 3
    threads: int = 1
    dropout: float = 0.1
    smoothing: float = 0.1
    rate: float = 1e-4
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-9
    seed: int = 0

    def part(self, number: int, count: int) -> Task:
        """Every `count`-th sentence of each batch from `number` on, for one thread."""

        def cut(batches: list[Pairs]) -> list[Pairs]:
            return [Pairs(p.sources[number::count], p.targets[number::count]) for p in batches]

        return replace(self, warmup=cut(self.warmup), timed=cut(self.timed), threads=1)

    def order(self) -> list[Pairs]:
        """Every batch in the order of the steps."""
        return self.warmup + self.timed * self.rounds

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: str | Path) -> Task:
        """The task that `write` wrote."""
        fields = json.loads(Path(path).read_text(encoding="utf-8"))
        fields["sizes"] = Sizes(**fields["sizes"])
        fields["betas"] = tuple(fields["betas"])
        for part in ("warmup", "timed"):
            fields[part] = [Pairs(**pairs) for pairs in fields[part]]
        return cls(**fields)
