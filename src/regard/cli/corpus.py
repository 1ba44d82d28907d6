"""`regard corpus`: sentences of the built-in grammar, and series with a planted cause."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regard.errors import InputError

SPLITS = ("train", "dev", "test")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    sample = actions.add_parser("sample", help="print some sentence pairs")
    sample.add_argument("--split", choices=SPLITS, default="train", help="which split (train)")
    sample.add_argument("--count", metavar="N", type=int, default=5, help="how many pairs (5)")
    sample.add_argument(
        "--json", action="store_true", help="one JSON object per line, with all annotations"
    )
    sample.set_defaults(act=_sample)
    write = actions.add_parser(
        "write",
        help="write train, dev and test as TSV, each with its word alignments, the antecedents of "
        "its pronouns and the modifiers of its nouns",
    )
    write.add_argument("--out", metavar="DIR", type=Path, required=True, help="folder to write to")
    write.add_argument("--train", metavar="N", type=int, default=50_000, help="pairs (50000)")
    write.add_argument("--dev", metavar="N", type=int, default=1_000, help="pairs (1000)")
    write.add_argument("--test", metavar="N", type=int, default=1_000, help="pairs (1000)")
    write.set_defaults(act=_write)
    series = actions.add_parser(
        "series", help="write series with a planted cause as .npz, with its position"
    )
    series.add_argument("--out", metavar="FILE.npz", type=Path, required=True, help="file to write")
    series.add_argument("--count", metavar="N", type=int, default=3000, help="series (3000)")
    series.add_argument("--channels", metavar="N", type=int, default=8, help="channels (8)")
    series.add_argument("--moments", metavar="N", type=int, default=128, help="moments (128)")
    series.add_argument("--seed", metavar="N", type=int, default=0, help="random seed (0)")
    series.set_defaults(act=_series)
    for action in (sample, write):
        action.add_argument(
            "--languages", choices=("en-fr", "en-zh"), default="en-fr", help="pair (en-fr)"
        )
        action.add_argument("--seed", metavar="N", type=int, default=0, help="random seed (0)")
        action.add_argument(
            "--max-words", metavar="N", type=int, default=30, help="longest source sentence (30)"
        )


def run(arguments: argparse.Namespace) -> int:
    """Print or write."""
    arguments.act(arguments)
    return 0


def _pairs(arguments: argparse.Namespace, split: Any, count: int) -> list[Any]:
    from regard.corpus.grammar import sample

    if count < 0:
        raise InputError(f"the number of {split} pairs must not be negative, got {count}.")
    language: Any = arguments.languages.partition("-")[2]
    return sample(
        split, count, language=language, seed=arguments.seed, max_words=arguments.max_words
    )


def _sample(arguments: argparse.Namespace) -> None:
    for pair in _pairs(arguments, arguments.split, arguments.count):
        if arguments.json:
            fields = {**asdict(pair), "phenomena": sorted(pair.phenomena)}
            print(json.dumps(fields, ensure_ascii=False))
        else:
            phenomena = f"  ({', '.join(sorted(pair.phenomena))})\n" if pair.phenomena else ""
            print(f"{pair.source}\n{pair.target}\n{phenomena}")


def _write(arguments: argparse.Namespace) -> None:
    from regard.formats import write_lines, write_tsv

    arguments.out.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        pairs = _pairs(arguments, split, getattr(arguments, split))
        name = f"{split}.{arguments.languages}"
        write_tsv(arguments.out / f"{name}.tsv", ((p.source, p.target) for p in pairs))
        write_lines(arguments.out / f"{name}.align", map(_links, pairs))
        for links in ("antecedents", "modifiers"):
            write_lines(arguments.out / f"{name}.{links}", (_written(p, links) for p in pairs))
        write_tsv(
            arguments.out / f"{name}.words.tsv",
            ((" ".join(p.source_words), " ".join(p.target_words)) for p in pairs),
        )
        print(f"{arguments.out / name}.tsv: {len(pairs)} pairs", file=sys.stderr)


def _series(arguments: argparse.Namespace) -> None:
    import numpy as np

    from regard.corpus.planted_series import planted
    from regard.formats.series import write_npz

    if arguments.out.suffix != ".npz":
        raise InputError(f"{arguments.out}: series are written as .npz; end the file name in .npz.")
    series = planted(
        arguments.count, arguments.seed, channels=arguments.channels, moments=arguments.moments
    )
    write_npz(
        arguments.out,
        x=series.x,
        y=np.array(series.labels)[series.y],
        channels=np.array(series.channels),
        cause_channel=series.channel,
        cause_start=series.start,
        cause_end=series.end,
    )
    print(f"{arguments.out}: {len(series.x)} series", file=sys.stderr)


def _links(pair: Any) -> str:
    """Positions from 0: `i-j` for a sure link, `i?j` for a possible one."""
    return " ".join(f"{k.source}{'-' if k.sure else '?'}{k.target}" for k in pair.links)


def _written(pair: Any, name: str) -> str:
    """An annotation of the source: `i-j` for word i and the word that it is linked to."""
    from regard.corpus.grammar.pair import annotated_links

    return " ".join(f"{first}-{second}" for first, second in annotated_links(pair, name))
