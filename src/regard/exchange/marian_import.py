"""`regard import`: a MarianMT folder of `transformers` (as OPUS-MT's) as a model folder of ours.

Marian's ids are 0 </s>, 1 <unk>, …, and its decoder begins with <pad>, which is the last one;
ours are 0 <pad>, 1 <unk>, 2 <s>, 3 </s>, 4 [MASK], then all others as Marian has them. The vector
that the decoder begins with is that of <s>; a special of ours that Marian lacks is never generated.
A Pegasus folder that `regard export --to huggingface` wrote is read in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from regard.config import Run, TextSettings, TransformerSettings
from regard.errors import InputError
from regard.exchange.marian_folder import MarianFolder, load_marian_weights, read_json
from regard.exchange.marian_weights import from_transformers, sines_first
from regard.folder import (
    WEIGHTS,
    Tokenizers,
    save_metrics,
    save_run,
    save_tokenizers,
    save_weights,
)
from regard.models.embedding import NEVER
from regard.models.transformer import TransformerModel
from regard.storage import atomic_folder, replace_file
from regard.text import Tokenizer
from regard.text.marian_tokenizer import MarianTokenizer
from regard.text.sentencepiece_tokenizer import SentencePieceTokenizer
from regard.text.tokenizer import BOS, EOS, MASK, PAD, SPECIALS, UNK

NOWHERE = -1
"""Marks a special of ours that Marian does not have."""


def import_marian(source: Path, out: Path, languages: str = "") -> Run:
    """Write the model in `source` to a new folder of ours; returns its settings."""
    with atomic_folder(out) as draft:
        run, tokenizers, network = _read(source, languages)
        save_run(draft, run)
        save_weights(draft / WEIGHTS, network.state_dict())
        save_tokenizers(draft, tokenizers)
        save_metrics(draft, {"imported_from": source.absolute().name})
        replace_file(draft / "README.md", _card(source, run, network))
    return run


def _read(source: Path, languages: str) -> tuple[Run, Tokenizers, TransformerModel]:
    """The settings, the tokenizers and the network of a MarianMT folder."""
    folder = MarianFolder.read(source)
    weights = load_marian_weights(source)
    settings = folder.model(weights)
    separate = bool(folder.tokenizer.get("separate_vocabs"))
    names = ("vocab.json", "target_vocab.json" if separate else "vocab.json")
    most = max((len(table) for table in weights.values() if table.ndim == 2), default=0)
    vocabularies = [_Vocabulary.read(folder, name, most) for name in names]
    tokenizers = _tokenizers(folder, vocabularies)
    run = Run(
        languages=languages or folder.languages(),
        model=settings,
        text=TextSettings(
            unit="unigram", shared=tokenizers.shared, vocab_size=len(tokenizers.target)
        ),
        decoding=folder.search(),
    )
    network = TransformerModel(settings, len(tokenizers.source), len(tokenizers.target))
    try:
        ours = from_transformers(weights, network.state_dict(), settings.dim)
        ours |= _embeddings(folder, weights, settings, vocabularies)
        _check_positions(weights, network, settings)
        network.load_state_dict(ours)
    except (KeyError, IndexError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"{source}: the weights do not fit config.json ({reason}); download the folder again."
        ) from error
    return run, tokenizers, network


class _Vocabulary:
    """Marian's pieces of one side and, for each of our ids, the row of theirs (or NOWHERE)."""

    def __init__(self, pieces: Sequence[str], start: int, pad: int, eos: int) -> None:
        ids = {piece: number for number, piece in enumerate(pieces)}
        specials = {UNK: ids[SPECIALS[UNK]], EOS: eos, BOS: start}
        if pad not in specials.values():  # with Marian, the decoder begins with it
            specials[PAD] = pad
        if SPECIALS[MASK] in ids:
            specials[MASK] = ids[SPECIALS[MASK]]
        taken = set(specials.values())
        self.rows = [specials.get(special, NOWHERE) for special in range(len(SPECIALS))]
        self.rows += [number for number in range(len(pieces)) if number not in taken]
        self.pieces = [*SPECIALS, *(pieces[row] for row in self.rows[len(SPECIALS) :])]

    @classmethod
    def read(cls, folder: MarianFolder, name: str, most: int) -> _Vocabulary:
        """Read vocab.json; ids without a piece get a name of their own.

        most  the number of rows of the largest table of the weights
        """
        file = folder.path / name
        content = read_json(file)
        num_rows = folder.num_rows(target=name != "vocab.json")
        try:
            size = max(num_rows, 1 + max(_id(number, most) for number in content.values()))
            if size > most:
                raise ValueError(f"{size} rows, where the weights have {most}")
            pieces = [f"<{number}>" for number in range(size)]
            for piece, number in content.items():
                pieces[number] = piece
            pad, eos = (_id(folder.config[f"{name}_token_id"], size) for name in ("pad", "eos"))
            start = folder.value("decoder_start_token_id")
            return cls(pieces, pad if start is None else _id(start, size), pad, eos)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(
                f"{file}: this is no vocabulary of ids with </s>, <unk> and <pad> ({error}); "
                "download it again."
            ) from error

    def table(self, weight: Tensor) -> Tensor:
        """A table (V, D), or a bias (V,), with the rows of our ids; zero where Marian has none."""
        rows = torch.tensor(self.rows)
        taken = weight.float()[rows.clamp(min=0)]
        taken[rows == NOWHERE] = 0.0 if weight.ndim > 1 else NEVER
        return taken


def _id(number: object, limit: int) -> int:
    """An id of a vocabulary; anything else is a ValueError."""
    if type(number) is not int or not 0 <= number < limit:
        raise ValueError(f"an id must be a whole number from 0 to {limit - 1}, got {number!r:.50}")
    return number


def _embeddings(
    folder: MarianFolder,
    weights: dict[str, Tensor],
    settings: TransformerSettings,
    vocabularies: Sequence[_Vocabulary],
) -> dict[str, Tensor]:
    """The tables of source, target and output, and its bias."""
    order = sines_first(settings.dim).argsort()
    scale = 1.0 if folder.config.get("scale_embedding") else settings.dim**-0.5
    shared = weights.get("model.shared.weight", weights.get("lm_head.weight"))
    decoder = weights.get("model.decoder.embed_tokens.weight", shared)
    encoder = weights.get("model.encoder.embed_tokens.weight", shared)
    encoder = decoder if encoder is None else encoder
    if encoder is None or decoder is None:
        raise KeyError("model.shared.weight")
    untied = not folder.config.get("tie_word_embeddings", True)
    output = weights["lm_head.weight"] if untied else decoder
    source, target = vocabularies
    bias = weights.get("final_logits_bias", torch.zeros(1, len(output)))[0]
    return {
        "source.vectors.weight": source.table(encoder)[:, order] * scale,
        "target.vectors.weight": target.table(decoder)[:, order] * scale,
        "output.weight": target.table(output)[:, order],
        "output.bias": target.table(bias),
    }


def _check_positions(
    weights: dict[str, Tensor], network: TransformerModel, settings: TransformerSettings
) -> None:
    """Raise an error if a folder stores positions that are not sinusoidal."""
    table = network.source.place.add(torch.zeros(1, settings.max_length, settings.dim))[0]
    for side in ("encoder", "decoder"):
        stored = weights.get(f"model.{side}.embed_positions.weight")
        if stored is None:
            continue
        expected = table[:, sines_first(settings.dim)]
        if stored.shape != table.shape or not torch.allclose(stored.float(), expected, atol=1e-2):
            raise InputError(
                "the positions of the model are not sinusoidal; it cannot be imported."
            )


def _tokenizers(folder: MarianFolder, vocabularies: Sequence[_Vocabulary]) -> Tokenizers:
    """The tokenizers of both sides; one if they are the same."""
    models = []
    for name in ("source.spm", "target.spm"):
        try:
            models.append((folder.path / name).read_bytes())
        except OSError as error:
            raise InputError(
                f"{folder.path / name}: the SentencePiece model cannot be read "
                f"({error.strerror}); only models with source.spm and target.spm can be imported."
            ) from error
    source = _tokenizer(models[0], vocabularies[0], folder.path / "source.spm")
    target = _tokenizer(models[1], vocabularies[1], folder.path / "target.spm")
    same = models[0] == models[1] and vocabularies[0].pieces == vocabularies[1].pieces
    return Tokenizers(source, source if same else target)


def _tokenizer(model: bytes, vocabulary: _Vocabulary, file: Path) -> Tokenizer:
    """A SentencePiece model that regard trained keeps its ids; others have those of vocab.json."""
    try:
        native = SentencePieceTokenizer.from_bytes(model, file)
        if native.pieces(range(len(native))) == vocabulary.pieces:
            return native
    except InputError:
        pass
    try:
        return MarianTokenizer(model, vocabulary.pieces)
    except RuntimeError as error:
        raise InputError(
            f"{file}: this is not a SentencePiece model; download it again."
        ) from error


def _card(source: Path, run: Run, network: TransformerModel) -> str:
    """README.md of an imported model."""
    count = sum(parameter.numel() for parameter in network.parameters())
    return (
        f"# {run.languages or 'Translation'} ({source.absolute().name})\n\n"
        f"A Transformer of {count:,} parameters, imported from a MarianMT folder.\n\n"
        "Its licence and its training data are those of the model that was imported.\n"
    )
