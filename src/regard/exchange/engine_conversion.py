"""The conversion of a model for CTranslate2 as its engine: both precisions, and their check.

The check translates sentences of the development set: in full precision CTranslate2 must give the
log-probabilities of our own forward pass; int8 is used if its BLEU on at least a hundred sentences
is at most 0.1 lower.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import torch

from regard.config import SearchOptions
from regard.config.search import EnginePrecision
from regard.decoding import score
from regard.decoding.ctranslate2_engine import CTranslate2Engine
from regard.decoding.ctranslate2_folder import (
    PROOF,
    Conversion,
    EngineCheck,
    file_checksums,
    note_verified,
    open_engine,
)
from regard.evaluation import corpus_bleu
from regard.exchange.ctranslate2_converter import convert
from regard.exchange.proof import development_pairs
from regard.folder import SavedModel
from regard.models.batch import source_of
from regard.models.transformer import TransformerModel
from regard.storage import atomic_folder, replace_file
from regard.text.tags import tag_ids

PRECISIONS: tuple[EnginePrecision, ...] = ("fp32", "int8")
MAX_COMPARED = 32  # sentences of the development set whose log-probabilities are compared
MAX_SENTENCES = 500  # whose BLEU is measured
MAX_LOG_DIFFERENCE = 0.02


def convert_engine(saved: SavedModel, home: Path, model: str, threads: int) -> None:
    """Write both precisions and their proof, all or nothing, and note that they were made here."""
    with atomic_folder(home, replace=True) as draft:
        engines = {}
        for precision in PRECISIONS:
            _convert(saved, draft / precision, precision)
            engines[precision] = open_engine(
                draft / precision,
                saved.tokenizers.source,
                saved.tokenizers.target,
                max_length=saved.run.model.max_length,
                threads=threads,
                precision=precision,
                device=saved.device,
            )
        check = _check(saved, engines["fp32"], engines["int8"])
        proof = {"model": model, "files": file_checksums(draft), "check": asdict(check)}
        replace_file(draft / PROOF, json.dumps(proof, indent=1) + "\n")
        files = [file_checksums(draft / precision) for precision in PRECISIONS]
        saved.check_unchanged()  # else it were another model's
    for checksums in files:
        note_verified(model, checksums)


def verify_conversion(saved: SavedModel, conversion: Conversion, model: str) -> bool:
    """Whether a conversion is what a new one gives, to the byte; if it is, note that."""
    with TemporaryDirectory(prefix="regard-engine-") as temporary:
        folder = Path(temporary) / conversion.precision
        _convert(saved, folder, conversion.precision)
        same = file_checksums(folder) == conversion.files
    saved.check_unchanged()
    if same:
        note_verified(model, conversion.files)
    return same


def _convert(saved: SavedModel, folder: Path, precision: EnginePrecision) -> None:
    network = cast(TransformerModel, saved.network)
    convert(network, saved.run, saved.tokenizers, folder, int8=precision == "int8")


def _check(saved: SavedModel, fp32: CTranslate2Engine, int8: CTranslate2Engine) -> EngineCheck:
    """Translate development sentences with both; wrong log-probabilities are an error."""
    pairs = development_pairs(saved.path)[:MAX_SENTENCES]
    tokenizer, room = saved.tokenizers.source, fp32.max_length - 1
    encoded = [
        ([*tag_ids(tokenizer.tags, pair.tags), *tokenizer.encode(pair.source)], pair.target)
        for pair in pairs
    ]
    encoded = [(ids, target) for ids, target in encoded if 0 < len(ids) <= room]
    if not encoded:  # nothing is known of the language: compare on sentences of single tokens
        known = len(saved.tokenizers.source)
        encoded = [([number % known], "") for number in range(5, 5 + MAX_COMPARED)]
        pairs = []
    sources = [ids for ids, _ in encoded]
    options = replace(saved.run.decoding, sample=False, n_best=1)
    if not CTranslate2Engine.can_search(options):
        options = SearchOptions()
    difference = _log_difference(saved, fp32, sources[:MAX_COMPARED], options)
    if difference > MAX_LOG_DIFFERENCE:
        raise ValueError(
            f"its log-probabilities differ by up to {difference:.3f} from the model's own"
        )
    compared = min(MAX_COMPARED, len(sources))
    if not pairs:
        return EngineCheck(compared, difference)
    decode, language = saved.tokenizers.target.decode, saved.run.target_language
    references = [target for _, target in encoded]
    bleu = [
        corpus_bleu(
            [decode(r[0].tokens) if r else "" for r in engine.search(sources, options)],
            references,
            language,
        )
        for engine in (fp32, int8)
    ]
    return EngineCheck(compared, difference, len(sources), *bleu)


def _log_difference(
    saved: SavedModel, engine: CTranslate2Engine, sources: Sequence[list[int]], options: Any
) -> float:
    """The largest difference of a token's log-probability from our own forward pass."""
    searched = [
        (ids, result[0])
        for ids, result in zip(sources, engine.search(sources, options), strict=True)
        if result is not None
    ]
    if not searched:
        return 0.0
    ids = [source for source, _ in searched]
    hypotheses = engine.token_log_probabilities(ids, [best for _, best in searched], options)
    device = next(saved.network.parameters()).device
    with torch.inference_mode():
        reference = score(
            saved.network,  # type: ignore[arg-type]  # a Transformer
            source_of(ids).to(device),
            [hypothesis.tokens for hypothesis in hypotheses],
        )
    return max(
        abs(a - b)
        for hypothesis, other in zip(hypotheses, reference, strict=True)
        for a, b in zip(
            hypothesis.token_log_probabilities, other.token_log_probabilities, strict=False
        )
    )
