"""How each contender is started: regard, the limit, and the peers in every setting they have.

A peer runs with one thread, with a thread for each core, and as two or more processes that share
the sentences of every batch; what it can, in fp32 and in bf16.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.train.contender import Contender, ContenderError, Together
from benchmarks.train.task import Task
from regard.errors import InputError
from regard.training.precision import bf16_environment

AnyContender = Contender | Together
Start = Callable[[], AnyContender]
Peer = Callable[[Task, Path], Iterator[Start]]
"""From a task and a folder for files to the variants of a peer."""


def regard(task: Task, folder: Path) -> Contender:
    """Regard."""
    return _contender("regard", "regard_contender", _written(task, folder, "regard"))


def limit(task: Task, folder: Path, precision: str) -> Iterator[Start]:
    """The matrix products alone, by processes and threads that together take all cores.

    With bf16, each product is in bf16 or fp32, whichever takes less time.
    """
    environment = (bf16_environment(0.0) or {}) if precision == "bf16" else {}
    counts = {1, *(task.threads // n for n in (1, 2, 4) if task.threads % n == 0)}
    for processes in sorted(counts, reverse=True):
        threads = task.threads // processes
        name = f"matrix products, {precision}, {processes} × {threads}"
        path = _written(task, folder, f"limit-{processes}")
        words = (precision, str(processes), str(threads))
        yield partial(_contender, name, "limit", path, *words, environment=environment)


def torch(task: Task, folder: Path) -> Iterator[Start]:
    """A loop around `torch.nn.Transformer`, in fp32, and in bf16 where that is faster."""
    environments: dict[str, dict[str, str]] = {"fp32": {}}
    if (bf16 := bf16_environment()) is not None:
        environments["bf16"] = bf16
    for precision, environment in environments.items():
        for name, parts in _variants(task):
            files = [_written(part, folder, f"{name}-{n}") for n, part in enumerate(parts)]
            yield partial(_torch, f"{precision}, {name}", files, precision, environment)


def _torch(
    name: str, files: Sequence[Path], precision: str, environment: dict[str, str]
) -> AnyContender:
    name = f"torch.nn.Transformer, {name}"
    return _together(
        name,
        [_contender(name, "torch_contender", f, precision, environment=environment) for f in files],
    )


def joeynmt(home: Path | None) -> Peer:
    """JoeyNMT's own loop, in the environment in `home`."""

    def variants(task: Task, folder: Path) -> Iterator[Start]:
        for name, parts in _variants(task):
            yield partial(_joeynmt, f"JoeyNMT 2.3, {name}", parts, folder / name, home)

    return variants


def _variants(task: Task) -> Iterator[tuple[str, list[Task]]]:
    """One thread; more threads; several processes of one thread."""
    yield "1 thread", [replace(task, threads=1)]
    if task.threads > 1:
        yield f"{task.threads} threads", [task]
        yield (
            f"{task.threads} processes",
            [task.part(number, task.threads) for number in range(task.threads)],
        )


def _written(task: Task, folder: Path, name: str) -> Path:
    path = folder / f"{name}.json"
    task.write(path)
    return path


def _contender(
    name: str, module: str, task: Path, *words: str, environment: dict[str, str] | None = None
) -> Contender:
    command = [sys.executable, "-m", f"benchmarks.train.{module}", str(task), *words]
    log = task.with_name(f"{name.replace(' ', '-')}-{task.stem}.log")
    return Contender(name, command, log, environment)


def _together(name: str, contenders: Sequence[Contender]) -> AnyContender:
    return contenders[0] if len(contenders) == 1 else Together(name, contenders)


def _joeynmt(name: str, parts: Sequence[Task], folder: Path, home: Path | None) -> AnyContender:
    from benchmarks.train.joeynmt_environment import joeynmt_python

    python = joeynmt_python(home)
    folders = [folder.with_name(f"{folder.name}-{number}") for number in range(len(parts))]
    codes = [_joeynmt_code(part, place) for part, place in zip(parts, folders, strict=True)]
    return _together(
        name,
        [
            Contender(name, [str(python), "-c", code], place / "joeynmt.log")
            for code, place in zip(codes, folders, strict=True)
        ],
    )


def _joeynmt_code(task: Task, folder: Path) -> str:
    """The program of a contender, whose files are written to `folder`."""
    import yaml

    from benchmarks.train import joeynmt_contender

    folder.mkdir()
    path, config = _written(task, folder, "task"), folder / "config.yaml"
    settings = joeynmt_contender.configuration(task, folder)
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    # the repository comes last on its path, so that every package is the environment's own
    root = str(Path(joeynmt_contender.__file__).parents[2])
    return (
        f"import sys; sys.path.append({root!r}); "
        "from benchmarks.train.joeynmt_contender import main; "
        f"main({str(path)!r}, {str(config)!r})"
    )


def warmed(contender: AnyContender) -> dict[str, Any]:
    """Wait for the contender's warm-up; end its process if that fails."""
    try:
        return contender.warm()
    except BaseException as error:
        contender.__exit__(type(error), error, None)
        if isinstance(error, ContenderError) and "JoeyNMT" in contender.name:
            raise InputError(
                f"{error}; if its environment is broken, remove it and try again."
            ) from None
        raise
