"""A disk that is full, and checkpoints that are damaged."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks.faults.child import Child, one_sentence
from benchmarks.faults.small_disk import small_disk
from benchmarks.faults.workspace import (
    STEPS,
    Workspace,
    continued_step,
    differing_files,
    saved_step,
)
from regard.config.stored import CONFIG
from regard.errors import InputError

Case = Callable[[Workspace], str]
"""Lets a fault happen; returns the sentence it ended in, and raises an error if it went wrong."""


def check(holds: object, problem: str) -> None:
    """Raise an error if something does not hold."""
    if not holds:
        raise InputError(problem)


def check_equal(folder: Path, workspace: Workspace) -> None:
    """Raise an error if a finished run differs from the uninterrupted one."""
    different = differing_files(folder, workspace.uninterrupted)
    check(not different, f"{', '.join(different)} differ from the uninterrupted run")


def refusal(child: Child, expected: str) -> str:
    """Return the one sentence that a process has ended with, which contains `expected`."""
    code, printed = child.wait(), child.printed
    check(code == 2, f"exit code {code} where 2 is expected: {printed.strip()[-300:]}")
    sentence = one_sentence(printed)
    check(expected in sentence, f"{expected!r} is expected in: {sentence}")
    return sentence


def disk_full(workspace: Workspace) -> str:
    """Fill the disk three times during a run, at random moments; make room and resume."""
    with small_disk(workspace.new("disk")) as disk:
        folder, sentence = disk.path / "run", ""
        print(f"  a full disk is made by {type(disk).__name__}")
        for part in (1, 2, 3):
            child = workspace.train(folder)
            moment = STEPS * part // 4 + workspace.random.randrange(STEPS // 5)
            check(child.wait_until(lambda: saved_step(folder) >= moment), "it ended too early")  # noqa: B023
            saved = saved_step(folder)
            disk.fill(child)
            sentence = refusal(child, "the run cannot be written")
            drafts = list((folder / "checkpoints").glob(".*.part"))
            check(not drafts, f"half-written files are left: {drafts}")
            check(saved_step(folder) >= saved, f"update {saved} was saved and is lost")
            disk.empty()
        printed = workspace.finish(folder)
        check((continued_step(printed) or 0) >= saved, f"update {saved} was saved and is lost")
        check_equal(folder, workspace)
    return sentence


def disk_full_at_first(workspace: Workspace) -> str:
    """Fill the disk before anything is saved; make room and start again."""
    with small_disk(workspace.new("disk")) as disk:
        folder = disk.path / "run"
        child = workspace.train(folder)
        child.wait_until((folder / CONFIG).exists)
        disk.fill(child)
        sentence = refusal(child, "the run cannot be written")
        disk.empty()
        workspace.finish(folder)
        check_equal(folder, workspace)
    return sentence


def damaged(harm: Callable[[Path], None], expected: str) -> Case:
    """Return a case in which the newest checkpoint of a run is harmed before it is resumed."""

    def case(workspace: Workspace) -> str:
        folder = workspace.new("damaged")
        shutil.copytree(workspace.interrupted, folder)
        harm(folder)
        printed = workspace.finish(folder)
        lines = [line for line in printed.splitlines() if expected in line]
        check(len(lines) == 1, f"one line with {expected!r} is expected, got {len(lines)}")
        check_equal(folder, workspace)
        return lines[0]

    return case


def newest(folder: Path, name: str = "tensors.safetensors") -> Path:
    """Return a file of the newest checkpoint."""
    return folder / "checkpoints" / f"step-{saved_step(folder)}" / name


def cut(path: Path) -> None:
    """Cut a file in the middle."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def flip(path: Path) -> None:
    """Change one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def all_damaged(workspace: Workspace) -> str:
    """Damage every checkpoint of a run."""
    folder = workspace.new("damaged")
    shutil.copytree(workspace.interrupted, folder)
    for path in (folder / "checkpoints").glob("step-*/tensors.safetensors"):
        cut(path)
    return refusal(workspace.train(folder), "all checkpoints are damaged")


def corpus_damaged(workspace: Workspace) -> str:
    """Damage the stored corpus of a run."""
    folder = workspace.new("damaged")
    shutil.copytree(workspace.interrupted, folder)
    flip(folder / "checkpoints" / "corpus.safetensors")
    return refusal(workspace.train(folder), "the file is damaged")


DISK: dict[str, Case] = {
    "three times during a run": disk_full,
    "before anything is saved": disk_full_at_first,
}
_BACK = "goes back to"
CHECKPOINTS: dict[str, Case] = {
    "tensors cut": damaged(lambda folder: cut(newest(folder)), _BACK),
    "a bit of the tensors flipped": damaged(lambda folder: flip(newest(folder)), _BACK),
    "tensors missing": damaged(lambda folder: newest(folder).unlink(), _BACK),
    "a bit of the state flipped": damaged(lambda folder: flip(newest(folder, "state.json")), _BACK),
    "state cut": damaged(lambda folder: cut(newest(folder, "state.json")), _BACK),
    "folder missing": damaged(lambda folder: shutil.rmtree(newest(folder).parent), _BACK),
    "name of the newest missing": damaged(
        lambda folder: (folder / "latest").unlink(), "Continuing after update"
    ),
    "best weights cut": damaged(
        lambda folder: cut(folder / "model.safetensors"), "the file is damaged"
    ),
    "all checkpoints cut": all_damaged,
    "a bit of the stored corpus flipped": corpus_damaged,
}
