"""Training and use of the bigram model."""

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.training.run_files import read_corpus, write_corpus
from regard.training.task import EpochBatches, Task, TrainData
from regard.training.validation import ValidationResult, perplexity


class LetterBatch(NamedTuple):
    """Letters and the letters after them, (B,) each."""

    inputs: Tensor
    labels: Tensor
    answers = property(lambda self: len(self.labels))
    costs = property(lambda self: torch.ones_like(self.labels))

    def rows(self, rows):
        return LetterBatch(self.inputs[rows], self.labels[rows])

    def to(self, device):
        return LetterBatch(self.inputs.to(device), self.labels.to(device))


class Letters(EpochBatches[LetterBatch]):
    """A text in batches; also the development set."""

    def __init__(self, ids, run):
        super().__init__(run.training.seed)
        self.ids, self.size = ids, run.training.batch_tokens

    def __len__(self):
        return len(self.ids) - 1

    def cut(self, seed, epoch):
        generator = torch.Generator().manual_seed(1000 * seed + epoch)
        order = torch.randperm(len(self), generator=generator)
        return [part.tolist() for part in order.split(self.size)]

    def batch(self, rows):
        return LetterBatch(self.ids[rows], self.ids[torch.tensor(rows) + 1])

    @torch.inference_mode()
    def validate(self, network, device, pool):
        scores, labels = network(self.ids[:-1].to(device)), self.ids[1:].to(device)
        loss, right = float(F.cross_entropy(scores, labels)), scores.argmax(-1) == labels
        return ValidationResult(loss, perplexity(loss), float(right.float().mean()))


class BigramTask(Task):
    """Trains a bigram model."""

    def build(self, settings, source_vocab, target_vocab):
        return nn.Sequential(nn.Embedding(256, settings.dim), nn.Linear(settings.dim, 256))

    def prepare(self, request, run, reporter, started):
        text = "\n".join(Path(file).read_text("ascii") for file in request.files)
        ids = torch.tensor(list(text.encode()))
        return TrainData(run, Letters(ids, run), Letters(ids[-100:].clone(), run))

    def store(self, folder, data):
        write_corpus(folder, {"train": data.train.ids, "dev": data.dev.ids})

    def restore(self, folder, run, tokenizers):
        tensors, _ = read_corpus(folder)
        return TrainData(run, Letters(tensors["train"], run), Letters(tensors["dev"], run))

    def objective(self, run, network, batch, scale):
        return scale * F.cross_entropy(network(batch.inputs), batch.labels, reduction="sum")

    def reads_text(self, run):
        return False


class Speller:
    """Continues words with the model of a folder."""

    def __init__(self, saved):
        self.network, self.max_length = saved.network, saved.run.model.max_length

    @torch.inference_mode()
    def spell(self, word):
        while len(word) < self.max_length and not word.endswith(" "):
            word += chr(int(self.network(torch.tensor([ord(word[-1])])).argmax()))
        return word.rstrip()
