"""`regard translate` of whole files, as it is called, against a plain loop around its engine.

Both are processes whose start counts. The engine is converted to int8 before, and the loop runs
with the best of several settings of threads and batches. In a second text every line has a
placeholder, which the loop translates like any word.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import cycle, islice, product
from pathlib import Path

from benchmarks.measurement import Measurement
from benchmarks.model_names import row_prefix
from benchmarks.regard_command import run_regard
from regard.errors import InputError
from regard.tasks import load_run

LINES = 20_000
PROBED = 2_000  # lines that a setting of the loop is chosen by
SETTINGS = tuple(product((1, 2), (1, 2), (16, 32, 64)))  # inter_threads, intra_threads, batch
PLACEHOLDERS = ("%s", "{name}", "%(count)d", "https://example.org/a?b=1", "<0/>", "2041", "$HOME")
PLAIN, PROTECTED = 0.85, 0.7
Ways = tuple[tuple[str, str, bool], ...]
WAYS: Ways = (
    ("a file", "plain", True),
    ("standard input", "plain", False),
    ("a file with a placeholder in every line", "protected", True),
)


def measurements(
    repeats: int, model: str | None = None, source: str | None = None, lines: int = LINES
) -> Iterator[Measurement]:
    """The rows: each way to give the text, with and without placeholders."""
    if model is None or source is None:
        raise InputError("give a model and text in its source language: --model DIR --source FILE.")
    race = FileRace(Path(model), Path(source), lines, repeats)
    prefix = row_prefix(model)
    for way, text, as_file in WAYS:
        yield Measurement(
            f"{prefix}lines/s of `regard translate` over the bare engine, "
            f"{lines:,} lines from {way}",
            lambda text=text, as_file=as_file: race.speeds(text, as_file),  # type: ignore[misc]
            ">=",
            PLAIN if text == "plain" else PROTECTED,
        )


class FileRace:
    """The two commands on the same files; medians of rounds that take turns."""

    def __init__(self, model: Path, source: Path, num_lines: int, repeats: int) -> None:
        self.model, self.source, self.num_lines, self.repeats = model, source, num_lines, repeats
        self._folder = tempfile.TemporaryDirectory(prefix="regard-bench-")
        self.folder = Path(self._folder.name)

    def speeds(self, text: str, as_file: bool) -> tuple[float, float]:
        """Lines per second of regard, and of the bare engine."""
        source, setting = self.texts[text], self.setting
        rounds = [
            (self._regard(source, as_file), self._bare(source, setting, self.num_lines))
            for _ in range(self.repeats)
        ]
        ratios = [bare_seconds / regard_seconds for regard_seconds, bare_seconds in rounds]
        print(f"  ratios {', '.join(f'{ratio:.2f}' for ratio in ratios)}", file=sys.stderr)
        median = statistics.median(ratios)
        speed = self.num_lines / statistics.median(seconds for seconds, _ in rounds)
        return speed, speed / median

    @cached_property
    def texts(self) -> dict[str, Path]:
        """The two texts."""
        lines = [line for line in self.source.read_text("utf-8").split("\n") if line.strip()]
        lines = list(islice(cycle(lines), self.num_lines))
        made = {"plain": lines, "protected": list(map(with_placeholder, lines, range(len(lines))))}
        for name, text_lines in made.items():
            _write(self.folder / name, text_lines)
        return {name: self.folder / name for name in made}

    @cached_property
    def engine(self) -> Path:
        """The model as CTranslate2 in int8 reads it, with its tokenizer."""
        out = self.folder / "engine"
        run_regard(
            "export",
            "--model",
            self.model,
            "--to",
            "ctranslate2",
            "--precision",
            "int8",
            "--out",
            out,
        )
        tokenizer = self.model / "tokenizer.model"
        if not tokenizer.is_file():
            raise InputError(f"{self.model}: the loop needs one tokenizer of both languages.")
        shutil.copy(tokenizer, out)
        return out

    @cached_property
    def setting(self) -> tuple[int, ...]:
        """The best setting of the loop on some lines; regard's own engine is opened meanwhile."""
        some = self.folder / "some"
        _write(some, self.texts["plain"].read_text("utf-8").split("\n")[:PROBED])
        self._regard(some, True)  # converts the model on first use
        seconds = {setting: self._bare(some, setting, PROBED) for setting in SETTINGS}
        best = min(seconds, key=lambda setting: seconds[setting])
        print(f"  the loop's best threads and batch: {best}", file=sys.stderr, flush=True)
        return best

    @cached_property
    def beam(self) -> int:
        """That of the model's own search."""
        return load_run(self.model).decoding.beam

    def _regard(self, source: Path, as_file: bool) -> float:
        words = ["translate", "--model", str(self.model)]
        output = self.folder / "regard.txt"
        if as_file:
            words += ["--input", str(source), "--output", str(output)]
        return self._seconds([sys.executable, "-m", "regard", *words], source, output, as_file)

    def _bare(self, source: Path, setting: Sequence[int], num_lines: int) -> float:
        output = self.folder / "bare.txt"
        words = [str(self.engine), str(source), str(output), *map(str, (self.beam, *setting))]
        return self._seconds(
            [sys.executable, "-m", "benchmarks.bare_engine", *words], source, output, True
        )

    def _seconds(self, words: list[str], source: Path, output: Path, as_file: bool) -> float:
        """Seconds of a process, which must write a line for each line."""
        output.unlink(missing_ok=True)
        with source.open("rb") as stdin, (self.folder / "out").open("wb") as stdout:
            start = time.perf_counter()
            done = subprocess.run(
                words, stdin=None if as_file else stdin, stdout=stdout, stderr=subprocess.PIPE
            )
            seconds = time.perf_counter() - start
        if done.returncode:
            raise InputError(f"{words[2]} failed: {done.stderr.decode().strip()[-500:]}")
        read_path, written = source, output if as_file else self.folder / "out"
        if (counts := (_count(read_path), _count(written)))[0] != counts[1]:
            raise InputError(f"{counts[1]:,} lines were written, expected {counts[0]:,}.")
        return seconds


def with_placeholder(line: str, number: int) -> str:
    """A line with one of some placeholders between two words, or at an end.

    >>> with_placeholder("A dog runs.", 0), with_placeholder("狗在跑。", 3)
    ('%s A dog runs.', '狗在跑。 https://example.org/a?b=1')
    """
    words = line.split(" ")
    words.insert(number % (len(words) + 1), PLACEHOLDERS[number % len(PLACEHOLDERS)])
    return " ".join(words)


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _count(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)
