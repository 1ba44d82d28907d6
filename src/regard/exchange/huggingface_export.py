"""`regard export --to huggingface`: a folder that `transformers` loads, without code of ours.

A post-norm Transformer is a MarianMT, a pre-norm one (our default) a Pegasus, which is a MarianMT
with its norms before each sub-layer; both with Marian's tokenizer. Our special ids are kept. Where
the source has an embedding of its own, Pegasus' two tables have as many rows as the larger one.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.config import SearchOptions, TransformerSettings
from regard.errors import InputError
from regard.exchange.marian_weights import sines_first, to_transformers
from regard.exchange.proof import (
    NUM_SENTENCES,
    TOLERANCE,
    Progress,
    Proof,
    compare,
    logit_difference,
    proof_sentences,
    without_end,
)
from regard.exchange.requirements import exportable, needed
from regard.folder import SavedModel, save_weights
from regard.models.batch import Source, batch_of
from regard.models.embedding import NEVER
from regard.models.transformer import TransformerModel
from regard.storage import atomic_folder, replace_file
from regard.text.marian_tokenizer import MarianTokenizer
from regard.text.sentencepiece_tokenizer import SentencePieceTokenizer
from regard.text.tokenizer import BOS, EOS, MASK, PAD, SPECIALS, UNK

ACTIVATIONS = ("relu", "gelu", "silu", "tanh")


def export_huggingface(
    saved: SavedModel,
    out: Path,
    progress: Progress = lambda _: None,
    threads: int = 0,
    count: int = NUM_SENTENCES,
) -> Proof:
    """Write the folder, load it with `transformers` and compare."""
    settings = exportable(
        saved.run, "huggingface", positions=("sinusoidal",), activations=ACTIVATIONS
    )
    if saved.run.text.unit not in ("bpe", "unigram"):
        raise InputError(
            f"huggingface cannot hold a model with text.unit {saved.run.text.unit}; train one with "
            "bpe or unigram, which are SentencePiece."
        )
    transformers = needed("transformers")
    texts, drawn_from = proof_sentences(saved, count)
    with atomic_folder(out) as folder:
        sizes = len(saved.tokenizers.source), len(saved.tokenizers.target)
        config = _config(settings, *sizes)
        _write_json(folder / "config.json", config)
        _write_json(folder / "generation_config.json", _generation(saved, settings))
        save_weights(folder / "model.safetensors", _weights(saved, settings, config))
        _write_tokenizer(folder, saved)
        runner = TransformersRunner(folder, transformers)
        sources = [saved.tokenizers.source.encode(text) for text in texts]
        read = sum(map(list.__eq__, sources, map(runner.encode, texts)))
        figures = compare(saved, runner, sources, progress)
        proof = Proof(
            to="huggingface",
            runtime=f"transformers {transformers.__version__}",
            drawn_from=drawn_from,
            more={"class": config["architectures"][0], "tokenized_equal": read},
            **figures,
        )
        proof.write(folder, saved)
    return proof


class TransformersRunner:
    """A folder loaded by `transformers`, for the proof."""

    compared = "logits"
    tolerance: float | None = TOLERANCE

    def __init__(self, folder: Path, transformers: Any) -> None:
        logging = transformers.logging
        verbosity = logging.get_verbosity()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            with warnings.catch_warnings(action="ignore"):  # it recommends sacremoses
                self.model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
                self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        finally:
            logging.set_verbosity(verbosity)
            logging.enable_progress_bar()

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without EOS."""
        return list(self.tokenizer(text)["input_ids"])[:-1]

    def difference(
        self, network: Any, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]
    ) -> float:
        batch = batch_of(sources, outputs)
        assert batch.source is not None
        logits: Tensor = self.model(
            input_ids=batch.source.tokens,
            attention_mask=(batch.source.tokens != PAD).long(),
            decoder_input_ids=batch.inputs,
        ).logits
        return logit_difference(network, batch, logits)

    def search(self, source: Source, options: SearchOptions) -> list[tuple[int, ...]]:
        rows = self.model.generate(
            input_ids=source.tokens,
            attention_mask=(source.tokens != PAD).long(),
            num_beams=options.beam,
            length_penalty=options.length_penalty,
            max_length=1 + (options.max_length or self.model.config.max_position_embeddings),
            do_sample=False,
        )
        return [without_end([token for token in row[1:] if token != PAD]) for row in rows.tolist()]


def _config(settings: TransformerSettings, source_vocab: int, target_vocab: int) -> dict[str, Any]:
    """config.json; a setting that Pegasus does not know (of separate embeddings) is left out."""
    marian = settings.norm == "post"
    vocab = {"vocab_size": source_vocab, "decoder_vocab_size": target_vocab}
    vocab |= {"share_encoder_decoder_embeddings": settings.tied == "all"}
    tied = settings.tied != "none" if marian else settings.tied == "all"
    return {
        "architectures": ["MarianMTModel" if marian else "PegasusForConditionalGeneration"],
        "model_type": "marian" if marian else "pegasus",
        "d_model": settings.dim,
        "encoder_layers": settings.num_encoder_layers,
        "decoder_layers": settings.num_decoder_layers,
        "encoder_attention_heads": settings.num_heads,
        "decoder_attention_heads": settings.num_heads,
        "encoder_ffn_dim": settings.ff,
        "decoder_ffn_dim": settings.ff,
        "activation_function": settings.activation,
        "max_position_embeddings": settings.max_length,
        "scale_embedding": True,
        "tie_word_embeddings": tied,
        "dropout": settings.dropout,
        "attention_dropout": settings.attention_dropout,
        "activation_dropout": settings.activation_dropout,
        "is_encoder_decoder": True,
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
        "dtype": "float32",
        **(vocab if marian else {"vocab_size": max(source_vocab, target_vocab)}),
    }


def _generation(saved: SavedModel, settings: TransformerSettings) -> dict[str, Any]:
    """generation_config.json: the search of the model."""
    return {
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "max_length": settings.max_length,
        "num_beams": saved.run.decoding.beam,
        "length_penalty": saved.run.decoding.length_penalty,
        "early_stopping": True,  # finished outputs take the place of live ones, as in our search
        "suppress_tokens": [PAD, UNK, BOS, MASK],
    }


def _weights(
    saved: SavedModel, settings: TransformerSettings, config: dict[str, Any]
) -> dict[str, Tensor]:
    """All parameters under their names; what is tied, once."""
    network = cast(TransformerModel, saved.network)
    order = sines_first(settings.dim)
    weights = to_transformers(network.state_dict(), settings.dim)
    marian = config["model_type"] == "marian"
    rows = 0 if marian else config["vocab_size"]

    def table(vectors: Tensor) -> Tensor:
        missing = max(0, rows - len(vectors))
        return F.pad(vectors.detach()[:, order], (0, 0, 0, missing))

    source, target = (side.vectors.weight for side in (network.source, network.target))
    if settings.tied == "all":
        weights["model.shared.weight"] = table(target)
    else:
        weights["model.encoder.embed_tokens.weight"] = table(source)
        weights["model.decoder.embed_tokens.weight"] = table(target)
        if not config["tie_word_embeddings"]:
            weights["lm_head.weight"] = table(network.output.weight)
        if not marian:  # unused there, but asked for
            weights["model.shared.weight"] = table(source)
    for side, embedding in (("encoder", network.source), ("decoder", network.target)):
        positions = embedding.place.add(torch.zeros(1, settings.max_length, settings.dim))[0]
        weights[f"model.{side}.embed_positions.weight"] = positions[:, order]
    missing = max(0, rows - len(target))
    bias = F.pad(network.output.bias.detach(), (0, missing), value=NEVER)
    weights["final_logits_bias"] = bias[None]
    return weights


def _write_tokenizer(folder: Path, saved: SavedModel) -> None:
    """Write the files of Marian's tokenizer, with our ids."""
    source, target = saved.tokenizers.source, saved.tokenizers.target
    separate = not saved.tokenizers.shared
    for name, tokenizer in (("source.spm", source), ("target.spm", target)):
        assert isinstance(tokenizer, SentencePieceTokenizer | MarianTokenizer)
        replace_file(folder / name, tokenizer.model)
    for name, tokenizer in (("vocab.json", source), ("target_vocab.json", target)):
        if separate or (tokenizer is source and name == "vocab.json"):
            pieces = tokenizer.pieces(range(len(tokenizer)))
            _write_json(folder / name, {piece: number for number, piece in enumerate(pieces)})
    run = saved.run
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "MarianTokenizer",
            "source_lang": run.source_language or None,
            "target_lang": run.target_language or None,
            "separate_vocabs": separate,
            "model_max_length": saved.run.model.max_length,
            "pad_token": SPECIALS[PAD],
            "unk_token": SPECIALS[UNK],
            "eos_token": SPECIALS[EOS],
        },
    )


def _write_json(path: Path, content: dict[str, Any]) -> None:
    replace_file(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
