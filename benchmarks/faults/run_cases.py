"""Corpora that change, losses that are not finite, and SIGTERM."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.faults.child import Child, one_sentence
from benchmarks.faults.storage_cases import Case, check, check_equal, refusal
from benchmarks.faults.workspace import (
    FLAGS,
    STEPS,
    Workspace,
    continued_step,
    differing_files,
    saved_step,
)
from regard.errors import InputError

LINES = 200_000  # of a corpus that takes long enough to read
TERMS = 10  # SIGTERMs in one run


def _reading(workspace: Workspace, *flags: object) -> tuple[Child, Path, Path]:
    """Begin a run on a large corpus; return it with corpus and folder while it is being read."""
    corpus, folder = workspace.new("large").with_suffix(".tsv"), workspace.new("run")
    corpus.write_text("".join(f"the cat {n}\tle chat {n}\n" for n in range(LINES)), "utf-8")
    child = Child(["train", corpus, "--out", folder, *FLAGS, *flags], workspace.new("log"))
    size = corpus.stat().st_size
    caught = child.wait_until(lambda: 1 << 18 <= _position(child.pid, corpus) < size)
    check(caught, f"the corpus was not caught while it was read: {child.printed[-300:]}")
    return child, corpus, folder


def _position(pid: int, file: Path) -> int:
    """Return how far a process has read a file; 0 if it has not opened it."""
    try:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            if link.readlink() == file:
                information = Path(f"/proc/{pid}/fdinfo/{link.name}").read_text("utf-8")
                return int(information.split()[1])
    except OSError:  # closed meanwhile
        return 0
    return 0


def changed(change: Callable[[Path], None]) -> Case:
    """Return a case in which the corpus is changed while it is read."""

    def case(workspace: Workspace) -> str:
        child, corpus, folder = _reading(workspace)
        change(corpus)
        sentence = refusal(child, "the file changed while it was read")
        check(not folder.exists(), "a folder is left behind")
        return sentence

    return case


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"the dog\tle ch")


def _overwrite(path: Path) -> None:
    path.write_bytes(b"the dog\tle chien\n" * LINES)


def dev_vanishes(workspace: Workspace) -> str:
    """Remove the development set while the corpus is read."""
    dev = workspace.new("dev").with_suffix(".tsv")
    dev.write_bytes(workspace.corpus.read_bytes())
    child, _, folder = _reading(workspace, "--dev", dev)
    dev.unlink()
    sentence = refusal(child, "there is no such file")
    check(not folder.exists(), "a folder is left behind")
    return sentence


def corpus_vanishes(workspace: Workspace) -> str:
    """Remove the corpus once the run has begun, and kill the run."""
    folder, content = workspace.new("run"), workspace.corpus.read_bytes()
    child = workspace.train(folder)
    try:
        child.wait_until(lambda: saved_step(folder) >= 1)
        workspace.corpus.unlink()
        child.wait_until(lambda: saved_step(folder) >= STEPS // 4)
        child.send(signal.SIGKILL)
        child.wait()
        printed = workspace.finish(folder)
    finally:
        workspace.corpus.write_bytes(content)
    check_equal(folder, workspace)
    return next(line for line in printed.splitlines() if "Continuing" in line)


def nan_skipped(workspace: Workspace) -> str:
    """Make some losses NaN, in a run that is stopped and resumed and in one that is not."""
    whole, folder = workspace.new("nan"), workspace.new("nan-resumed")
    printed = workspace.finish(whole, nan_losses=True)
    skipped = [line for line in printed.splitlines() if "is skipped" in line]
    check(skipped, "no update was skipped")
    moment = int(skipped[0].split()[1]) + 1
    child = workspace.train(folder, nan_losses=True)
    child.wait_until(lambda: saved_step(folder) >= moment)
    child.send(signal.SIGTERM)
    check(child.wait() == 130, f"SIGTERM: exit code {child.code}")
    printed = workspace.finish(folder, nan_losses=True)
    different = differing_files(folder, whole)
    check(not different, f"{', '.join(different)} differ from the run that was not stopped")
    return f"{skipped[0]} ({len(skipped)} of {STEPS} updates)"


def diverged(workspace: Workspace) -> str:
    """Train at a rate at which the weights overflow."""
    folder = workspace.new("diverged")
    words = ["--training.learning_rate", "1e30", "--training.clip", "0", "--training.warmup", "0"]
    sentence = refusal(workspace.train(folder, *words), "not finite in")
    saved = re.search(r"up to update (\d+) the run is saved", sentence)
    check(saved and int(saved[1]) == saved_step(folder), "what is said to be saved is not")
    return sentence


def terminated(workspace: Workspace) -> str:
    """Send SIGTERM to a run again and again; it resumes exactly where it stopped."""
    folder, stopped, line = workspace.new("terminated"), 0, ""
    for _ in range(TERMS):
        child = workspace.train(folder)
        before = saved_step(folder)
        if not child.wait_until(lambda: saved_step(folder) > before):  # noqa: B023
            break
        time.sleep(0.05 * workspace.random.random())
        child.send(signal.SIGTERM)
        code, printed = child.wait(), child.printed
        check("Traceback" not in printed, printed[-300:])
        continued = continued_step(printed)
        check(continued in (None, stopped), f"stopped at {stopped}, continued after {continued}")
        if code == 0:  # it was over before the signal
            break
        check(code == 130, f"exit code {code}: {printed.strip()[-300:]}")
        line = next(
            (
                candidate
                for candidate in printed.splitlines()
                if candidate.startswith("Stopped after")
            ),
            "",
        )
        check(
            "all is saved" in line and "--resume" in printed, f"not one clear sentence: {printed}"
        )
        stopped = int(line.split()[3].rstrip(";"))
        check(saved_step(folder) == stopped, f"update {stopped} is not saved")
    workspace.finish(folder)
    check_equal(folder, workspace)
    return line


def terminated_early(workspace: Workspace) -> str:
    """Send SIGTERM while the corpus is read: nothing is saved yet, and nothing is left."""
    child, _, folder = _reading(workspace)
    child.send(signal.SIGTERM)
    code, printed = child.wait(), child.printed
    check(code == 130, f"exit code {code}")
    check(not folder.exists(), "a folder is left behind")
    return one_sentence(printed)


CORPUS: dict[str, Case] = {
    "grows while it is read": changed(_append),
    "shrinks while it is read": changed(lambda path: os.truncate(path, 300_000)),
    "is overwritten while it is read": changed(_overwrite),
    "development set vanishes": dev_vanishes,
    "vanishes during the run": corpus_vanishes,
}
NOT_FINITE: dict[str, Case] = {"some losses are NaN": nan_skipped, "the run diverges": diverged}
TERMINATION: dict[str, Case] = {
    "during updates and saves": terminated,
    "while the corpus is read": terminated_early,
}


def failures(name: str, cases: dict[str, Case], workspace: Workspace) -> int:
    """Let all faults of a group happen; print how each ended, and return how many went wrong."""
    wrong = 0
    for label, case in cases.items():
        try:
            outcome = case(workspace).replace(str(workspace.path), "…")
        except (InputError, OSError) as error:
            wrong += 1
            outcome = f"WRONG: {error}"
        print(f"  {name}, {label}: {outcome}", flush=True)
    return wrong
