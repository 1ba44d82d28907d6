"""`python -m benchmarks fuzz`: each target by a process of its own, watched by this one.

An execution that takes more than five seconds of its processor's time is a hang: the process is
killed, the input is kept, and the rest of the time goes to a new process. The processor's time is
that of the process, so that a busy machine makes no hang.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.fuzz.groups import GROUPS
from benchmarks.fuzz.target import failure
from benchmarks.fuzz.workspace import Workspace, executions, running_input
from regard.bench.row import Row, print_table
from regard.errors import InputError

MINUTES = 30
EXPECTED = {"documents": 1_000_000, "texts": 1_000_000, "files": 1_000_000, "folders": 10_000}
"""Executions of each group in `MINUTES`."""
HANG, STUCK = 5.0, 60.0
"""Seconds of the processor's time, and of the clock, after which an execution is a hang."""
MAX_DEATHS = 20
"""Hangs and dead processes after which a target is left alone."""
POLL = 0.2
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class FuzzedTarget:
    """What became of a target.

    inputs    that reach something new: in the folder now, and those among them of this run
    findings  the files that are kept
    """

    group: str
    name: str
    executions: int = 0
    inputs: tuple[int, int] = (0, 0)
    findings: tuple[Path, ...] = ()
    seconds: float = 0.0

    @property
    def hangs(self) -> list[Path]:
        """The inputs that take too long."""
        return [path for path in self.findings if path.name.startswith(f"{self.name}.hang")]

    @property
    def failures(self) -> list[Path]:
        """The inputs that end in an exception, or with the process."""
        return [path for path in self.findings if path not in self.hangs]

    def as_json(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        return {
            "group": self.group,
            "target": self.name,
            "executions": self.executions,
            "inputs": self.inputs[0],
            "new_inputs": self.inputs[1],
            "failures": list(map(str, self.failures)),
            "hangs": list(map(str, self.hangs)),
            "seconds": round(self.seconds, 1),
        }


def report(
    only: str,
    *,
    as_json: bool,
    minutes: float = MINUTES,
    group: str | None = None,
    corpus: str | None = None,
    replay: str | None = None,
) -> list[Row]:
    """Fuzz the chosen targets, print what was found, and return the bars."""
    if replay is not None:
        return [_replay(Path(replay))]
    if importlib.util.find_spec("atheris") is None:
        raise InputError("`benchmarks fuzz` needs atheris; install it with `pip install atheris`.")
    chosen = _chosen(only, group)
    folder = Path(corpus) if corpus else _default_folder()
    targets: list[FuzzedTarget] = []
    for name, members in chosen.items():
        for target in members:
            targets.append(fuzz(name, target, folder, 60 * minutes / len(members)))
            _log(_line(targets[-1]))
    rows = bars(targets, minutes)
    if as_json:
        figures = [target.as_json() for target in targets]
        print(json.dumps({"targets": figures, "bars": [row.as_json() for row in rows]}, indent=1))
    else:
        _print(targets)
        print_table("bars", rows)
    return rows


def fuzz(group: str, name: str, folder: Path, seconds: float) -> FuzzedTarget:
    """Fuzz one target for a time; what an earlier run has found is tried first."""
    workspace = Workspace(folder, name)
    workspace.create()
    before = {path.name for path in workspace.corpus.iterdir()}
    target = FuzzedTarget(group, name)
    start = time.monotonic()
    memory = Path("/dev/shm")
    parent = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="regard-fuzz-", dir=parent) as scratch:
        for number in range(MAX_DEATHS):
            left = start + seconds - time.monotonic()
            if left < 1 and number:
                break
            command = [group, name, str(folder), scratch, str(max(1, round(left)))]
            if not number:
                command.append("--again")
            ended = _run(command, workspace)
            target.executions += executions(workspace.now)[0]
            if ended == "done":
                break
            workspace.save_finding(ended, running_input(workspace.now))
    target.seconds = time.monotonic() - start
    after = {path.name for path in workspace.corpus.iterdir()}
    target.inputs = len(after), len(after - before)
    target.findings = tuple(workspace.findings())
    workspace.now.unlink(missing_ok=True)
    return target


def _run(command: list[str], workspace: Workspace) -> str:
    """Run the process of a target to its end; `done`, or the name of what it ended with."""
    workspace.now.unlink(missing_ok=True)
    with workspace.log.open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.fuzz.child", *command],
            stdout=log,
            stderr=log,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
    try:
        if _hangs(process, workspace):
            return f"hang-{time.time_ns():x}"
    finally:
        process.kill()
        process.wait()
    begun, ended = executions(workspace.now)
    if process.returncode == 0:
        return "done"
    if not begun:
        lines = workspace.log.read_text("utf-8", "replace").strip().splitlines() or ["no output"]
        raise InputError(f"{workspace.target} cannot be fuzzed: {lines[-1]}")
    return f"death-{abs(process.returncode)}" + ("-later" if begun == ended else "")


def _hangs(process: subprocess.Popen[bytes], workspace: Workspace) -> bool:
    """Watch a process until its end; True if one of its executions takes too long."""
    last, since, spent = 0, time.monotonic(), 0.0
    while True:
        try:
            process.wait(POLL)
            return False
        except subprocess.TimeoutExpired:
            pass
        begun, ended = executions(workspace.now)
        if begun == ended or begun != last:
            last, since, spent = begun, time.monotonic(), _cpu_seconds(process.pid)
        elif _cpu_seconds(process.pid) - spent > HANG or time.monotonic() - since > STUCK:
            return True


def _cpu_seconds(pid: int) -> float:
    """The processor's time that a process has taken; 0 if it is over."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def bars(targets: list[FuzzedTarget], minutes: float) -> list[Row]:
    """The bars of each group."""
    rows = []
    for group in dict.fromkeys(target.group for target in targets):
        members = [target for target in targets if target.group == group]
        expected = round(EXPECTED[group] * minutes / MINUTES)
        rows += [
            Row(
                f"{group}: executions in {minutes:g} minutes",
                sum(target.executions for target in members),
                None,
                None,
                ">=",
                expected,
            ),
            Row(
                f"{group}: tracebacks",
                sum(len(target.failures) for target in members),
                None,
                None,
                "<=",
                0,
            ),
            Row(
                f"{group}: hangs over {HANG:g} s",
                sum(len(target.hangs) for target in members),
                None,
                None,
                "<=",
                0,
            ),
        ]
    return rows


def _replay(path: Path) -> Row:
    """Execute a finding once more, in this process; whatever it ends in is not caught."""
    name = path.name.partition(".")[0]
    make = next((group[name] for group in GROUPS.values() if name in group), None)
    if make is None or not path.is_file():
        raise InputError(f"{path}: a file of findings is expected, named TARGET.…")
    with tempfile.TemporaryDirectory() as scratch:
        target = make(Path(scratch))
        start = time.process_time()
        error = failure(target.read, path.read_bytes())
        seconds = time.process_time() - start
    if error is not None:
        raise error
    print(f"{path}: nothing but an input error, {seconds:.2f} s")
    return Row(f"{name}: seconds", seconds, None, None, "<=", HANG)


def _chosen(only: str, group: str | None) -> dict[str, list[str]]:
    """The targets of each chosen group."""
    if group is not None and group not in GROUPS:
        raise InputError(f"--group must be {', '.join(GROUPS)}, got {group}.")
    chosen = {
        name: [target for target in members if only.lower() in target]
        for name, members in GROUPS.items()
        if group in (None, name)
    }
    chosen = {name: members for name, members in chosen.items() if members}
    if not chosen:
        names = ", ".join(name for members in GROUPS.values() for name in members)
        raise InputError(f"no target's name contains {only!r}; the targets are {names}.")
    return chosen


def _default_folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "regard" / "fuzz"


def _print(targets: list[FuzzedTarget]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="python -m benchmarks fuzz", title_justify="left")
    table.add_column("target")
    for column in ("executions", "inputs", "new", "tracebacks", "hangs", "seconds"):
        table.add_column(column, justify="right")
    for target in targets:
        figures = (target.executions, *target.inputs, len(target.failures), len(target.hangs))
        table.add_row(target.name, *(f"{number:,}" for number in figures), f"{target.seconds:.0f}")
    Console().print(table)
    for path in (path for target in targets for path in target.findings):
        print(f"again: python -m benchmarks fuzz --replay {path}")


def _line(target: FuzzedTarget) -> str:
    return (
        f"{target.name}: {target.executions:,} executions, {target.inputs[1]} new inputs, "
        f"{len(target.failures)} tracebacks, {len(target.hangs)} hangs, {target.seconds:.0f} s"
    )


def _log(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)
