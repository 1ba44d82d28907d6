"""JoeyNMT's own training loop on the benchmark's batches; runs in JoeyNMT's environment.

JoeyNMT itself reads its configuration, builds its vocabulary and model, and runs its
`TrainManager`; only the data loader is ours, which yields padded batches and times the steps.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.train.rounds import Rounds
from benchmarks.train.task import Pairs, Rows, Task

UNK = 1  # regard's id of unknown tokens; the other specials are never in the rows


class Loader:
    """The data set, data loader and sampler for `TrainManager`."""

    def __init__(self, task: Task, model: Any) -> None:
        batch = importlib.import_module("joeynmt.batch").Batch
        self._order = [id(pairs) for pairs in task.order()]
        self._made = {id(p): _batch(batch, p, model) for p in task.warmup + task.timed}
        self._rounds = Rounds(len(task.warmup), len(task.timed), task.rounds)
        self._task = task
        self._about = {
            "settings": f"fp32, Adam, {task.threads} threads",
            "parameters": sum(p.numel() for p in model.parameters()),
        }
        self.batch_sampler = self
        self.seed = 0
        self.loss = 0.0

    def __iter__(self) -> Iterator[Any]:
        for key in self._order:
            batch = self._made[key]
            yield batch
            self._rounds.step(int(batch.ntokens), self.loss, **self._about)

    def make_iter(self, **_: Any) -> Loader:
        """The data loader."""
        return self

    def set_seed(self, seed: int) -> None:
        """Keep the given order."""

    def get_state(self) -> None:
        """There is no state."""


def main(path: str, config: str) -> None:
    """Train on the task with a configuration by `configuration`."""
    torch = importlib.import_module("torch")
    configs = importlib.import_module("joeynmt.config")
    training = importlib.import_module("joeynmt.training")
    task = Task.read(path)
    torch.set_num_threads(task.threads)
    torch.manual_seed(task.seed)
    logging.disable(logging.INFO)
    settings = configs.parse_global_args(configs.load_config(config), rank=0, mode="train")
    vocabularies = importlib.import_module("joeynmt.vocabulary").build_vocab(settings.data)
    model = importlib.import_module("joeynmt.model").build_model(settings.model, *vocabularies)
    if len(vocabularies[0]) != task.sizes.vocab:
        raise ValueError(f"JoeyNMT made a vocabulary of {len(vocabularies[0])} tokens.")
    model.loss_function = (settings.train.loss, settings.train.label_smoothing)
    manager = training.TrainManager(
        rank=0,
        model=model,
        model_dir=settings.model_dir,
        device=settings.device,
        n_gpu=settings.n_gpu,
        num_workers=settings.num_workers,
        autocast=settings.autocast,
        seed=settings.seed,
        train_args=settings.train,
        dev_args=configs.set_validation_args(settings.test),
    )
    loader = Loader(task, model)
    step = manager._train_step

    def recorded(batch: Any) -> Any:
        loader.loss, right = step(batch)
        return loader.loss, right

    manager._train_step = recorded
    manager.train_and_validate(train_data=loader, valid_data=loader)


def configuration(task: Task, folder: Path) -> dict[str, Any]:
    """JoeyNMT's configuration of the same model and training; writes a vocabulary to `folder`."""
    sizes = task.sizes
    specials = 4  # JoeyNMT puts its own before the tokens of the file
    words = "\n".join(f"t{number}" for number in range(specials, sizes.vocab))
    (folder / "vocabulary.txt").write_text(words + "\n", encoding="utf-8")
    side = {"lang": "xx", "level": "word", "voc_file": str(folder / "vocabulary.txt")}
    part: dict[str, Any] = {
        "type": "transformer",
        "num_layers": sizes.layers,
        "num_heads": sizes.heads,
        "hidden_size": sizes.dim,
        "ff_size": sizes.ff,
        "dropout": task.dropout,
        "layer_norm": "pre",
        "activation": "relu",
        "embeddings": {"embedding_dim": sizes.dim, "scale": True, "dropout": task.dropout},
    }
    never = 1_000_000_000
    return {
        "name": "regard-bench",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "fp16": False,
        "random_seed": task.seed,
        "data": {"train": "", "dev": "", "src": side, "trg": dict(side)},
        "testing": {},
        "training": {
            "optimizer": "adam",
            "adam_betas": list(task.betas),
            "learning_rate": task.rate,
            "scheduling": "exponential",
            "decrease_factor": 1.0,  # that is, constant
            "learning_rate_min": 0.0,
            "normalization": "tokens",
            "loss": "crossentropy",
            "label_smoothing": task.smoothing,
            "batch_type": "token",
            "batch_size": 4096,
            "epochs": 1,
            "logging_freq": never,
            "validation_freq": never,
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "bias_initializer": "zeros",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": part,
            "decoder": {**part, "embeddings": dict(part["embeddings"])},
        },
    }


def _batch(batch: Any, pairs: Pairs, model: Any) -> Any:
    """Rows of ids as a batch of JoeyNMT."""
    torch = importlib.import_module("torch")
    pad, bos, eos = model.pad_index, model.bos_index, model.eos_index

    def rectangle(rows: Rows, start: list[int]) -> Any:
        ended = [[*start, *(model.unk_index if n == UNK else n for n in row), eos] for row in rows]
        longest = max(map(len, ended))
        return torch.tensor([row + [pad] * (longest - len(row)) for row in ended])

    return batch(
        src=rectangle(pairs.sources, []),
        src_length=torch.tensor([len(row) + 1 for row in pairs.sources]),
        src_prompt_mask=None,
        trg=rectangle(pairs.targets, [bos]),
        trg_prompt_mask=None,
        indices=torch.arange(len(pairs.sources)),
        device=torch.device("cpu"),
        pad_index=pad,
        eos_index=eos,
    )
