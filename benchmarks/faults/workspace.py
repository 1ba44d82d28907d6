"""The run that all faults happen to: a tiny model, its corpus, and the same run without faults."""

from __future__ import annotations

import re
import tempfile
from functools import cached_property
from pathlib import Path
from random import Random

from benchmarks.faults.child import Child
from regard.cores import cores
from regard.corpus.grammar import sample
from regard.errors import InputError

STEPS = 48
FLAGS = (
    "--preset tiny --languages en-fr --text.unit word --model.dim 16 --model.num_heads 2 "
    "--model.ff 32 --model.num_encoder_layers 1 --model.num_decoder_layers 1 --model.dropout 0.2 "
    "--training.precision fp32 --training.batch_tokens 400 --training.validate_every 8 "
    "--training.validate_sentences 0 --training.checkpoint_minutes 0 --training.tensorboard false "
    f"--training.steps {STEPS} --training.threads {min(2, cores(0))}"
).split()


class Workspace:
    """A temporary folder with corpus and runs; every random choice comes from the seed."""

    def __init__(self, seed: int) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="regard-faults-")
        self.path = Path(self._temporary.name)
        self.random = Random(seed)
        self.corpus = self.path / "pairs.tsv"
        rows = [f"{p.source}\t{p.target}" for p in sample("train", 60, seed=3, max_words=9)]
        self.corpus.write_text("\n".join(rows) + "\n", "utf-8")
        self._count = 0

    def new(self, name: str) -> Path:
        """Return a path that nothing is at."""
        self._count += 1
        return self.path / f"{name}-{self._count}"

    def train(self, folder: Path, *flags: object, nan_losses: bool = False) -> Child:
        """Begin the run in a folder, or resume what is in it."""
        return Child(self.words(folder, *flags), self.new("log"), nan_losses)

    def words(self, folder: Path, *flags: object) -> list[object]:
        """The command that begins the run in a folder, or resumes what is in it."""
        begun = (folder / "config.yaml").is_file()
        start = ["--resume", folder] if begun else [self.corpus, "--out", folder, *FLAGS]
        return ["train", *start, *flags]

    def finish(self, folder: Path, *flags: object, nan_losses: bool = False) -> str:
        """Begin or resume the run and wait for its end; return what was printed."""
        child = self.train(folder, *flags, nan_losses=nan_losses)
        if child.wait():
            raise InputError(f"the run ended with {child.code}: {child.printed.strip()[-300:]}")
        return child.printed

    @cached_property
    def uninterrupted(self) -> Path:
        """The folder of the run that nothing happened to."""
        folder = self.new("uninterrupted")
        self.finish(folder)
        return folder

    @cached_property
    def interrupted(self) -> Path:
        """A run with several checkpoints, stopped halfway; to be copied."""
        import signal

        folder = self.new("interrupted")
        child = self.train(folder)
        child.wait_until(lambda: saved_step(folder) >= STEPS // 2)
        child.send(signal.SIGKILL)
        child.wait()
        return folder


def saved_step(folder: Path) -> int:
    """Return the update of the checkpoint that the file `latest` names; 0 without one."""
    try:
        return int((folder / "latest").read_text("utf-8").strip().removeprefix("step-"))
    except (OSError, ValueError):
        return 0


def reported_step(printed: str) -> int:
    """Return the last update that a run has printed as saved: as the best, or at its end."""
    matches = re.findall(
        r"^step (\d+) .*\(best\)|Stopped after update (\d+); all is saved", printed, re.M
    )
    return max((int(first or second) for first, second in matches), default=0)


def continued_step(printed: str) -> int | None:
    """Return the update that a run has continued after; None if it did not print one."""
    if "Starting anew." in printed:
        return 0
    match = re.search(r"Continuing after update (\d+)|to its end after ([\d,]+) updates", printed)
    return int((match[1] or match[2]).replace(",", "")) if match else None


def differing_files(folder: Path, reference: Path) -> list[str]:
    """Return the files of two finished runs that are not equal to the byte."""
    names = ["model.safetensors", f"checkpoints/step-{STEPS}/tensors.safetensors"]
    missing = [name for name in ("metrics.json", "README.md") if not (folder / name).is_file()]
    return missing + [
        name for name in names if (folder / name).read_bytes() != (reference / name).read_bytes()
    ]
