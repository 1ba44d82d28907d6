"""`regard inspect`: one page on which every head's attention over a text can be looked at."""

from __future__ import annotations

import argparse
import json
import sys
import time
import webbrowser
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.line_input import check_parent
from regard.cli.option_flags import add_options
from regard.cli.searching import add_search, add_target, bound, search_options
from regard.config import SearchOptions
from regard.errors import InputError
from regard.tasks import load_run
from regard.tasks.commands import add_model, positive

if TYPE_CHECKING:
    from regard.tasks.faithfulness import Faithfulness
    from regard.tasks.inspection import Inspection, InspectOptions
    from regard.views import SentenceView
    from regard.views.html.page import PageEntry
    from regard.views.maps.traced import TracedText

OUT = "regard-inspect.html"
SEARCH = ("beam", "length_penalty", "max_length")


@dataclass(frozen=True)
class ModelInspections:
    """A model, its options, and its inspections of the texts."""

    model: Any
    options: InspectOptions
    inspections: list[Inspection]

    @property
    def shown(self) -> list[SentenceView]:
        """What there is to see of each text."""
        return [inspection.view for inspection in self.inspections]

    @cached_property
    def faithfulness(self) -> Faithfulness | None:
        """How far the maps are the reason of the output."""
        from regard.tasks.faithfulness import measure_faithfulness

        return measure_faithfulness(self.model, self.inspections)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("text", nargs="*", metavar="TEXT", help="what to look at; else stdin")
    add_model(parser)
    add_target(parser)
    parser.add_argument("--against", metavar="DIR", help="another model, shown beside the first")
    parser.add_argument("--input", metavar="FILE", help="texts to look at, a line each (or .gz)")
    parser.add_argument("--out", metavar="FILE", default=OUT, help=f"page to write ({OUT})")
    parser.add_argument(
        "--no-split",
        action="store_true",
        help="take each text as one, and --input or stdin as one text (a translator reads "
        "sentence by sentence, other models line by line)",
    )
    parser.add_argument(
        "--generate",
        metavar="N",
        type=positive,
        default=0,
        help="let a language model go on by N tokens, and show all",
    )
    add_search(parser)
    add_options(parser, SearchOptions, "max_length")
    parser.add_argument("--prefix", metavar="TEXT", default="", help="how a translation begins")
    parser.add_argument("--reference", metavar="TEXT", help="the right translation, to compare")
    parser.add_argument(
        "--vectors",
        metavar="WORD",
        help="instead of the page: how this word's vector differs between the texts, by layer; "
        "--out is a figure (regard-vectors.png)",
    )
    parser.add_argument(
        "--no-stages",
        action="store_true",
        help="leave out the stages, which take up to 4 MB: every number on each word's way",
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.add_argument(
        "--figures", metavar="DIR", type=Path, help="draw figures into this folder as well"
    )
    parser.add_argument(
        "--format", choices=("png", "svg", "pdf"), help="what figures are drawn as (png)"
    )
    parser.add_argument(
        "--effects",
        action="store_true",
        help="with --figures: what each head is good for, by switching it off (a pass for each)",
    )
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Look, and write the page."""
    begun = time.monotonic()
    if arguments.vectors is not None:
        return _vectors(arguments)
    _check(arguments)
    texts = _texts(arguments)
    looked = _looked(arguments, texts)
    entries = _entries(looked, arguments.reference)
    if arguments.figures:
        from regard.tasks.inspection_figures import check_length

        check_length(view for each in looked for view in each.shown)
        arguments.figures.mkdir(parents=True, exist_ok=True)
    size = _write(Path(arguments.out), looked, entries, stages=not arguments.no_stages)
    figures = _draw(arguments, looked) if arguments.figures else []
    if arguments.json:
        found = {
            "file": str(arguments.out),
            "bytes": size,
            "texts": len(entries),
            "tokens": _tokens(looked),
            "maps": sum(len(maps.heads) for one in looked for v in one.shown for maps in v.maps),
            "figures": [str(path) for path in figures],
            "faithfulness": [one.faithfulness and one.faithfulness.correlation for one in looked],
            "seconds": round(time.monotonic() - begun, 3),
        }
        print(json.dumps(found, ensure_ascii=False))
    else:
        _tell(arguments, looked, len(entries), size, figures)
    if arguments.open:
        webbrowser.open(Path(arguments.out).resolve().as_uri())
    return 0


def _vectors(arguments: argparse.Namespace) -> int:
    """Follow one word through the layers."""
    from regard.cli.inspect_vectors import OUT as FIGURE
    from regard.cli.inspect_vectors import inspect_vectors
    from regard.views.figures.figure import check_figure

    for name in ("against", "figures", "reference", "open", "effects", "format", "generate"):
        if getattr(arguments, name):
            raise InputError(f"--{name} is about the page, which --vectors does not write.")
    if arguments.text and arguments.input:
        raise InputError("text and --input were both given; leave one out.")
    out = Path(FIGURE if arguments.out == OUT else arguments.out)
    check_figure(out)
    texts = _texts(arguments)
    model = bound(_opened(arguments.model, arguments.threads), arguments)
    return inspect_vectors(model, texts, arguments, out)


def _check(arguments: argparse.Namespace) -> None:
    """What can be said before a model is loaded."""
    if arguments.text and arguments.input:
        raise InputError("text and --input were both given; leave one out.")
    check_parent(arguments.out)
    if Path(arguments.out).is_dir():
        raise InputError(f"{arguments.out}: this is a folder; name a file, such as page.html.")
    if not arguments.figures and (arguments.effects or arguments.format):
        flag = "--effects" if arguments.effects else "--format"
        raise InputError(f"{flag} is about figures; say where with --figures DIR.")
    if arguments.figures:
        from regard.views.figures.figure import check_matplotlib

        check_matplotlib()
        if arguments.figures.exists() and not arguments.figures.is_dir():
            raise InputError(f"{arguments.figures}: this is a file; give a folder as --figures.")


def _texts(arguments: argparse.Namespace) -> list[str]:
    """The texts that there are to look at, at least one."""
    if arguments.text:
        lines = list(arguments.text)
    else:
        lines = _lines(arguments)
        if arguments.no_split:
            lines = ["\n".join(lines)]
    texts = [line for line in lines if line.strip()]
    if not texts:
        raise InputError("there is no text to look at; give some words.")
    return texts


def _lines(arguments: argparse.Namespace) -> list[str]:
    from regard.formats.lines import decode_chunks, read_lines, split_lines

    if arguments.input:
        return list(read_lines(arguments.input))
    if sys.stdin.isatty():
        print("Type text to look at, a line at a time; Ctrl-D ends.", file=sys.stderr)
    chunks = decode_chunks([sys.stdin.buffer.read()], "standard input")
    return [line for line in split_lines(chunks) if line is not None]


def _opened(folder: str, threads: int) -> Any:
    """The model in a folder, of any kind that can be inspected."""
    from regard.tasks import load
    from regard.tasks.inspection import check_inspectable

    run = load_run(folder)
    check_inspectable(run, folder)
    if threads:
        import torch

        torch.set_num_threads(threads)
    return load(folder, threads=threads, run=run)


def _looked(arguments: argparse.Namespace, texts: list[str]) -> list[ModelInspections]:
    """What there is to see of the texts, with one model or two."""
    folders = [arguments.model, *([arguments.against] if arguments.against else [])]
    models = [bound(_opened(folder, arguments.threads), arguments) for folder in folders]
    from regard.folder import model_names
    from regard.tasks.inspection import InspectOptions, check_pair, inspect

    if len(models) == 2:
        check_pair(*models)
    found = []
    for name, model in zip(model_names(folders), models, strict=True):
        options = InspectOptions(
            settings=_search(arguments, model),
            prefix=arguments.prefix,
            split=not arguments.no_split,
            generate=arguments.generate,
            name=name,
        )
        found.append(ModelInspections(model, options, inspect(model, texts, options)))
    return found


def _search(arguments: argparse.Namespace, model: Any) -> SearchOptions:
    """How the model searches: its own way, with what the flags say; a text goes on greedily."""
    own = model.run.decoding
    if not hasattr(model, "translate"):
        for name in ("reference", *(() if arguments.generate else SEARCH)):
            if getattr(arguments, name) is not None:
                flag = "--" + name.replace("_", "-")
                raise InputError(f"{flag} is of no use here: {model.path} only reads the text.")
    return search_options(
        arguments, replace(own, beam=1) if arguments.generate else own, sample=False
    )


def _entries(looked: list[ModelInspections], reference: str | None) -> list[PageEntry]:
    """What stands on the page: texts, or pairs of them."""
    from regard.tasks.inspection import side_by_side

    if reference is not None and len(looked[0].shown) != 1:
        raise InputError(
            f"--reference is the translation of one sentence, but {len(looked[0].shown)} came; "
            "give one, or take the text as one with --no-split."
        )
    shown = [[replace(v, reference=reference) for v in one.shown] for one in looked]
    return list(shown[0] if len(shown) == 1 else side_by_side(*shown))


def _stages(looked: list[ModelInspections]) -> tuple[TracedText | None, ...]:
    """The steps of every text; of a pair, of one model and of the other."""
    from regard.tasks.tracing import traced_texts

    own = [traced_texts(one.model, one.inspections, one.options) for one in looked]
    stages = tuple(traced for group in zip(*own, strict=True) for traced in group)
    return stages if any(stages) else ()


def _write(
    out: Path, looked: list[ModelInspections], entries: list[PageEntry], *, stages: bool
) -> int:
    """Write the page; its size in bytes."""
    from regard.tasks.inspection import describe_model
    from regard.views.html.notebook import Page

    told = [describe_model(one.model, one.options.name, one.shown) for one in looked]
    for described, one in zip(told, looked, strict=True):
        if one.faithfulness:
            described["as a reason"] = str(one.faithfulness)
    facts = told[0]
    if len(told) > 1:  # one line for each model
        facts = {one.pop("model"): "; ".join(map(": ".join, one.items())) for one in told}
    names = " and ".join(one.options.name for one in looked)
    Page(f"regard · {names}", tuple(entries), facts, _stages(looked) if stages else ()).save(out)
    return out.stat().st_size


def _draw(arguments: argparse.Namespace, looked: list[ModelInspections]) -> list[Path]:
    """The figures of every text and model."""
    from regard.tasks.inspection_figures import draw

    written: list[Path] = []
    for number, one in enumerate(looked):
        written += draw(
            one.model,
            one.inspections,
            arguments.figures,
            kind=arguments.format or "png",
            effects=arguments.effects,
            prefix=f"{'ab'[number]}-" if len(looked) > 1 else "",
        )
    return written


def sized(size: int) -> str:
    """Bytes as people read them.

    >>> sized(84_200), sized(11_480_000)
    ('84 kB', '11.5 MB')
    """
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def _tokens(looked: list[ModelInspections]) -> int:
    return sum(len(v.source_tokens) + len(v.target_tokens) for one in looked for v in one.shown)


def _tell(
    arguments: argparse.Namespace,
    looked: list[ModelInspections],
    texts: int,
    size: int,
    figures: list[Path],
) -> None:
    from regard.tasks.inspection import without_maps

    for one in looked:
        if why := without_maps(one.model, one.shown):
            print(f"{one.options.name}: there are no maps: {why}.")
        if one.faithfulness:
            print(f"{one.options.name}: {one.faithfulness}")
    counted = f"{texts} text{'' if texts == 1 else 's'}, {_tokens(looked):,} tokens"
    print(f"{arguments.out}: {counted}, {sized(size)}")
    if figures:
        print(f"{arguments.figures}: {len(figures)} figures")
    if not arguments.open:
        what = (
            "every head's attention" if any(v.maps for one in looked for v in one.shown) else "it"
        )
        print(f"See {what}:  open {Path(arguments.out).resolve()} in a browser")
