"""The process that fuzzes one target with atheris, until its time is over.

    python -m benchmarks.fuzz.child GROUP TARGET FOLDER SCRATCH SECONDS [--again]

What it executes is in the file TARGET.now before it is executed, so that the parent process knows
what the input was if this process hangs or dies. An exception does not end it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.fuzz.workspace import CurrentInput, Workspace

MEMORY = 4096  # MB that the process may take


def main() -> None:
    """Read the arguments and fuzz."""
    import atheris  # of the extra `bench`

    parser = argparse.ArgumentParser()
    parser.add_argument("group")
    parser.add_argument("target")
    parser.add_argument("folder", type=Path)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("seconds", type=int)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    workspace = Workspace(options.folder, options.target)
    with atheris.instrument_imports(include=["regard"], enable_loader_override=False):
        from benchmarks.fuzz.groups import GROUPS
        from benchmarks.fuzz.target import failure, failure_name

        target = GROUPS[options.group][options.target](options.scratch)
        current = CurrentInput(workspace.now)
        known = {path.name for path in workspace.findings()}

        def execute(data: bytes) -> None:
            current.begin(data)
            error = failure(target.read, data)
            current.end()
            if error is not None and (name := failure_name(error)) not in known:
                known.add(name)
                workspace.save_finding(name, data)

        if options.again:
            known.clear()
            for path in workspace.findings():
                data = path.read_bytes()
                path.unlink()
                execute(data)
        for seed in target.seeds:  # what is imported only now has its coverage measured, too
            execute(seed)
    workspace.add_inputs(target.seeds)
    arguments = [
        sys.argv[0],
        str(workspace.corpus),
        f"-max_total_time={options.seconds}",
        f"-max_len={target.max_bytes}",
        f"-rss_limit_mb={MEMORY}",
        "-timeout=3600",
        "-report_slow_units=3600",
        "-print_final_stats=1",
        "-use_value_profile=1",
        f"-artifact_prefix={workspace.folder}/",
    ]
    if target.words:
        arguments.append(f"-dict={workspace.write_dictionary(target.words)}")
    _fuzz(arguments, execute)


def _fuzz(arguments: Sequence[str], execute: Callable[[bytes], None]) -> None:
    import atheris

    atheris.Setup(list(arguments), execute)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
