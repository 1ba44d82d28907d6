"""`regard export --to onnx`: two graphs that onnxruntime runs, the tokenizers, and the proof."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch

from regard.config import SearchOptions
from regard.decoding import search
from regard.exchange.onnx_graph import ACTIVATIONS, decoder_graph, encoder_graph
from regard.exchange.onnx_model import DECODER, ENCODER, OnnxModel
from regard.exchange.proof import (
    NUM_SENTENCES,
    TOLERANCE,
    Progress,
    Proof,
    compare,
    logit_difference,
    proof_sentences,
)
from regard.exchange.requirements import exportable, needed
from regard.folder import SavedModel, save_tokenizers
from regard.models.batch import Source, batch_of
from regard.models.transformer import TransformerModel
from regard.storage import atomic_folder, replace_file
from regard.text.tokenizer import BOS, EOS, MASK, PAD, UNK
from regard.version import __version__

CARD = """# {name} in ONNX

Run by onnxruntime; written by regard {version}. `export.json` has the proof and the special ids.

    encoder.onnx  tokens (B, S) and lengths (B,): ids (int64) with eos, padded, and how many
                  ▶ memory.0.key, memory.0.value, … of each layer of the decoder
    decoder.onnx  tokens (B,): bos, then the last token; lengths; memory.…;
                  cache.0.key, … (B, H, P, E), which are empty (P = 0) at first
                  ▶ logits (B, V) of the next token; present.0.key, …: the next step's caches
"""

POSITIONS = ("sinusoidal", "learned", "rotary", "alibi", "relative", "none")


class OnnxRunner:
    """An `OnnxModel` for the proof."""

    compared = "logits"
    tolerance: float | None = TOLERANCE

    def __init__(self, model: OnnxModel) -> None:
        self.model = model

    def difference(
        self, network: Any, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]
    ) -> float:
        batch = batch_of(sources, outputs)
        assert batch.source is not None
        state, logits = self.model.start(batch.source), []
        for tokens in batch.inputs.T:
            step, state, _ = self.model.step(state, tokens)
            logits.append(step)
        return logit_difference(network, batch, torch.stack(logits, dim=1))

    def search(self, source: Source, options: SearchOptions) -> list[tuple[int, ...]]:
        return [ranked[0].tokens for ranked in search(self.model, source, options)]


def export_onnx(
    saved: SavedModel,
    out: Path,
    progress: Progress = lambda _: None,
    threads: int = 0,
    count: int = NUM_SENTENCES,
) -> Proof:
    """Write encoder.onnx and decoder.onnx to a new folder, run and compare them."""
    settings = exportable(saved.run, "onnx", positions=POSITIONS, activations=ACTIVATIONS)
    onnx, onnxruntime = needed("onnx"), needed("onnxruntime")
    network = cast(TransformerModel, saved.network)
    texts, drawn_from = proof_sentences(saved, count)
    sources = [saved.tokenizers.source.encode(text) for text in texts]
    with atomic_folder(out) as folder:
        with torch.no_grad():
            onnx.save_model(encoder_graph(network, settings.activation), folder / ENCODER)
            onnx.save_model(decoder_graph(network, settings.activation), folder / DECODER)
        save_tokenizers(folder, saved.tokenizers)
        name = saved.path.absolute().name
        replace_file(folder / "README.md", CARD.format(name=name, version=__version__))
        runner = OnnxRunner(OnnxModel(folder, network.max_length, threads))
        figures = compare(saved, runner, sources, progress)
        runtime = f"onnxruntime {onnxruntime.__version__}"
        proof = Proof(to="onnx", runtime=runtime, drawn_from=drawn_from, **figures)
        proof.write(
            folder,
            saved,
            max_length=network.max_length,
            ids={"pad": PAD, "unk": UNK, "bos": BOS, "eos": EOS},
            never_generated=[PAD, UNK, BOS, MASK],
        )
    return proof
