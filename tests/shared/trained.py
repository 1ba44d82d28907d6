"""Small models trained by the real command, once for all tests and workers.

Each memorises a handful of sentences of the built-in grammar: what it was taught is known, so
tests may ask for it back.
"""

import os
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

from regard.cli import main
from regard.corpus.grammar import sample

SMALL = (
    "--preset tiny --training.precision fp32 --training.threads 1 --training.warmup 10 "
    "--training.label_smoothing 0 --training.average none --training.learning_rate 5e-3 "
    "--training.schedule linear --training.validate_every 1000 --training.tensorboard false "
    "--training.batch_tokens 1000 --model.dropout 0 --model.max_length 48 "
)
LAYERS = "--model.dim 48 --model.num_heads 2 --model.ff 96 "
FLAGS = {
    "en-fr": SMALL + LAYERS + "--languages en-fr --training.steps 90 --text.unit word",
    "en-zh": SMALL + LAYERS + "--languages en-zh --training.steps 90 --text.unit char "
    "--text.shared false --model.tied output --model.max_length 100 --training.batch_tokens 2000",
    "pieces": SMALL + LAYERS + "--languages en-fr --training.steps 5 --text.vocab_size 350 "
    "--model.max_length 500",
    "rnn": SMALL + "--languages en-fr --model.kind rnn --model.embedding 32 --model.dim 32 "
    "--model.attention_dim 32 --text.vocab_size 350 --training.steps 10",
    "lm": SMALL
    + LAYERS
    + "--model.kind lm --model.num_layers 2 --languages en --training.steps 60 "
    "--text.vocab_size 350",
    "mlm": SMALL + LAYERS + "--model.kind mlm --model.num_layers 1 --languages en --text.unit word "
    "--model.mask_rate 0.3 --training.steps 200",
}
COUNT = 16


def taught(name):
    """The pairs that a model has learned by heart."""
    language = "zh" if name == "en-zh" else "fr"
    pairs = sample("train", COUNT, language=language, seed=3, max_words=9)
    return [(pair.source, pair.target) for pair in pairs]


def write_corpus(name, folder):
    """The file that a model learns from."""
    plain = name in ("lm", "mlm")
    path = folder / f"{name}.{'txt' if plain else 'tsv'}"
    rows = (source if plain else f"{source}\t{target}" for source, target in taught(name))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def regard(*words, **options):
    """`python -m regard …` as a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100"}
    options = {"encoding": "utf-8", "env": environment, **options}
    return subprocess.run(
        [sys.executable, "-m", "regard", *map(str, words)], capture_output=True, **options
    )


def made_once(name, tmp_path_factory, train) -> Path:
    """The folder of a model, which `train(folder)` makes for whichever worker asks first."""
    base = tmp_path_factory.getbasetemp()
    root = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder = root / "models" / name / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(root / f"{name}.lock"):
        if not (folder / "metrics.json").is_file():
            assert train(folder) == 0
    return folder


def several_languages(tmp_path_factory) -> Path:
    """The folder of one model that knows the corpora of en-fr and en-zh by heart."""
    name = "en-fr-zh"
    flags = SMALL + LAYERS + "--training.steps 140 --text.vocab_size 700 "
    flags += "--training.batch_tokens 1500"

    def train(folder):
        corpora = [f"{write_corpus(n, folder.parent)}:{n}" for n in ("en-fr", "en-zh")]
        words = ["train", "--corpus", *corpora, "--dev", *corpora, "--out", folder]
        return main([*map(str, words), *flags.split()])

    return made_once(name, tmp_path_factory, train)


def trained(name, tmp_path_factory) -> Path:
    """The folder of a model that knows its corpus by heart."""

    def train(folder):
        corpus = write_corpus(name, folder.parent)
        words = ["train", corpus, "--dev", corpus, "--out", folder, *FLAGS[name].split()]
        return main([str(word) for word in words])

    return made_once(name, tmp_path_factory, train)
