"""One process at a time writes a folder, and a killed one hinders nobody."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

import regard
from processes import Process
from regard.cli import main
from regard.errors import BusyError
from regard.storage import atomic_folder, replace_file
from regard.tasks import load_run
from regard.write_lock import sole_writer
from trained import FLAGS, trained, write_corpus

HOLD = """
import sys
from pathlib import Path
from regard.storage import atomic_folder, atomic_path
from regard.write_lock import sole_writer
holds = {"folder": sole_writer, "new folder": atomic_folder, "file": atomic_path}[sys.argv[1]]
with holds(Path(sys.argv[2])) as draft:
    if draft is not None and draft.is_dir():
        (draft / "half").write_text("half")
    elif draft is not None:
        draft.write_text("half")
    print("held", flush=True)
    sys.stdin.read()
"""


class Holder(subprocess.Popen):
    """Another process that writes something until it is killed, or its input ends."""

    def __init__(self, kind, path):
        words = [sys.executable, "-c", HOLD, kind, str(path)]
        super().__init__(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.stdout.readline() == "held\n"

    def __exit__(self, *error):
        self.kill()
        super().__exit__(*error)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def refusal(words, capsys):
    """The one sentence that a command ends with."""
    capsys.readouterr()
    assert main([str(word) for word in words]) == 2
    told = capsys.readouterr().err
    assert told.startswith("regard: ") and told.count("\n") == 1
    return told


def train(name, folder):
    corpus = write_corpus(name, folder.parent.parent)
    return ["train", corpus, "--dev", corpus, "--out", folder, *FLAGS[name].split()]


def test_no_command_writes_a_folder_that_another_process_writes(tmp_path, tmp_path_factory, capsys):
    folder = tmp_path / "new" / "model"
    model = tmp_path / "model"
    shutil.copytree(trained("en-fr", tmp_path_factory), model)
    for held, kind, commands in (
        (folder, "folder", [train("rnn", folder), ["import", tmp_path, "--out", folder]]),
        (folder, "new folder", [train("rnn", folder), ["import", tmp_path, "--out", folder]]),
        (model, "folder", [["train", "--resume", model], ["info", "--prune", model]]),
    ):
        before = {".lock", *(names(held) if held.exists() else [])}
        with Holder(kind, held) as other:
            for words in commands:
                told = refusal(words, capsys)
                assert f"{held}: process {other.pid} is writing it; wait until that ends." in told
            assert not held.exists() or before >= set(names(held))
    assert ".lock" in names(model)  # of the process that was killed
    assert main(["train", "--resume", str(model)]) == 0
    assert ".lock" not in names(model)
    assert main([str(word) for word in train("rnn", folder)]) == 0
    assert names(folder.parent) == ["model"]


@pytest.mark.slow
def test_of_two_that_race_for_a_new_folder_one_is_refused(tmp_path):
    folder = tmp_path / "new" / "model"
    words = train("pieces", folder)
    both = [Process(*words, "--training.seed", seed) for seed in (1, 2)]
    told = [process.communicate()[1] for process in both]
    assert sorted(process.wait() for process in both) == [0, 2]
    (winner,) = (number for number, process in enumerate(both) if process.returncode == 0)
    assert told[1 - winner].count("\n") == 1
    assert load_run(folder).training.seed == 1 + winner
    assert regard.load(folder).translate("a").text is not None  # tokenizer and weights fit


def test_a_new_folder_is_removed_if_nothing_is_written(tmp_path):
    with sole_writer(tmp_path / "a" / "b"):
        assert names(tmp_path / "a" / "b") == [".lock"]
    assert not names(tmp_path)
    with sole_writer(tmp_path / "a" / "b"):
        (tmp_path / "a" / "b" / "file").touch()
    assert names(tmp_path / "a" / "b") == ["file"]


def test_a_forked_process_does_not_keep_the_lock(tmp_path):
    """So that a run whose leader is killed can be resumed at once."""
    leader = os.fork()
    if not leader:
        with sole_writer(tmp_path):
            worker = os.fork()
            if not worker:
                signal.pause()
            (tmp_path / "worker").write_text(str(worker))
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(leader, 0)
    try:
        with sole_writer(tmp_path):
            pass
    finally:
        os.kill(int((tmp_path / "worker").read_text()), signal.SIGKILL)


def test_what_a_killed_process_left_is_removed(tmp_path):
    with Holder("new folder", tmp_path / "x"), Holder("file", tmp_path / "y") as other:
        with pytest.raises(BusyError, match=r"x: process [0-9]+ is writing it"):
            atomic_folder(tmp_path / "x").__enter__()
        replace_file(tmp_path / "y", "mine")  # two may write a file, each its own
        assert other.poll() is None
    assert names(tmp_path) == [".x.lock", ".x.part", ".y.lock", ".y.part", "y"]
    with atomic_folder(tmp_path / "x"):
        replace_file(tmp_path / "y", "new")
    assert names(tmp_path) == ["x", "y"]


def test_where_files_cannot_be_locked(tmp_path, monkeypatch):
    """As on a network file system without locks: the file itself is the lock."""
    monkeypatch.setattr("regard.write_lock.flock", None)
    with Holder("folder", tmp_path / "x") as other:
        with pytest.raises(BusyError) as raised, sole_writer(tmp_path / "x"):
            pass
        sentence = f"{tmp_path / 'x'}: process {other.pid} is writing it; wait until that ends"
        assert str(raised.value) == f"{sentence} (if it has ended, remove {tmp_path / 'x/.lock'})."
    (tmp_path / "x" / ".lock").unlink()
    with sole_writer(tmp_path / "x"), pytest.raises(BusyError), sole_writer(tmp_path / "x"):
        pass
    replace_file(tmp_path / "y", "text")
    assert names(tmp_path) == ["x", "y"]
