"""Small models by their folders, and the command in this process."""

import io
import sys

import pytest

from regard.cli import main
from trained import trained


def folder_of(name):
    @pytest.fixture(scope="session", name=name.replace("-", "_"))
    def folder(tmp_path_factory):
        return str(trained(name, tmp_path_factory))

    return folder


en_fr, en_zh, lm, mlm = map(folder_of, ("en-fr", "en-zh", "lm", "mlm"))


class Said:
    """What a command printed, and its exit code."""

    def __init__(self, code, captured):
        self.code, self.out, self.err = code, captured.out, captured.err


@pytest.fixture
def regard(capsys, monkeypatch):
    """Run a command here: `regard("translate", "…", stdin=b"…")`."""

    def run(*words, stdin=b"", typed=False):
        source = io.TextIOWrapper(stdin if typed else io.BytesIO(stdin))
        source.isatty = lambda: typed
        monkeypatch.setattr(sys, "stdin", source)
        monkeypatch.setenv("COLUMNS", "100")
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:  # of argparse
            code = stop.code
        return Said(code, capsys.readouterr())

    return run


@pytest.fixture
def refused(regard):
    """Run a command that must be refused: exit code 2, one sentence, nothing printed."""

    def run(*words, **options):
        said = regard(*words, **options)
        assert said.code == 2, said.err
        assert said.out == ""
        assert said.err.startswith("regard: ")
        assert said.err.count("\n") == 1 and said.err.endswith(".\n")
        return said.err

    return run
