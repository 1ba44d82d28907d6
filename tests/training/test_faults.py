"""Faults of disk, data and numbers: each is one sentence, and nothing that was saved is lost."""

import math
import resource
import shutil
import signal
from dataclasses import replace

import pytest
import torch

from regard.config import Run, TrainingSettings, TransformerSettings
from regard.corpus.pairs import Pair
from regard.errors import InputError, StorageError
from regard.folder import Tokenizers
from regard.formats import read_lines, read_pairs
from regard.tasks import build, find_task
from regard.tasks.text.encoded_corpus import EncodedCorpus, TextDevelopmentSet
from regard.tasks.translation.task import encode_pairs
from regard.text.vocabulary import train_words
from regard.training.checkpoint import read_checkpoint, read_weights, steps, write_checkpoint
from regard.training.loop import Trainer
from regard.training.optimizers.nonfinite import LIMIT
from regard.training.report import Log
from regard.training.task import TrainData

PAIRS = [Pair(f"a b {word}", f"{word} b a") for word in "cdefghijklmnopqr"]
MODEL = TransformerSettings(
    dim=16, num_heads=2, ff=32, num_encoder_layers=1, num_decoder_layers=1, dropout=0.1
)
BASE = TrainingSettings(
    steps=12,
    precision="fp32",
    threads=1,
    tensorboard=False,
    checkpoint_minutes=0,
    validate_every=5,
    keep=3,
)


class Lines:
    """A reporter that keeps what is said, and calls `after` with the number of each update."""

    def __init__(self, after=lambda step: None):
        self.lines, self.after = [], after

    def say(self, line):
        self.lines.append(line)

    def update(self, share, seconds_left, figures):
        self.after(figures["step"])

    def close(self):
        pass


class Faulty(type(find_task("transformer"))):
    """Translation whose loss is NaN in batches that contain a token."""

    def __init__(self, token):
        super().__init__(find_task("transformer").kind)
        self.token = token

    def objective(self, run, network, batch, scale):
        loss = super().objective(run, network, batch, scale)
        return loss * math.nan if bool((batch.labels == self.token).any()) else loss


def trainer(folder=None, reporter=None, bad=None, **settings):
    one = train_words([pair.source for pair in PAIRS], None, "en")
    tokenizers = Tokenizers(one, one)
    sources, targets, _ = encode_pairs(PAIRS, tokenizers, 64)
    torch.manual_seed(0)
    run = Run(model=MODEL, training=replace(BASE, **settings))
    corpus = EncodedCorpus(sources, targets, 24, 0)
    dev = TextDevelopmentSet(EncodedCorpus(sources, targets, 2000, 0))
    task = Faulty(one.encode(bad)[0]) if bad else find_task("transformer")
    data = TrainData(run, corpus, dev, tokenizers)
    return Trainer(task, build(MODEL, len(one), len(one)), data, folder, reporter)


def tensors_of(made):
    return [parameter.detach().clone() for parameter in made.network.parameters()]


def test_a_batch_with_a_nan_loss_is_skipped(tmp_path):
    said = Lines()
    made = trainer(tmp_path, said, bad="c", average="none")
    assert made.train().finished
    state = made.state
    epoch_updates = len(made.data.train.epoch(0))
    assert 1 <= state.num_skipped <= 1 + 12 // epoch_updates
    skipped = [line for line in said.lines if "is skipped" in line]
    assert len(skipped) == state.num_skipped and "loss or gradient is not finite" in skipped[0]
    assert 0 < state.rate_factor < 1
    assert all(torch.isfinite(weight).all() for weight in tensors_of(made))
    assert "NaN" not in (tmp_path / "metrics.jsonl").read_text()


def test_a_resumed_run_skips_the_same_updates(tmp_path):
    """The state of the guard is in the checkpoint."""
    for name in ("parts", "whole"):
        (tmp_path / name).mkdir()
    for until in (3, 7, 12):
        said = Lines()
        part = trainer(tmp_path / "parts", said, bad="c")
        part.resume(tmp_path / "parts")
        request = part.interruption
        said.after = lambda step, until=until, request=request: setattr(
            request, "requested", step >= until
        )
        part.train()
    whole = trainer(tmp_path / "whole", bad="c")
    whole.train()
    assert whole.state.num_skipped == part.state.num_skipped > 0
    assert whole.state.rate_factor == part.state.rate_factor
    one, other = (read_checkpoint(tmp_path / name)[0] for name in ("parts", "whole"))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_diverged_run_stops_and_keeps_what_was_good(tmp_path):
    said = Lines()
    made = trainer(tmp_path, said, steps=40, learning_rate=1e30, warmup=0, clip=0.0)
    with pytest.raises(InputError, match=rf"not finite in {LIMIT} updates in a row") as raised:
        made.train()
    sentence = str(raised.value)
    assert sentence.endswith("`.") and "--training.learning_rate 2.5e+29" in sentence
    assert len([line for line in said.lines if "is skipped" in line]) == LIMIT
    last = steps(tmp_path)[-1]
    assert f"up to update {last} the run is saved" in sentence
    assert last == made.state.step - LIMIT  # nothing was saved after the first NaN


def test_a_full_disk_is_one_sentence_and_the_run_goes_on(tmp_path):
    """A limit on the size of files stands for the end of the disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(step):
        if step == 7:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))

    (tmp_path / "config.yaml").write_text("")
    try:
        with pytest.raises(StorageError) as raised:
            trainer(tmp_path, Lines(fill)).train()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    sentence = str(raised.value)
    assert sentence.startswith(f"{tmp_path}: the run cannot be written (file too large); up to ")
    assert "up to update 6 it is saved" in sentence and "train --resume" in sentence
    assert steps(tmp_path) == [4, 5, 6]
    assert not list((tmp_path / "checkpoints").glob(".*"))
    resumed = trainer(tmp_path)
    assert resumed.resume(tmp_path) and resumed.state.step == 6
    (tmp_path / "whole").mkdir()
    whole = trainer(tmp_path / "whole")
    for made in (resumed, whole):
        assert made.train().finished
    for one, other in zip(tensors_of(resumed), tensors_of(whole), strict=True):
        assert torch.equal(one, other)


def test_curves_that_cannot_be_written_do_not_end_a_run(tmp_path):
    said, limits = Lines(), resource.getrlimit(resource.RLIMIT_FSIZE)
    log = Log(tmp_path, False, 0, said.say)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        for step in range(3):
            log.write(step, {"loss": 1.0})
        log.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert said.lines == ["Figures of the run cannot be written now (File too large)."]


@pytest.fixture
def saved(tmp_path):
    for step in (1, 2, 3):
        tensors = {"model.x": torch.full((3,), float(step))}
        write_checkpoint(tmp_path, step, tensors, {"a": step}, keep=3)
    return tmp_path


def test_a_damaged_checkpoint_is_reported_once(saved):
    said = Lines()
    file = saved / "checkpoints" / "step-3" / "tensors.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    _, state = read_checkpoint(saved, said.say)
    assert state["step"] == 2
    (line,) = said.lines
    assert line.endswith("the run goes back to step-2, the newest that is whole.")
    assert [weights["x"][0] for weights in read_weights(saved, 2)] == [2]  # not the damaged one
    write_checkpoint(saved, 2, {"model.x": torch.zeros(3)}, {}, keep=3)
    assert steps(saved) == [1, 2]  # else the damaged one would be the newest for ever


def test_a_missing_pointer_to_the_newest_checkpoint(saved):
    (saved / "latest").unlink()
    assert read_checkpoint(saved)[1]["step"] == 3
    shutil.rmtree(saved / "checkpoints")
    assert read_checkpoint(saved) is None


@pytest.mark.parametrize("change", ["grows", "shrinks"])
def test_a_corpus_that_changes_while_it_is_read(tmp_path, change):
    path = tmp_path / "pairs.tsv"
    path.write_text("a cat\tun chat\n" * 50_000)
    pairs = read_pairs(path)
    next(pairs)
    with path.open("r+") as file:
        if change == "grows":
            file.seek(0, 2)
            file.write("a dog\tun ch")
        else:
            file.truncate(400_000)
    with pytest.raises(InputError, match=r"pairs.tsv: the file changed while it was read"):
        list(pairs)


def test_a_corpus_that_vanishes_while_it_is_read(tmp_path):
    """What is open stays readable; text to be translated may grow."""
    path = tmp_path / "pairs.tsv"
    path.write_text("a cat\tun chat\n" * 50_000)
    pairs, lines = read_pairs(path), read_lines(path, unchanging=False)
    next(pairs), next(lines)
    path.unlink()
    assert len(list(pairs)) == 49_999
    path.write_text("a")
    assert len(list(lines)) == 49_999
    path.unlink()
    with pytest.raises(InputError, match="there is no such file"):
        list(read_pairs(path))


def test_a_second_sigterm_is_no_second_request():
    """It may come to the group of processes and to each of them."""
    made = trainer(Lines())
    with made.interruption:
        for _ in range(2):
            signal.raise_signal(signal.SIGTERM)
        assert made.interruption.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
