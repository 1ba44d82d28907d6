"""Targets: model folders, and folders to be imported, with one file exchanged.

The first byte of an input says which file, the rest is its content.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks.fuzz.target import MakeTarget, Target
from regard.cli import main
from regard.corpus.grammar import sample
from regard.errors import InputError
from regard.exchange.marian_import import import_marian
from regard.exchange.marian_weights import to_transformers
from regard.folder import CARD, load_weights
from regard.tasks import load

TINY = (
    "--preset tiny --training.steps 1 --training.precision fp32 --training.threads 1 "
    "--training.tensorboard false --training.validate_every 1000 --model.max_length 64 "
    "--training.batch_tokens 200"
)
LAYERS = "--model.dim 4 --model.num_heads 2 --model.ff 4"
ENCODER_DECODER = f"{LAYERS} --model.num_encoder_layers 1 --model.num_decoder_layers 1"
MODELS = {
    "transformer": f"--languages en-fr --text.unit word {ENCODER_DECODER}",
    "pieces": f"--languages en-fr --text.vocab_size 300 {ENCODER_DECODER}",
    "rnn": "--languages en-fr --text.unit char --text.shared false --model.kind rnn "
    "--model.embedding 4 --model.dim 4 --model.attention_dim 4",
    "lm": f"--languages en --text.unit word --model.kind lm --model.num_layers 1 {LAYERS}",
    "mlm": f"--languages en --text.unit word --model.kind mlm --model.num_layers 1 {LAYERS}",
}
WORDS = (
    "null",
    "true",
    "-1",
    "1e999",
    ".nan",
    ".inf",
    "[]",
    "{}",
    "&a",
    "*a",
    "<<: *a",
    "!!python/object",
    "!!binary",
    "kind: ",
    "rnn",
    "lm",
    "mlm",
    "transformer",
    "classifier",
    "handwriting",
    "dim: ",
    "num_heads: ",
    "attention: ",
    "format_version: ",
    '"dtype"',
    '"F16"',
    '"I64"',
    '"shape"',
    '"data_offsets"',
    "__metadata__",
    "pieces",
    "tokens",
    "tags",
    "first",
    "version",
    "1" + "0" * 20,
    "1" + "0" * 310,
)


def _folder(write: Callable[[Path], object], read: Callable[[Path], object]) -> MakeTarget:
    """A target that reads a folder, one of whose files is another."""

    def make(scratch: Path) -> Target:
        whole, changed = scratch / "whole", scratch / "changed"
        if not whole.exists():
            write(whole)
        shutil.rmtree(changed, ignore_errors=True)
        shutil.copytree(whole, changed)
        files = sorted(path.name for path in whole.iterdir() if path.is_file())
        contents = [(whole / name).read_bytes() for name in files]

        def run(data: bytes) -> object:
            number = (data[0] if data else 0) % len(files)
            file = changed / files[number]
            file.write_bytes(data[1:])
            try:
                return read(changed)
            finally:
                file.write_bytes(contents[number])

        seeds = [bytes([number]) + content for number, content in enumerate(contents)]
        words = [word.encode() for word in WORDS]
        return Target(run, seeds, words, max(map(len, seeds)) + 64)

    return make


def _train(flags: str) -> Callable[[Path], None]:
    """A function that writes a model folder by one update of training."""

    def write(folder: Path) -> None:
        pairs = sample("train", 12, seed=3, max_words=5)
        corpus = folder.parent / ("corpus.tsv" if "en-fr" in flags else "corpus.txt")
        rows = (
            f"{pair.source}\t{pair.target}" if corpus.suffix == ".tsv" else pair.source
            for pair in pairs
        )
        corpus.write_text("\n".join(rows) + "\n", encoding="utf-8")
        words = ["train", corpus, "--dev", corpus, "--out", folder, *f"{TINY} {flags}".split()]
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code = main([str(word) for word in words])
        if code:
            raise InputError(f"the model {folder} cannot be trained: {output.getvalue()}")
        (folder / CARD).unlink()  # which no reader reads
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)
        (folder / "latest").unlink(missing_ok=True)

    return write


def _use(folder: Path) -> None:
    model = load(folder, threads=1)
    _ = model.network
    if hasattr(model, "estimate_map_size"):
        model.translate("The cat sleeps.", beam=1)


def _write_marian(folder: Path) -> None:
    """A MarianMT folder with the weights of a small model of ours, under their names."""
    import torch
    from safetensors.torch import save_file

    from regard.config import TransformerSettings
    from regard.models.transformer import TransformerModel
    from regard.text.sentencepiece_tokenizer import train_sentencepiece

    folder.mkdir()
    lines = [pair.source for pair in sample("train", 20, seed=3, max_words=5)]
    model = train_sentencepiece(lines, 290)
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(model.model)
    pieces = model.pieces(range(5, len(model)))
    vocabulary = ["</s>", "<unk>", *pieces, "<pad>"]
    settings = TransformerSettings(
        dim=4, num_heads=2, ff=4, num_encoder_layers=1, num_decoder_layers=1, max_length=16
    )
    network = TransformerModel(settings, len(vocabulary), len(vocabulary))
    weights = to_transformers(network.state_dict(), settings.dim)
    weights["model.shared.weight"] = torch.zeros(len(vocabulary), settings.dim)
    weights["final_logits_bias"] = torch.zeros(1, len(vocabulary))
    save_file(weights, folder / "model.safetensors")
    pad = len(vocabulary) - 1
    config = {
        "model_type": "marian",
        "vocab_size": len(vocabulary),
        "d_model": 4,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 4,
        "decoder_ffn_dim": 4,
        "max_position_embeddings": 16,
        "activation_function": "relu",
        "scale_embedding": True,
        "pad_token_id": pad,
        "eos_token_id": 0,
        "decoder_start_token_id": pad,
        "num_beams": 2,
    }
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    languages = {"source_lang": "eng", "target_lang": "fra"}
    for name, content in (
        ("config", config),
        ("vocab", ids),
        ("tokenizer_config", languages),
        ("generation_config", {"num_beams": 4, "length_penalty": 1.0}),
    ):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")


def _write_old_marian(folder: Path) -> None:
    """The same with a checkpoint of torch."""
    import torch

    _write_marian(folder)
    torch.save(load_weights(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def _import(folder: Path) -> None:
    out = folder.parent / "imported"
    shutil.rmtree(out, ignore_errors=True)
    import_marian(folder, out)
    load(out, threads=1)


FOLDERS: dict[str, MakeTarget] = {
    **{name: _folder(_train(flags), _use) for name, flags in MODELS.items()},
    "marian": _folder(_write_marian, _import),
    "marian-bin": _folder(_write_old_marian, _import),
}
