"""Small models trained by the real command's path, once for all tests and workers.

Each memorises a handful of sentences of the built-in grammar: what it was taught is known, so
tests may ask for it back.
"""

import os
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

from regard.corpus.grammar import sample

SMALL = (
    "--preset tiny --training.precision fp32 --training.threads 1 --training.warmup 10 "
    "--training.label_smoothing 0 --training.average none --training.learning_rate 4e-3 "
    "--training.schedule linear --training.validate_every 1000 --training.tensorboard false "
    "--training.batch_tokens 1000 "
)
TRANSLATOR = "--model.dim 48 --model.ff 96 --model.dropout 0 --text.vocab_size 420 "
PLAIN = "--model.dim 48 --model.ff 96 --model.layers 2 --model.dropout 0 "
FLAGS = {
    "en-fr": SMALL + TRANSLATOR + "--languages en-fr --training.steps 150 --model.max_length 48",
    "en-zh": SMALL + "--languages en-zh --text.unit char --text.shared false --model.tied output "
    "--model.dim 48 --model.ff 96 --model.dropout 0 --training.steps 120 --model.max_length 120 "
    "--training.batch_tokens 2000",
    "rnn": SMALL + "--languages en-fr --model.kind rnn --model.embedding 48 --model.dim 64 "
    "--model.attention_dim 48 --model.dropout 0 --text.vocab_size 420 --training.steps 100",
    "lm": SMALL + PLAIN + "--model.kind lm --languages en --text.vocab_size 400 "
    "--training.steps 100 --model.max_length 40",
    "mlm": SMALL + PLAIN + "--model.kind mlm --languages en --text.unit word "
    "--model.mask_rate 0.3 --training.steps 250 --model.max_length 32",
}
COUNT = 40


def taught(name: str) -> list[tuple[str, str]]:
    """The pairs that a model has learned by heart."""
    language = "zh" if name == "en-zh" else "fr"
    pairs = sample("train", COUNT, language=language, seed=3, max_words=9)
    return [(pair.source, pair.target) for pair in pairs]


def write_corpus(name: str, folder: Path) -> Path:
    """The file that a model learns from."""
    plain = name in ("lm", "mlm")
    path = folder / f"{name}.{'txt' if plain else 'tsv'}"
    rows = (source if plain else f"{source}\t{target}" for source, target in taught(name))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def regard(*words, **options):
    """`python -m regard …` as a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100", "PYTHONUTF8": "0"}
    options = {"encoding": "utf-8", "env": environment, **options}
    return subprocess.run(
        [sys.executable, "-m", "regard", *map(str, words)], capture_output=True, **options
    )


def trained(name: str, tmp_path_factory) -> Path:
    """The folder of a model, trained by whoever asks first."""
    base = tmp_path_factory.getbasetemp()
    root = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder = root / "trained" / name
    folder.parent.mkdir(exist_ok=True)
    with FileLock(root / f"trained-{name}.lock"):
        if not (folder / "metrics.json").is_file():
            corpus = write_corpus(name, folder.parent)
            words = ["train", corpus, "--dev", corpus, "--out", folder, *FLAGS[name].split()]
            done = regard(*words)
            assert done.returncode == 0, done.stderr
    return folder
