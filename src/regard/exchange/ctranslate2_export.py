"""`regard export --to ctranslate2`: a folder of CTranslate2 with tokenizers and proof.

CTranslate2 gives no logits, so the log-probabilities of the model's own greedy output are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from regard.config import SearchOptions
from regard.config.search import EnginePrecision
from regard.decoding import score
from regard.decoding.ctranslate2_engine import CTranslate2Engine
from regard.decoding.ctranslate2_folder import open_engine, vocabulary
from regard.exchange.ctranslate2_converter import convert
from regard.exchange.proof import (
    NUM_SENTENCES,
    TOLERANCE,
    Progress,
    Proof,
    compare,
    proof_sentences,
)
from regard.exchange.requirements import (
    CTRANSLATE2_ACTIVATIONS,
    CTRANSLATE2_POSITIONS,
    exportable,
    needed,
)
from regard.folder import SavedModel, save_tokenizers
from regard.models.batch import Source, source_of
from regard.models.transformer import TransformerModel
from regard.storage import atomic_folder
from regard.text.tokenizer import BOS, MASK, PAD, UNK

MODEL = "ctranslate2"


class CTranslate2Runner:
    """A folder of CTranslate2, for the proof."""

    compared = "log-probabilities"
    tolerance: float | None

    def __init__(self, engine: CTranslate2Engine, precision: EnginePrecision) -> None:
        self.engine = engine
        self.tolerance = TOLERANCE if precision == "fp32" else None

    def difference(
        self, network: Any, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]
    ) -> float:
        own = score(network, source_of(sources), outputs)
        unscored = [one._replace(token_log_probabilities=()) for one in own]  # else it keeps ours
        found = self.engine.token_log_probabilities(sources, unscored, SearchOptions())
        pairs = (
            zip(one.token_log_probabilities, other.token_log_probabilities, strict=False)
            for one, other in zip(own, found, strict=True)
        )
        return max(abs(a - b) for tokens in pairs for a, b in tokens)

    def search(self, source: Source, options: SearchOptions) -> list[tuple[int, ...]]:
        rows = [
            row[: length - 1]
            for row, length in zip(source.tokens.tolist(), source.lengths.tolist(), strict=True)
        ]
        found = self.engine.search(rows, options)
        return [result[0].tokens if result else () for result in found]


def export_ctranslate2(
    saved: SavedModel,
    out: Path,
    progress: Progress = lambda _: None,
    threads: int = 0,
    count: int = NUM_SENTENCES,
    precision: EnginePrecision = "fp32",
) -> Proof:
    """Write a folder of CTranslate2, run and compare it."""
    exportable(
        saved.run,
        "ctranslate2",
        positions=CTRANSLATE2_POSITIONS,
        activations=CTRANSLATE2_ACTIVATIONS,
    )
    ctranslate2 = needed("ctranslate2")
    network = cast(TransformerModel, saved.network)
    tokenizers = saved.tokenizers
    texts, drawn_from = proof_sentences(saved, count)
    with atomic_folder(out) as folder:
        convert(network, saved.run, tokenizers, folder / MODEL, int8=precision == "int8")
        for file in (folder / MODEL).iterdir():  # which wants a folder of its own
            file.replace(folder / file.name)
        (folder / MODEL).rmdir()
        save_tokenizers(folder, tokenizers)
        target = vocabulary(tokenizers.target)
        engine = open_engine(
            folder,
            tokenizers.source,
            tokenizers.target,
            max_length=network.max_length,
            threads=max(1, threads),
            precision=precision,
        )
        sources = [tokenizers.source.encode(text) for text in texts]
        figures = compare(saved, CTranslate2Runner(engine, precision), sources, progress)
        proof = Proof(
            to="ctranslate2",
            runtime=f"ctranslate2 {ctranslate2.__version__}",
            drawn_from=drawn_from,
            more={"precision": precision},
            **figures,
        )
        head = saved.run.alignment
        proof.write(
            folder,
            saved,
            max_length=network.max_length,
            never_generated=[target[token] for token in (PAD, UNK, BOS, MASK)],
            return_attention=f"layer {head.layer}, head {head.head}" if head else "last layer",
        )
    return proof
