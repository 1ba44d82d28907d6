"""Commands of which every write, sync and rename fails once, in turn."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.faults.child import Child, one_sentence, operations
from benchmarks.faults.storage_cases import Case, check
from benchmarks.faults.workspace import Workspace, saved_step

SHORT = ("--training.steps", 4, "--training.validate_every", 2)
TEXT = "The cat sleeps."
EVERY = 40  # of the writes of one file, so many after the first are passed over


def training(workspace: Workspace) -> str:
    """A run from its beginning; resumed after the fault, it ends as one without faults."""
    whole = workspace.new("whole")

    def words(folder: Path) -> list[object]:
        return workspace.words(folder, *SHORT)

    def after(folder: Path) -> None:
        workspace.finish(folder, *SHORT)
        for name in (
            "model.safetensors",
            f"checkpoints/step-{saved_step(folder)}/tensors.safetensors",
        ):
            check((folder / name).read_bytes() == (whole / name).read_bytes(), f"{name} differs")

    workspace.finish(whole, *SHORT)
    return each_fault(workspace, words, lambda folder: None, after)


def conversion(workspace: Workspace) -> str:
    """The conversion for CTranslate2 of a model that translates for the first time."""
    return _of_model(workspace, lambda folder: ["translate", TEXT, "--model", folder])


def export(workspace: Workspace) -> str:
    """An export, whose folder is whole or not there."""

    def words(folder: Path) -> list[object]:
        out = folder.with_name(f"{folder.name}-out")
        if out.exists():
            check((out / "export.json").is_file(), "an export is not whole")
            shutil.rmtree(out)
        flags = ["--to", "ctranslate2", "--sentences", 3, "--out", out]
        return ["export", "--model", folder, *flags]

    return _of_model(workspace, words)


def _of_model(workspace: Workspace, words: Callable[[Path], list[object]]) -> str:
    """Cases of a command on a finished model, which translates as before after each of them."""

    def translation(folder: Path) -> str:
        child = Child(["translate", TEXT, "--model", folder], workspace.new("log"))
        check(child.wait() == 0, f"it does not translate any more: {child.printed[-300:]}")
        return child.printed

    def prepare(folder: Path) -> None:
        ignored = shutil.ignore_patterns("engine", "checkpoints")
        shutil.copytree(workspace.uninterrupted, folder, ignore=ignored)

    def after(folder: Path) -> None:
        check(translation(folder) == expected, "it translates otherwise than before")
        check(not list(folder.glob(".*")), "half-written files are left")

    first = workspace.new("first")
    prepare(first)
    expected = translation(first)
    return each_fault(workspace, words, prepare, after)


def each_fault(
    workspace: Workspace,
    words: Callable[[Path], Sequence[object]],
    prepare: Callable[[Path], None],
    after: Callable[[Path], None],
) -> str:
    """Have each operation of a command fail; return how many there were, and the last sentence.

    The command must end with one sentence, or as if nothing was, and `after` must hold.
    """
    folder = workspace.new("counted")
    prepare(folder)
    child = Child(words(folder), workspace.new("log"), fail_at=0)
    check(child.wait() == 0, f"it failed without a fault: {child.printed[-300:]}")
    sentence, tolerated, numbers = "", 0, list(chosen(operations(child.printed)))
    for done, number in enumerate(numbers):
        folder = workspace.new("faulty")
        prepare(folder)
        child = Child(words(folder), workspace.new("log"), fail_at=number)
        code, failed = child.wait(), "".join(operations(child.printed))
        try:
            check(failed, "nothing failed")
            check(code in (0, 2), f"exit code {code}")
            if code:
                sentence = one_sentence(child.printed)
            tolerated += not code
            after(folder)
        except Exception as error:
            raise type(error)(f"operation {number}, {failed}: {error}") from error
        shutil.rmtree(folder, ignore_errors=True)
        if done % 50 == 49:
            print(f"  {done + 1} of {len(numbers)} operations", file=sys.stderr, flush=True)
    return f"{len(numbers)} operations, {tolerated} without consequence; {sentence}"


def chosen(names: Sequence[str]) -> Iterator[int]:
    """The numbers of all operations, but of many writes of one file only some."""
    since = 0
    for number, name in enumerate(names, start=1):
        repeated = number > 1 and name == names[number - 2] and name.startswith("write")
        since = (since + 1) % EVERY if repeated else 0
        if not since:
            yield number


OPERATIONS: dict[str, Case] = {
    "of a training": training,
    "of a conversion": conversion,
    "of an export": export,
}
