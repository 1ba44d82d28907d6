"""`regard info`: describe a model folder, without loading the model."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from regard.cli.alignment_table import agreement_table, candidates_of
from regard.cli.disk import WEIGHTS, check_prunable, checkpoint, prune, usage
from regard.cli.line_input import check_parent
from regard.command import command
from regard.config import FORMAT_VERSION, Run
from regard.config.settings import plain
from regard.config.stored import load_metrics
from regard.decoding.ctranslate2_folder import FOLDER, EngineCheck, read_proof
from regard.errors import InputError
from regard.exchange.requirements import ctranslate2_obstacle
from regard.tasks import KINDS, load_run
from regard.tasks.commands import positive
from regard.write_lock import sole_writer


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("folder", metavar="DIR", help="folder of the model")
    parser.add_argument("other", metavar="OTHER", nargs="?", help="compare its attention's costs")
    parser.add_argument(
        "--length", metavar="N", type=positive, help="with two folders: tokens of a text (25)"
    )
    parser.add_argument(
        "--curves",
        metavar="FILE",
        type=Path,
        help="draw loss, learning rate and BLEU by update, of one folder or two (.png, .svg, .pdf)",
    )
    parser.add_argument(
        "--picture",
        metavar="FILE",
        type=Path,
        help="draw the whole model with its real shapes (.svg)",
    )
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")
    parser.add_argument(
        "--prune",
        action="store_true",
        help="keep only what is needed to use the model: remove checkpoints and training logs",
    )
    parser.add_argument(
        "--force", action="store_true", help="with --prune: even if its training is not finished"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the description, or prune."""
    if arguments.force and not arguments.prune:
        raise InputError("--force is for --prune; give both.")
    if arguments.curves:
        return _draw_curves(arguments)
    if arguments.picture:
        return _draw_model(arguments)
    if arguments.other:
        from regard.cli.model_costs import compare_costs

        return compare_costs(arguments)
    if arguments.length:
        raise InputError("--length is for two folders, whose attention is compared.")
    if arguments.prune:
        return _prune(Path(arguments.folder), arguments)
    description = described(Path(arguments.folder))
    if arguments.json:
        print(json.dumps(description, ensure_ascii=False))
    else:
        _print(description)
    return 0


def _draw_curves(arguments: argparse.Namespace) -> int:
    """Draw the curves of the training of one folder or two."""
    from regard.folder import model_names
    from regard.views.figures.curves import curves_figure, read_history
    from regard.views.figures.figure import check_figure

    check_figure(arguments.curves)
    folders = [Path(folder) for folder in (arguments.folder, arguments.other) if folder]
    histories = [read_history(folder) for folder in folders if load_run(folder)]
    names = model_names(folders)
    curves_figure(dict(zip(names, histories, strict=True))).save(arguments.curves)
    last = {name: rows[-1]["step"] for name, rows in zip(names, histories, strict=True)}
    if arguments.json:
        print(json.dumps({"file": str(arguments.curves), "updates": last}, ensure_ascii=False))
    else:
        shown = ", ".join(f"{name} ({step:,} updates)" for name, step in last.items())
        print(f"{arguments.curves}: {shown}")
    return 0


def _draw_model(arguments: argparse.Namespace) -> int:
    """Draw the whole model of one folder."""
    from regard.folder import model_names
    from regard.storage import replace_file
    from regard.views.html.model_drawing import model_blocks, model_svg

    folder, file = Path(arguments.folder), arguments.picture
    if arguments.other:
        raise InputError("--picture draws one model; leave the second folder out.")
    if file.suffix.lower() != ".svg":
        raise InputError(f"{file}: --picture draws SVG; give the file a name that ends in .svg.")
    check_parent(file)
    run = load_run(folder)
    shapes = weight_shapes(folder / WEIGHTS)
    if shapes is None:
        raise InputError(f"{folder}: there are no weights to draw yet; train the model first.")
    total = sum(math.prod(shape) for shape in shapes.values())
    columns = model_blocks(shapes, getattr(run.model, "num_heads", None))
    about = f"{run.model.kind}, {total:,} weights"
    replace_file(file, model_svg(model_names([folder])[0], about, columns))
    if arguments.json:
        print(json.dumps({"file": str(file), "parameters": total}, ensure_ascii=False))
    else:
        print(f"{file}: {about}")
    return 0


def described(folder: Path) -> dict[str, Any]:
    """Return the description of a folder, in plain values."""
    run = load_run(folder)
    return {
        "folder": str(folder),
        "format_version": FORMAT_VERSION,
        "kind": run.model.kind,
        "command": KINDS[run.model.kind].command,
        "languages": run.languages,
        "model": _model(run),
        "parameters": parameters(folder / WEIGHTS),
        "text": vars(run.text),
        "vocabulary": vocabulary(folder),
        "disk": usage(folder),
        "training": _training(run),
        "metrics": load_metrics(folder) or None,
        "alignment": vars(run.alignment) if run.alignment else None,
        "engine": _engine(folder, run),
        "checkpoint": checkpoint(folder),
        "resumable": (folder / "checkpoints" / "corpus.safetensors").is_file(),
    }


def _model(run: Run) -> dict[str, Any]:
    """The settings of the model; the options of its attention as `attention.window`."""
    settings: dict[str, Any] = {}
    for name, value in plain(run)["model"].items():
        options = dict(value) if isinstance(value, dict) else {}
        settings[name] = options.pop("name", value)
        settings |= {f"{name}.{option}": number for option, number in options.items()}
    return {name: value for name, value in settings.items() if name != "kind"}


def parameters(weights: Path) -> int | None:
    """Return the number of weights in a file, from its header; None if there is none yet."""
    shapes = weight_shapes(weights)
    return None if shapes is None else sum(math.prod(shape) for shape in shapes.values())


def weight_shapes(weights: Path) -> dict[str, list[int]] | None:
    """Return the shapes of the weights in a file by name; None if there is none yet."""
    if not weights.is_file():
        return None
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights, framework="numpy") as file:
            names = file.keys()
            return {name: file.get_slice(name).get_shape() for name in names}
    except SafetensorError as error:
        raise InputError(f"{weights}: the weights cannot be read ({error}).") from error


def vocabulary(folder: Path) -> dict[str, int]:
    """The number of tokens of each tokenizer in a folder, by its file's name."""
    from regard.text import load

    files = sorted([*folder.glob("tokenizer*.model"), *folder.glob("tokenizer*.json")])
    return {path.name: len(load(path)) for path in files}


def _engine(folder: Path, run: Run) -> dict[str, Any] | None:
    """Return what searches for translations, and the figures of its check; None without search."""
    if KINDS[run.model.kind].command != "translate":
        return None
    reason = ctranslate2_obstacle(run)
    if reason:
        return {"name": "torch", "reason": reason}
    check = read_proof(folder / FOLDER).get("check")
    return {"name": "ctranslate2", "check": check if isinstance(check, dict) else None}


def _training(run: Run) -> dict[str, Any]:
    """Return the most important settings of training."""
    names = (
        "minutes",
        "steps",
        "epochs",
        "batch_tokens",
        "accumulate",
        "optimizer",
        "learning_rate",
        "schedule",
        "warmup",
        "label_smoothing",
        "average",
        "seed",
    )
    settings = vars(run.training)
    return {name: settings[name] for name in names}


def _print(description: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in _rows(description):
        table.add_row(label, escape(value))
    console = Console(highlight=False)
    console.print(table)
    if candidates := candidates_of(description["metrics"]):
        console.print()
        console.print(agreement_table(candidates))


def _rows(about: dict[str, Any]) -> list[tuple[str, str]]:
    """Return labels and values, formatted."""
    sizes = ", ".join(f"{name} {value}" for name, value in about["model"].items())
    tokens = ", ".join(f"{number:,} ({name})" for name, number in about["vocabulary"].items())
    rows = [
        ("folder", about["folder"]),
        ("disk", _disk(about["disk"])),
        ("kind", f"{about['kind']}; use it with `regard {about['command']}`"),
        ("languages", about["languages"] or "not named"),
        ("model", sizes),
        (
            "parameters",
            "none yet" if about["parameters"] is None else f"{about['parameters']:,}",
        ),
        ("tokens", f"{about['text']['unit']}: {tokens or 'no tokenizer'}"),
        (
            "training",
            ", ".join(f"{k} {v}" for k, v in about["training"].items() if v is not None),
        ),
    ]
    metrics = about["metrics"]
    if metrics is None:
        rows.append(("trained", "not to its end yet"))
    else:
        rows.append(("trained", _trained(metrics)))
        dev = metrics.get("dev")
        dev = dev if isinstance(dev, dict) else {}
        dev = {name: value for name, value in dev.items() if isinstance(value, float)}
        rows.append(("development", ", ".join(f"{k} {v:.2f}" for k, v in dev.items()) or "none"))
    if about["alignment"]:
        rows.append(("alignment", _alignment(about["alignment"])))
    if about["engine"]:
        rows.append(("engine", _engine_text(about["engine"])))
    where = about["checkpoint"]
    state = f"from update {where}" if where is not None else "from its beginning"
    again = command("train", "--resume", about["folder"])
    text = f"{state}: {again}" if about["resumable"] else "no"
    rows.append(("resumable", text))
    return rows


def _engine_text(engine: dict[str, Any]) -> str:
    if engine["name"] == "torch":
        return f"torch: {engine['reason']}"
    if not engine["check"]:
        return "CTranslate2, converted when the model first translates"
    try:
        check = EngineCheck(**engine["check"])
        figures = (
            f"BLEU {check.bleu_int8:.2f} in int8 and {check.bleu_fp32:.2f} in fp32 on "
            f"{check.sentences:,} sentences"
        )
        return f"CTranslate2 in {check.precision}" + (f": {figures}" if check.sentences else "")
    except TypeError:
        return "CTranslate2; its check is damaged, so it will be converted again"


def _trained(metrics: dict[str, Any]) -> str:
    """Format how long a run took; a missing figure is shown as nan."""
    if "imported_from" in metrics:
        return f"elsewhere; imported from {metrics['imported_from']}"
    names = ("train_sentences", "steps", "epochs", "seconds")
    numbers = [metrics.get(name) for name in names]
    sentences, steps, epochs, seconds = (
        number if isinstance(number, int | float) else math.nan for number in numbers
    )
    return (
        f"{sentences:,} sentences, {steps:,} updates, {epochs:.1f} epochs, "
        f"{seconds / 60:.1f} minutes"
    )


def _disk(sizes: dict[str, int]) -> str:
    parts = [f"{name} {_megabytes(size)}" for name, size in sizes.items() if size]
    spare = sizes["checkpoints"] + sizes["logs"]
    hint = f" (`--prune` frees {_megabytes(spare)})" if spare else ""
    return ", ".join(parts) + hint


def _megabytes(size: int) -> str:
    """
    >>> _megabytes(274_500_000), _megabytes(1_487)
    ('274.5 MB', '1.5 kB')
    """
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:,.1f} kB"


def _prune(folder: Path, arguments: argparse.Namespace) -> int:
    """Remove what only training needs, and print what that was."""
    run = load_run(folder)  # else it is no model folder, and nothing in it is to be removed
    with sole_writer(folder):
        check_prunable(folder, force=arguments.force)
        engine = _engine(folder, run) or {}
        if engine.get("name") == "ctranslate2" and not engine["check"]:
            from regard.tasks import load

            load(folder, run=run).prepare_engine()  # its check needs the development set
        before = usage(folder)["total"]
        removed = [str(path.relative_to(folder)) for path in prune(folder)]
        after = usage(folder)["total"]
    if arguments.json:
        print(json.dumps({"removed": removed, "freed": before - after, "bytes": after}))
    elif not removed:
        print(f"{folder}: there is nothing to remove; it takes {_megabytes(after)}.")
    else:
        print(*(f"removed {name}" for name in removed), sep="\n")
        print(
            f"{_megabytes(before - after)} freed; {folder} takes {_megabytes(after)} now. "
            "Its training cannot be resumed any more."
        )
    return 0


def _alignment(chosen: dict[str, Any]) -> str:
    head = "mean of heads" if chosen["head"] is None else f"head {chosen['head']}"
    row = "input" if chosen["shift"] else "predicting"
    mutual = ", best from both sides" if chosen["mutual"] else ""
    return f"read from layer {chosen['layer']}, {head}, {row} row{mutual}"
