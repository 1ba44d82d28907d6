"""Small classifiers trained by the real command, once for all tests and workers."""

from pathlib import Path

from regard.cli import main
from regard.corpus.labeled import known_texts
from trained import made_once

FLAGS = (
    "--model.kind classifier --preset tiny --training.precision fp32 --training.threads 1 "
    "--training.label_smoothing 0.05 --training.average none --training.tensorboard false "
    "--training.validate_every 1000 --model.dropout 0 "
)
TEXT = FLAGS + "--model.dim 32 --model.ff 64 --model.num_layers 1 --training.batch_tokens 600 "
KINDS = {
    "text-en": TEXT + "--text.unit word --training.steps 80 --training.learning_rate 5e-3",
    "text-zh": TEXT + "--languages zh --text.unit char --training.steps 80 --model.encoder rnn "
    "--training.learning_rate 5e-3",
    "series": FLAGS + "--model.patch 8 --model.kernel 16 --model.dim 32 --model.ff 128 "
    "--model.num_layers 1 --training.batch_tokens 512 --training.learning_rate 5e-3 "
    "--training.schedule linear --training.steps 400",
}


def write_examples(name, folder):
    """The file that a classifier learns from."""
    if name == "series":
        path = folder / "series.npz"
        words = ["corpus", "series", "--out", path, "--count", 6000, "--channels", 4]
        assert main([str(word) for word in [*words, "--moments", 64]]) == 0
        return path
    path = folder / f"{name}.tsv"
    rows = known_texts(300, 1, name.partition("-")[2])
    path.write_text("".join(f"{row.label}\t{row.text}\n" for row in rows), encoding="utf-8")
    return path


def classifier(name, tmp_path_factory) -> Path:
    """The folder of a classifier."""

    def train(folder):
        path = write_examples(name, folder.parent)
        return main(["train", str(path), "--out", str(folder), *KINDS[name].split()])

    return made_once(name, tmp_path_factory, train)
