"""The model card: what a model is, how it was made, how good it is, and how to use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.config import Run
from regard.training.report import clock
from regard.version import __version__


def card(name: str, run: Run, metrics: Mapping[str, Any]) -> str:
    """README.md of a model folder."""
    model = run.model
    does = {
        "lm": "continues text", "mlm": "guesses hidden words", "handwriting": "writes by hand",
        "classifier": "labels series" if getattr(model, "channels", ()) else "labels texts",
    }.get(model.kind, "translates")  # fmt: skip
    languages = f" ({run.languages})" if run.languages else ""
    size = ", ".join(
        f"{key} {value}"
        for key, value in vars(model).items()
        if key not in ("kind", "max_length", "labels", "channels")
    )
    use = {
        "lm": 'regard generate "Once upon a time" --model .',
        "mlm": 'regard fill "The [MASK] crossed the street." --model .',
        "handwriting": 'regard write "attention" --model . --out line.svg',
        "classifier": f"regard classify {_example(model)} --model .",
    }.get(model.kind, 'regard translate "…" --model .')
    rows = "\n".join(f"| {label} | {text} |" for label, text in _figures(metrics))
    return f"""# {name}

A {model.kind} model that {does}{languages}, trained with regard {__version__}.

| | |
|---|---|
{rows}

Model: {size}.
{_text(run)}

Use it:

    {use}

The development figures are of sentences that the model was not trained on, and of the kind it was
trained on: on other text it will do worse. All settings are in `config.yaml`.
"""


def _example(model: object) -> str:
    return "series.npz" if getattr(model, "channels", ()) else '"…"'


def _text(run: Run) -> str:
    """What the model reads its input as."""
    channels = getattr(run.model, "channels", ())
    if channels:
        return f"Series of {len(channels)} channels: {', '.join(channels)}."
    text = f"Text: {run.text.unit} tokens, vocabulary of at most {run.text.vocab_size}"
    if run.model.kind == "classifier":
        return f"{text}."
    return f"{text}, {'shared by both sides' if run.text.shared else 'one for each side'}."


def _figures(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    dev = metrics.get("dev", {})
    rows = [
        ("training sentences", f"{metrics['train_sentences']:,}"),
        ("parameters", f"{metrics['parameters']:,}"),
        ("updates", f"{metrics['steps']:,} ({metrics['epochs']:.1f} epochs)"),
        ("training time", clock(metrics["seconds"])),
    ]
    if "confusion" in dev:
        rows.append(("accuracy (development set)", f"{dev['accuracy']:.1%}"))
        for label, one in dev["labels"].items():
            figures = f"{one['precision']:.3f}, {one['recall']:.3f}, {one['f1']:.3f}"
            rows.append((f"{label}: precision, recall, F1", f"{figures} ({one['count']} examples)"))
        return rows
    if "recognised" in dev:  # e to the power of a density's loss says nothing to anybody
        rows.append(("nats per point (development set)", f"{dev['loss']:.3f}"))
        if dev["recognised"] is not None:
            read = f"{dev['recognised']:.1%}"
            rows.append(("characters recognised (development set)", read))
        return rows
    for name, label in (("bleu", "BLEU"), ("chrf", "chrF"), ("perplexity", "perplexity")):
        if dev.get(name) is not None:
            rows.append((f"{label} (development set)", f"{dev[name]:.2f}"))
    return rows
