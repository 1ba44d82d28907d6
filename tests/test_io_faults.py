"""Every write, sync and rename of a save fails once, in turn: the old state stays, or the new is.

`python -m benchmarks faults` does so with whole runs.
"""

import re
import shutil

import pytest
import torch

from benchmarks.faults.failing_io import FailingIO
from regard.errors import InputError
from regard.folder import load_weights, save_weights
from regard.formats.compressed import open_read, open_write
from regard.formats.partial_output import PartialOutput
from regard.server.access.keys import make_key, read_keys, revoke_key
from regard.storage import atomic_folder, replace_file
from regard.training.checkpoint import read_checkpoint, saving, steps, write_checkpoint


def contents(folder):
    """The files of a folder that a user sees."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith(".") for part in path.parts)
    }


class Text:
    """A file of text, as a page or a document."""

    repeats = True
    """Whether what was saved can be saved again, which takes all remains away."""

    def prepare(self, home):
        replace_file(home / "file", "old" * 100)

    def save(self, home):
        replace_file(home / "file", "new" * 200)

    def state(self, home):
        return contents(home)


class Document(Text):
    def prepare(self, home):
        with open_write(home / "file.gz") as file:
            file.write(b"old" * 100)

    def save(self, home):
        with open_write(home / "file.gz") as file:
            file.write(b"new" * 200)

    def state(self, home):
        with open_read(home / "file.gz") as file:
            return file.read()


class Keys(Text):
    repeats = False

    def prepare(self, home):
        for name in ("me", "you"):
            make_key(home / "keys", name)

    def save(self, home):
        revoke_key(home / "keys", "me")

    def state(self, home):
        return [key.name for key in read_keys(home / "keys")]


class Weights(Text):
    def prepare(self, home):
        save_weights(home / "weights", {"x": torch.zeros(100)})

    def save(self, home):
        save_weights(home / "weights", {"x": torch.ones(200)})

    def state(self, home):
        return load_weights(home / "weights")["x"].tolist()


class Checkpoint(Text):
    """The next one, which takes the place of the oldest."""

    step = 3

    def write(self, home, step, value):
        tensors = {"model.x": torch.full((30,), float(value))}
        write_checkpoint(home, step, tensors, {"value": value}, keep=2)

    def prepare(self, home):
        for step in (1, 2):
            self.write(home, step, step)

    def save(self, home):
        with saving(home):
            self.write(home, self.step, 9)

    def state(self, home):
        said = []
        tensors, state = read_checkpoint(home, said.append)
        assert not said and len(steps(home)) >= 2
        assert set(tensors["model.x"].tolist()) == {float(state["value"])}
        return state["step"], state["value"]


class CheckpointAgain(Checkpoint):
    """One of a step that is there already."""

    step = 2


class NewFolder(Text):
    repeats = False

    def prepare(self, home):
        pass

    def save(self, home, **options):
        with atomic_folder(home / "folder", **options) as draft:
            replace_file(draft / "a", "new a")
            (draft / "b").mkdir()
            replace_file(draft / "b" / "c", "new c")


class OtherFolder(NewFolder):
    def prepare(self, home):
        with atomic_folder(home / "folder") as draft:
            replace_file(draft / "a", "old a")

    def save(self, home):
        super().save(home, replace=True)


class LongOutput(Text):
    """The output of a long command, which is continued."""

    suffix = ""

    def prepare(self, home):
        replace_file(home / f"out{self.suffix}", "old")

    def save(self, home):
        lines = ["a", "b", "c"]
        with PartialOutput(home / f"out{self.suffix}", {"model": "x"}, str) as output:
            for line in output.remaining(iter(lines)):
                output.write([line], [line * 30])
            output.finish()

    def state(self, home):
        return (home / f"out{self.suffix}").read_bytes()


class CompressedOutput(LongOutput):
    suffix = ".xz"


@pytest.mark.parametrize(
    "case",
    [
        Text,
        Document,
        Keys,
        Weights,
        Checkpoint,
        CheckpointAgain,
        NewFolder,
        OtherFolder,
        LongOutput,
        CompressedOutput,
    ],
)
def test_every_operation_of_a_save_fails_once(case, tmp_path):
    save, home = case(), tmp_path / "home"
    (tmp_path / "before").mkdir()
    save.prepare(tmp_path / "before")
    old = save.state(tmp_path / "before")
    shutil.copytree(tmp_path / "before", home)
    with FailingIO() as counted:
        save.save(home)
    new, names = save.state(home), sorted(home.rglob("*"))
    assert new != old and len(counted.operations) >= 4
    for number in range(1, len(counted.operations) + 1):
        shutil.rmtree(home)
        shutil.copytree(tmp_path / "before", home)
        with FailingIO(number) as faults:
            try:
                save.save(home)
                failed = False
            except (OSError, InputError) as error:
                failed, sentence = True, str(error)
                assert str(home) in sentence and not re.search(r"\.part\b|\n", sentence)
        assert faults.failed, number
        assert save.state(home) in ((old, new) if failed else (new,)), faults.failed
        if save.repeats or save.state(home) == old:
            save.save(home)
        assert save.state(home) == new, faults.failed
        assert not [path for path in sorted(home.rglob("*")) if path not in names]
