"""Whatever is wrong with a file: exit code 0 or 2, one sentence, never a traceback.

Every command meets every file of a model folder missing, cut, of another kind or changed at random,
and `regard train` meets changed settings and corpora. Commands run in this process.
"""

import io
import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classified import classifier
from mutations import mutated, put, randomly
from regard.cli import main
from trained import trained

TEXT = "The cat sleeps."
COMMANDS = {
    "en-fr": [
        ["translate", TEXT, "--model", "MODEL"],
        ["translate", TEXT, "--model", "MODEL", "--align", "--beam", "2"],
        ["evaluate", "PAIRS", "--model", "MODEL"],
        ["compare", "MODEL", "GOOD", "--source", "TEXTS", "--reference", "TEXTS"],
        ["inspect", TEXT, "--model", "MODEL", "--out", "page.html"],
        ["train", "--resume", "MODEL", "--training.steps", "91"],
        ["info", "MODEL"],
        ["info", "MODEL", "--prune"],
    ],
    "rnn": [
        ["translate", TEXT, "--model", "MODEL", "--json"],
        ["train", "--resume", "MODEL", "--training.steps", "11"],
        ["info", "MODEL", "--json"],
    ],
    "lm": [
        ["generate", "The", "--model", "MODEL", "--max-length", "3"],
        ["inspect", TEXT, "--model", "MODEL", "--out", "page.html"],
        ["info", "MODEL"],
    ],
    "mlm": [
        ["fill", "The [MASK] sleeps.", "--model", "MODEL"],
        ["train", "--resume", "MODEL", "--training.steps", "201"],
    ],
    "text-en": [
        ["classify", TEXT, "--model", "MODEL"],
        ["train", "--resume", "MODEL", "--training.steps", "81"],
    ],
}
PAIRS = "A cat sleeps.\tUn chat dort.\nThe cat eats.\tLe chat mange.\n" * 3
RUN = """languages: en-fr
model: {kind: transformer, dim: 16, num_heads: 2, ff: 16, num_encoder_layers: 1,
        num_decoder_layers: 1}
text: {unit: bpe, vocab_size: 300, shared: true}
cleaning: {max_length: 100, drop_duplicates: false}
training: {steps: 1, batch_tokens: 200, precision: fp32, threads: 1, tensorboard: false}
decoding: {beam: 2}
"""
PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\\\n"\n\n' + "".join(
    f'msgid "cat {n}"\nmsgstr "chat {n}"\n\n' for n in range(6)
)
UNIT = "<tu><tuv xml:lang='en'><seg>cat</seg></tuv><tuv xml:lang='fr'><seg>chat</seg></tuv></tu>"
CORPORA = {
    "pairs.tsv": PAIRS,
    "pairs.txt": PAIRS,
    "pairs.jsonl": '{"en": "a cat", "fr": "un chat"}\n' * 6,
    "pairs.tmx": f"<tmx><body>{UNIT * 6}</body></tmx>",
    "pairs.po": PO,
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A copy of each model without its card, which no command reads."""
    root = tmp_path_factory.mktemp("damaged")
    for name in COMMANDS:
        whole = (classifier if name == "text-en" else trained)(name, tmp_path_factory)
        shutil.copytree(whole, root / name, ignore=shutil.ignore_patterns("README.md"))
    (root / "pairs.tsv").write_text(PAIRS)
    (root / "texts").write_text(TEXT + "\n")
    return root


def files_of(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def said(words, folder):
    """Exit code and stderr of a command that runs here; what it writes lands in `folder`."""
    before, streams = Path.cwd(), (sys.stdin, sys.stdout, sys.stderr)
    sys.stdin = io.TextIOWrapper(io.BytesIO(b""))
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    os.chdir(folder)
    try:
        code = main([str(word) for word in words])
    except SystemExit as stop:  # of argparse
        code = stop.code
    finally:
        os.chdir(before)
        err = sys.stderr.getvalue()
        sys.stdin, sys.stdout, sys.stderr = streams
    return code, err


def check(words, folder):
    """Run a command on damaged files."""
    code, err = said(words, folder)
    assert code in (0, 2), err
    assert "Traceback" not in err
    if code == 2:
        refusals = [line for line in err.splitlines() if line.startswith("regard: ")]
        assert len([line for line in refusals if "are left out" not in line]) == 1, err
        assert err.endswith(".\n"), err


def meet(models, seed):
    """A command meets a model folder with one damaged file."""
    rng = randomly(seed)
    name = rng.choice(list(COMMANDS))
    words = rng.choice(COMMANDS[name])
    file = rng.choice(files_of(models / name))
    others = [models / other / one for other in COMMANDS for one in files_of(models / other)]
    alike = [path.read_bytes() for path in others if path.suffix == file.suffix]
    with temporary(models) as folder:
        shutil.copytree(models / name, folder / "model")
        put(folder / "model" / file, mutated((models / name / file).read_bytes(), rng, alike))
        places = {
            "MODEL": folder / "model",
            "GOOD": models / "en-fr",
            "PAIRS": models / "pairs.tsv",
            "TEXTS": models / "texts",
        }
        check([places.get(word, word) for word in words], folder)


def learn(models, seed):
    """`regard train` meets damaged settings or a damaged corpus."""
    rng = randomly(seed)
    name = rng.choice(list(CORPORA))
    with temporary(models) as folder:
        put(folder / "run.yaml", RUN.encode())
        put(folder / name, CORPORA[name].encode())
        if rng.random() < 0.7:
            put(folder / "run.yaml", mutated(RUN.encode(), rng))
        else:
            others = [content.encode() for content in CORPORA.values()]
            put(folder / name, mutated(CORPORA[name].encode(), rng, others))
        check(["train", name, "--config", "run.yaml", "--preset", "tiny", "--out", "model"], folder)


class temporary:  # noqa: N801 (a context, as a function would be)
    """A folder that is gone afterwards; hypothesis calls a test many times."""

    def __init__(self, root):
        self.path = root / "now"

    def __enter__(self):
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir()
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


SEEDS = st.integers(0, 2**40)


@settings(max_examples=45)
@given(SEEDS)
def test_a_damaged_model_folder(models, seed):
    meet(models, seed)


@settings(max_examples=16)
@given(SEEDS)
def test_damaged_settings_and_corpora(models, seed):
    learn(models, seed)


@pytest.mark.slow
@settings(max_examples=2000)
@given(SEEDS)
def test_many_damaged_model_folders(models, seed):
    meet(models, seed)


@pytest.mark.slow
@settings(max_examples=500)
@given(SEEDS)
def test_much_damaged_settings_and_corpora(models, seed):
    learn(models, seed)


@pytest.mark.parametrize(
    "text",
    [
        "model: &a {dim: *a}",
        "model: null",
        "training:",
        "text: &b [*b]",
        "model: {dim: 1000000000000}",
        "decoding: null\ncleaning: null\ntext: null",
        "model: {num_encoder_layers: 100000000}",
        "training: {learning_rate: .nan}",
        "training: {seed: 1" + 30 * "0" + "}",
        "x: " + "[" * 500,
    ],
)
def test_settings_that_ended_in_a_traceback(models, text):
    with temporary(models) as folder:
        (folder / "run.yaml").write_text(text)
        (folder / "pairs.tsv").write_text("a\n")
        words = ["train", "pairs.tsv", "--config", "run.yaml", "--preset", "tiny", "--out", "model"]
        check(words, folder)


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[]", b'{"steps": "x", "dev": 3}', b""])
def test_figures_are_not_needed_to_use_a_model(models, content):
    with temporary(models) as folder:
        shutil.copytree(models / "en-fr", folder / "model")
        good = said(["translate", TEXT, "--model", folder / "model", "--json"], folder)
        (folder / "model" / "metrics.json").write_bytes(content)
        code, err = said(["translate", TEXT, "--model", folder / "model", "--json"], folder)
        assert code == good[0] == 0
        readable = content.startswith(b'{"')
        assert ("metrics.json: the figures of the training cannot be read" in err) != readable
        assert said(["info", folder / "model"], folder)[0] == 0


def test_a_giant_in_a_folder_takes_no_memory(models):
    with temporary(models) as folder:
        shutil.copytree(models / "mlm", folder / "model")
        path = folder / "model" / "config.yaml"
        for number in (2**20, 10**12):
            path.write_text(
                (models / "mlm" / "config.yaml").read_text().replace("dim: 48", f"dim: {number}")
            )
            code, err = said(["fill", "[MASK]", "--model", folder / "model"], folder)
            assert code == 2 and ("GB of memory" in err or "must be at most" in err)
