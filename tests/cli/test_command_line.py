"""The command line in real processes, and arguments that no one means."""

import json
import re
import subprocess
import sys

import pytest

import regard
from trained import taught, trained


def run(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "regard", *words], capture_output=True, text=True, **options
    )


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["bench", "--help"], []])
def test_help_loads_no_torch(words):
    """Nothing is imported but Python's own modules and a few of ours."""
    code = "import sys; from regard.cli import main\ntry: main({!r})\nexcept SystemExit: pass\n"
    code += "print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code.format(words)], capture_output=True, text=True, check=True
    )
    assert done.stdout
    imported = done.stderr.split()
    assert len(imported) < 200
    assert not {"torch", "numpy", "rich", "yaml"} & set(imported)


def test_importing_regard_imports_no_torch():
    code = "import regard, sys; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_version():
    assert run("--version").stdout.strip() == f"regard {regard.__version__}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["bench"], "the following arguments are required: subject"),
        (["bench", "nonsense"], "invalid choice: 'nonsense'"),
        (["corpus", "sample", "--coun", "3"], "unrecognized arguments: --coun 3"),
        (["bench", "mechanisms", "--repeats", "0"], "must be at least 1, got 0"),
    ],
)
def test_bad_input_is_exit_code_2_and_no_traceback(words, message):
    done = run(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_corpus_sample():
    done = run("corpus", "sample", "--count", "2", "--languages", "en-zh", "--split", "test")
    assert done.returncode == 0
    assert len(re.findall(r"。", done.stdout)) == 2
    again = run(
        "corpus", "sample", "--count", "2", "--languages", "en-zh", "--json", "--split", "test"
    )
    pairs = [json.loads(line) for line in again.stdout.splitlines()]
    assert all(pair["source"] in done.stdout and pair["links"] for pair in pairs)


def test_corpus_write(tmp_path):
    words = [
        "corpus",
        "write",
        "--out",
        str(tmp_path),
        "--train",
        "20",
        "--dev",
        "5",
        "--test",
        "0",
    ]
    assert run(*words).returncode == 0
    pairs = (tmp_path / "train.en-fr.tsv").read_text(encoding="utf-8").splitlines()
    split = (tmp_path / "train.en-fr.words.tsv").read_text(encoding="utf-8").splitlines()
    links = (tmp_path / "train.en-fr.align").read_text(encoding="utf-8").splitlines()
    assert len(pairs) == len(split) == len(links) == 20
    for line, link in zip(split, links, strict=True):
        source, target = (side.split() for side in line.split("\t"))
        for i, j in re.findall(r"(\d+)[-?](\d+)", link):
            assert int(i) < len(source) and int(j) < len(target)
    notes = {}
    for name in ("antecedents", "modifiers"):
        lines = (tmp_path / f"train.en-fr.{name}").read_text(encoding="utf-8").splitlines()
        notes[name] = [
            (source.split()[int(i)], source.split()[int(j)])
            for source, line in zip((s.split("\t")[0] for s in split), lines, strict=True)
            for i, j in re.findall(r"(\d+)-(\d+)", line)
        ]
    assert {first for first, _ in notes["antecedents"]} == {"it"}
    assert notes["modifiers"] and "it" not in dict(notes["modifiers"])
    assert (tmp_path / "test.en-fr.tsv").read_text() == ""
    refused = run(*words[:-1], "-3")
    assert refused.returncode == 2 and "must not be negative, got -3" in refused.stderr


TEXT = taught("en-fr")[0][0]
HUGE = "9" * 20


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    return str(trained("en-fr", tmp_path_factory))


@pytest.mark.parametrize("number", [HUGE, "20000"])
@pytest.mark.parametrize("flag", ["--n-best", "--beam", "--beam-groups"])
def test_beams_beyond_all_memory(regard, model, flag, number):
    done = regard("translate", TEXT, "--model", model, flag, number)
    assert done.code == 2 and f"{flag}" in done.err and "must be at most" in done.err
    assert done.err.startswith("regard: ") and done.err.count("\n") == 1


@pytest.mark.parametrize("flag", ["--threads", "--max-length"])
def test_numbers_beyond_all_registers(regard, model, flag):
    done = regard("translate", TEXT, "--model", model, flag, HUGE)
    assert done.code == 2 and "must be at most" in done.err


def test_a_step_of_many_digits(regard, model):
    done = regard("trace", TEXT, "--model", model, "--step", "9" * 5000)
    assert done.code == 2 and "there is no step" in done.err


def command(folder, *words):
    """Run a command as a shell does, with arguments of any bytes."""
    given = [word if isinstance(word, bytes) else word.encode() for word in words]
    whole = [sys.executable.encode(), b"-m", b"regard", *given]
    return subprocess.run(whole, capture_output=True, cwd=folder)


def test_bytes_that_are_no_utf8(tmp_path, model):
    done = command(tmp_path, "trace", TEXT, "--model", model, "--out", b"a\xff.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(rb"a\udcff.html: ") and not done.stderr
    assert len(list(tmp_path.iterdir())) == 1
    words = TEXT.encode() + b"\xff"
    for more in (["trace", words], ["translate", words]):
        done = command(tmp_path, *more, "--model", model, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)
