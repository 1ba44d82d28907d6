"""`regard export`: a model in the format of another project, with the proof that it is the same."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.line_progress import LineProgress
from regard.errors import InputError
from regard.tasks.commands import add_model, positive

if TYPE_CHECKING:
    from regard.exchange.proof import Proof

FORMATS = ("onnx", "huggingface", "ctranslate2")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    add_model(parser)
    parser.add_argument(
        "--to",
        required=True,
        choices=FORMATS,
        help="onnx: encoder and decoder step for onnxruntime; huggingface: a folder that "
        "transformers loads; ctranslate2: a folder that CTranslate2 loads",
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="new folder to write to")
    parser.add_argument(
        "--precision", choices=("fp32", "int8"), help="of the weights, for ctranslate2 (fp32)"
    )
    parser.add_argument(
        "--sentences", metavar="N", type=positive, default=100, help="how many to compare (100)"
    )
    parser.add_argument("--json", action="store_true", help="print the proof as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Export, compare, print the proof."""
    from regard.storage import check_new_folder
    from regard.tasks import load_folder

    if arguments.precision and arguments.to != "ctranslate2":
        raise InputError("--precision is for --to ctranslate2; leave it out.")
    check_new_folder(arguments.out)
    saved = load_folder(arguments.model)
    with LineProgress(arguments.sentences, unit="sentences", label="compared") as progress:
        proof = _export(arguments)(
            saved, Path(arguments.out), progress.advance, arguments.threads, arguments.sentences
        )
    if arguments.json:
        print(json.dumps(proof.as_json(), ensure_ascii=False))
    else:
        _print(proof, arguments.out)
    return 0


def _export(arguments: argparse.Namespace) -> Callable[..., Proof]:
    """The function that exports to the format."""
    match arguments.to:
        case "onnx":
            from regard.exchange.onnx_export import export_onnx

            return export_onnx
        case "huggingface":
            from regard.exchange.huggingface_export import export_huggingface

            return export_huggingface
    from regard.exchange.ctranslate2_export import export_ctranslate2

    return partial(export_ctranslate2, precision=arguments.precision or "fp32")


def _print(proof: Proof, out: str) -> None:
    loaded_by = f" as {proof.more['class']}" if "class" in proof.more else ""
    print(f"{out}: run by {proof.runtime}{loaded_by}")
    print(
        f"{proof.sentences} sentences ({proof.drawn_from}): {proof.greedy_equal} equal by greedy "
        f"search, {proof.beam_equal} by beam {proof.beam}; {proof.compared} within "
        f"{proof.max_difference:.1e}; kept in {Path(out) / 'export.json'}"
    )
    if proof.beam_equal < proof.greedy_equal == proof.sentences:  # the same network, thus
        print(
            f"Where the beam's output is another one, {proof.runtime} ended the search at another "
            "moment than regard does, as happens with a model that is little sure."
        )
