"""`regard translate --input big.txt.gz --output out.tsv`: does its memory grow, and how fast is it?

The command runs as a process of its own on short sentences of the built-in grammar, with a tiny
model that is trained for it. Its resident memory is sampled; the figure at the bar is the largest
after `BASE` lines over that at `BASE` lines.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cached_property
from itertools import cycle, islice
from pathlib import Path

from benchmarks.measurement import Measurement
from benchmarks.regard_command import run_regard
from benchmarks.serve.process import resident_megabytes
from regard.corpus.grammar import sample
from regard.errors import InputError

BASE = 10_000
LINES = 1_000_000
TINY = (
    "--languages en-fr --preset tiny --model.dim 32 --model.num_heads 2 --model.ff 64 "
    "--model.num_encoder_layers 1 --model.num_decoder_layers 1 --model.dropout 0 --text.unit word "
    "--model.max_length 48 --training.steps 300 --training.warmup 20 --training.learning_rate 5e-3 "
    "--training.precision fp32 --training.tensorboard false --training.validate_every 1000"
)


def measurements(
    repeats: int, model: str | None = None, lines: int = LINES
) -> Iterator[Measurement]:
    """The rows: growth of memory, and speed; of one run."""
    if lines < 2 * BASE:
        raise InputError(f"--lines must be at least {2 * BASE}, got {lines}.")
    run = BulkRun(lines, Path(model) if model else None)
    yield Measurement(
        f"resident memory (MB) of {lines:,} lines: largest / at line {BASE:,}",
        lambda: (run.most, run.base),
        "<=",
        1.1,
    )
    yield Measurement("lines/s", lambda: (run.speed, None), ">=", 1.0)


class BulkRun:
    """One run of the command, made when a figure of it is first needed.

    base, most  resident megabytes at line `BASE`, and the most from there on
    speed       lines per second from line `BASE` on, without starting and loading
    """

    def __init__(self, num_lines: int, model: Path | None) -> None:
        self.num_lines, self.model = num_lines, model

    @property
    def base(self) -> float:
        """Resident megabytes at line `BASE`."""
        return self.samples[0][2]

    @property
    def most(self) -> float:
        """The most resident megabytes from line `BASE` on."""
        return max(megabytes for _, _, megabytes in self.samples)

    @property
    def speed(self) -> float:
        """Lines per second."""
        (start, first, _), (end, last, _) = self.samples[0], self.samples[-1]
        return (last - first) / (end - start)

    @cached_property
    def samples(self) -> list[tuple[float, int, float]]:
        """Seconds, lines done and resident megabytes, from line `BASE` on."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            model = self.model or train_tiny(folder)
            source, output = folder / "big.txt.gz", folder / "out.tsv"
            sentences = [pair.source for pair in sample("test", 5000, seed=2, max_words=6)]
            with gzip.open(source, "wt", encoding="utf-8", compresslevel=1) as file:
                file.writelines(f"{line}\n" for line in islice(cycle(sentences), self.num_lines))
            samples = list(_watch(model, source, output))
            with output.open("rb") as file:
                written = sum(1 for _ in file)
        if written != self.num_lines:
            raise InputError(f"{written:,} lines were written, expected {self.num_lines:,}.")
        return samples


def train_tiny(folder: Path) -> Path:
    """Train a tiny model on sentences of the built-in grammar."""
    corpus, model = folder / "pairs.tsv", folder / "model"
    pairs = sample("train", 5000, seed=1, max_words=6)
    corpus.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), "utf-8")
    run_regard("train", corpus, "--out", model, *TINY.split())
    return model


def _watch(model: Path, source: Path, output: Path) -> Iterator[tuple[float, int, float]]:
    """Run the command and sample it."""
    words = ["translate", "--model", model, "--beam", 1, "--input", source, "--output", output]
    state = output.with_name(output.name + ".partial.json")
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "regard", *map(str, words)], stdout=log, stderr=log
        )
        try:
            while process.poll() is None:
                try:
                    done = json.loads(state.read_text("utf-8"))["lines"]
                    megabytes = resident_megabytes(process.pid)
                except (OSError, ValueError, StopIteration):  # not begun, or ended
                    done = 0
                if done >= BASE:
                    yield time.perf_counter(), done, megabytes
                time.sleep(0.1)
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            log.seek(0)
            lines = log.read().strip().splitlines() or [f"exit code {process.returncode}"]
            raise InputError(f"`regard translate` failed: {lines[-1]}")
