"""The proof of an export: what another runtime computes from it is what the model computes.

Sentences are translated by both, greedily and with a beam, and the logits of the model's own
translation are compared token by token. B sentences, T target tokens, V tokens of the vocabulary.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from regard.config import SearchOptions
from regard.corpus.pairs import Pair
from regard.decoding import search
from regard.errors import InputError
from regard.folder import WEIGHTS, SavedModel
from regard.models.batch import Batch, Source, source_of
from regard.storage import replace_file
from regard.text import EOS, PAD
from regard.text.normalization import normalize
from regard.text.tokenizer import FIRST_BYTE
from regard.version import __version__

PROOF = "export.json"
NUM_SENTENCES, BATCH = 100, 20
TOLERANCE = 1e-2
"""The largest difference of logits that rounding may make."""

Progress = Callable[[int], None]
"""Is told how many more sentences are done."""


class Runner(Protocol):
    """An exported model in its runtime."""

    compared: str
    """What the difference is of: logits, or log-probabilities."""
    tolerance: float | None
    """The largest difference that may be; None: any."""

    def difference(
        self, network: Any, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]
    ) -> float:
        """Return the largest difference from the network, for outputs that are given."""
        ...

    def search(self, source: Source, options: SearchOptions) -> list[tuple[int, ...]]:
        """Return the best output of each sentence, of at most `options.max_length` tokens."""
        ...


@dataclass(frozen=True)
class Proof:
    """What was compared, and how much of it is equal."""

    to: str
    """The format."""
    runtime: str
    """What ran the exported model, with its version."""
    sentences: int
    drawn_from: str
    """Where the sentences are from: development set, or random tokens."""
    greedy_equal: int
    """Sentences whose greedy output has the same tokens."""
    beam: int
    beam_equal: int
    """Sentences whose best output of beam search has the same tokens."""
    compared: str
    """What else was compared, token by token: logits, or log-probabilities."""
    max_difference: float
    more: dict[str, Any] = field(default_factory=dict)
    """What the format has besides, as the class that loads it."""

    def write(self, folder: Path, saved: SavedModel, **about: Any) -> None:
        """Write export.json: the proof, the model it is of, and facts of the files."""
        digest = hashlib.sha256((saved.path / WEIGHTS).read_bytes()).hexdigest()
        content = {
            "format": self.to,
            "regard": __version__,
            "languages": saved.run.languages,
            "model_sha256": digest,
            **about,
            "proof": self.as_json(),
        }
        replace_file(folder / PROOF, json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    def as_json(self) -> dict[str, Any]:
        """The figures in plain values."""
        values: dict[str, Any] = asdict(self)
        more: dict[str, Any] = values.pop("more")
        return values | more


def development_pairs(folder: Path) -> list[Pair]:
    """The development set that a run keeps beside its checkpoints; damaged or pruned: none."""
    try:
        pairs = json.loads((folder / "checkpoints" / "dev.json").read_text("utf-8"))
        return [
            Pair(str(source), str(target), tuple(str(tag) for tags in rest[:1] for tag in tags))
            for source, target, *rest in pairs
        ]
    except (OSError, ValueError, TypeError, RecursionError):
        return []


def proof_sentences(saved: SavedModel, count: int = NUM_SENTENCES) -> tuple[list[str], str]:
    """Return sentences to compare, and where they are from.

    They are of the development set, if training left it in the folder; else of random tokens.
    """
    texts = [pair.source for pair in development_pairs(saved.path)]
    tokenizer = saved.tokenizers.source
    room = int(saved.run.model.max_length) - 1
    if texts:
        fitting = (text for text in texts if 0 < len(tokenizer.encode(text)) <= room)
        return [text for text, _ in zip(fitting, range(count), strict=False)], "development set"
    pieces = tokenizer.pieces(range(len(tokenizer)))
    known = [n for n in range(FIRST_BYTE, len(pieces)) if not pieces[n].startswith("<")]
    generator = torch.Generator().manual_seed(0)
    while len(texts) < count:
        length = int(torch.randint(1, 24, (), generator=generator))
        drawn = torch.randint(len(known), (length,), generator=generator).tolist()
        text = normalize(tokenizer.decode(known[number] for number in drawn))
        if 0 < len(tokenizer.encode(text)) <= room:
            texts.append(text)
    return texts, "random tokens"


@torch.inference_mode()
def compare(
    saved: SavedModel,
    runner: Runner,
    sources: Sequence[Sequence[int]],
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Return the figures of a proof, for sentences' source ids; other logits are an error."""
    network: Any = saved.network
    beam = max(2, saved.run.decoding.beam)
    penalty = saved.run.decoding.length_penalty
    equal, largest = {1: 0, beam: 0}, 0.0
    for start in range(0, len(sources), BATCH):
        rows = sources[start : start + BATCH]
        source = source_of(rows)
        limit = min(2 * source.tokens.shape[1] + 10, network.max_length)
        for width in equal:
            options = SearchOptions(beam=width, length_penalty=penalty, max_length=limit)
            own = [ranked[0].tokens for ranked in search(network, source, options)]
            found = runner.search(source, options)
            equal[width] += sum(map(tuple.__eq__, own, found))
            if width == 1:
                given = [tokens[: limit - 1] for tokens in own]
                largest = max(largest, runner.difference(network, rows, given))
        progress(len(rows))
    if runner.tolerance is not None and not largest <= runner.tolerance:
        raise InputError(
            f"the exported model computes other {runner.compared} than the model (difference "
            f"{largest:.2g}), so nothing was written; please report it."
        )
    return {
        "sentences": len(sources),
        "greedy_equal": equal[1],
        "beam": beam,
        "beam_equal": equal[beam],
        "compared": runner.compared,
        "max_difference": largest,
    }


def logit_difference(network: Any, batch: Batch, logits: Tensor) -> float:
    """Return the largest difference of the network's logits from others (B, T, V' ≥ V)."""
    expected, real = network(batch), batch.labels != PAD
    return float((expected - logits[..., : expected.shape[-1]])[real].abs().max())


def without_end(tokens: Sequence[int]) -> tuple[int, ...]:
    """The tokens before EOS."""
    ids = list(tokens)
    return tuple(ids[: ids.index(EOS)] if EOS in ids else ids)
