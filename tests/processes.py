"""Processes of regard whose imports are done: forked from one that has torch, and nothing else.

A new Python takes seconds to import torch; it is for tests of what is imported. A process here has
streams, a folder and an environment of its own, takes signals, and can be killed.
"""

import os
import runpy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch

context = get_context("forkserver")
context.set_forkserver_preload(
    [
        "fastapi",
        "pytest",
        "rich.progress",
        "sacrebleu.metrics",
        "torch._dynamo",
        "uvicorn",
        "regard.tasks.translation.task",
        "regard.training.run",
    ]
)


class Process:
    """`python -m regard WORDS`, or `python -c CODE WORDS`, with the manners of `Popen`."""

    def __init__(self, *words, code=None, cwd=".", path=(), **env):
        given, made, told = (context.Pipe(duplex=False) for _ in range(3))  # reader, writer
        theirs = given[0], made[1], told[1]
        env = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100", **env}
        words, path = ([*map(str, some)] for some in (words, path))
        self._process = context.Process(target=_run, args=(words, code, theirs, cwd, path, env))
        self._process.start()
        self.pid = self._process.pid
        for end in theirs:
            end.close()
        self.stdin, self.stdout, self.stderr = map(_opened, (given[1], made[0], told[0]))

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        return self._process.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self._process.kill()

    def communicate(self, given="", timeout=None):
        """Write what is given, read all streams to their end; killed after the timeout."""
        with ThreadPoolExecutor(2) as pool, self.stdin, self.stdout, self.stderr:
            printed, told = (pool.submit(stream.read) for stream in (self.stdout, self.stderr))
            self.stdin.write(given)
            self.stdin.close()
            if self.wait(timeout) is None:
                self.kill()
                self.wait()
            return printed.result(), told.result()


def run(*words, input="", **options):
    """What `subprocess.run` returns, of a process that is waited for."""
    process = Process(*words, **options)
    printed, told = process.communicate(input)
    return subprocess.CompletedProcess(words, process.returncode, printed, told)


def is_gone(pid):
    """Whether a process has ended, be it that nobody has asked for its exit code yet."""
    return _state(pid)[0] in "ZX"


def descendants(pid, word=""):
    """The processes that a process has started, and theirs, with a word in their command lines."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    own = [other for other in pids if int(_state(other)[1]) == pid]
    called = [other for other in own if word in Path(f"/proc/{other}/cmdline").read_text()]
    return called + [other for child in own for other in descendants(child, word)]


def _state(pid):
    """The state of a process and the number of its parent, as the system writes them."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return "X", "0"


def _opened(connection):
    """A text stream of the end of a pipe."""
    with connection:
        mode = "w" if connection.writable else "r"
        return os.fdopen(os.dup(connection.fileno()), mode, encoding="utf-8")


def _run(words, code, streams, cwd, path, env):
    """What the new process does."""
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    sys.stdin, sys.stdout = os.fdopen(0, encoding="utf-8"), os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8")
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path[:0] = path
    torch.set_num_threads(1)
    sys.argv = ["-c", *words]
    sys.orig_argv = [sys.executable, *(["-m", "regard"] if code is None else ["-c", code]), *words]
    if code is None:
        runpy.run_module("regard", run_name="__main__", alter_sys=True)
    else:
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
