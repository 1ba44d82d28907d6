"""The loop, in this process: accumulation, averaging, early stopping, figures, budgets."""

import json
from dataclasses import replace

import pytest
import torch

from regard.config import Run, TrainingSettings, TransformerSettings
from regard.corpus.pairs import Pair
from regard.errors import InputError
from regard.folder import Tokenizers, load_weights
from regard.tasks import build, find_task
from regard.tasks.text.encoded_corpus import EncodedCorpus
from regard.tasks.translation.task import encode_pairs
from regard.tasks.translation.validation import TranslationDevelopmentSet, greedy_texts
from regard.text.vocabulary import train_words
from regard.training.checkpoint import read_checkpoint, read_weights, steps, write_checkpoint
from regard.training.loop import Trainer
from regard.training.run import describe
from regard.training.task import TrainData
from regard.worker_pool import WorkerPool

LETTERS = list("abcdefgh")
PAIRS = [
    Pair(" ".join(row), " ".join(row[::-1]))
    for row in ([LETTERS[(start + n) % 8] for n in range(3 + start % 2)] for start in range(16))
]
MODEL = TransformerSettings(
    dim=16, num_heads=2, ff=32, num_encoder_layers=1, num_decoder_layers=1, dropout=0
)
BASE = TrainingSettings(
    steps=4,
    precision="fp32",
    threads=1,
    tensorboard=False,
    average="none",
    label_smoothing=0.0,
    clip=0.0,
    warmup=0,
    schedule="constant",
)


def trainer(folder=None, max_tokens=2000, shown=0, model=MODEL, validated=True, **settings):
    one = train_words([pair.source for pair in PAIRS], None, "en")
    tokenizers = Tokenizers(one, one)
    sources, targets, _ = encode_pairs(PAIRS, tokenizers, 64)
    torch.manual_seed(0)
    run = Run(model=model, training=replace(BASE, **settings))
    corpus = EncodedCorpus(sources, targets, max_tokens, 0)
    dev = EncodedCorpus(sources, targets, 2000, 0)
    dev = TranslationDevelopmentSet(dev, PAIRS, shown, tokenizers, "") if validated else None
    data = TrainData(run, corpus, dev, tokenizers)
    return Trainer(find_task(model.kind), build(model, len(one), len(one)), data, folder)


def weights(network):
    return [parameter.detach().clone() for parameter in network.parameters()]


def test_it_learns_to_turn_words_round():
    made = trainer(steps=120, learning_rate=1e-2, schedule="linear", shown=16)
    outcome = made.train()
    assert outcome.finished and outcome.step == 120
    assert outcome.validation["bleu"] == pytest.approx(100)
    assert outcome.validation["accuracy"] == 1
    assert outcome.tokens_per_second > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_accumulated_batches_are_one_larger_batch(threads):
    """By their gradients: Adam makes full steps of rounding where a gradient is zero."""
    whole = trainer(steps=1, label_smoothing=0.1, validated=False)
    assert len(whole.data.train.epoch(0)) == 1
    parts = trainer(
        max_tokens=90, steps=1, label_smoothing=0.1, validated=False, threads=threads, accumulate=2
    )
    assert len(parts.data.train.epoch(0)) == 2
    whole.train()
    parts.train()
    assert parts.data.train.epochs_done(parts.state.cursor) == 1
    for one, other in zip(whole.updater.parameters, parts.updater.parameters, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-6)


def test_the_same_seed_the_same_weights_another_seed_others():
    dropping = replace(MODEL, dropout=0.2, attention_dropout=0.1, activation_dropout=0.1)
    found = []
    for seed in (0, 0, 1):
        made = trainer(model=dropping, seed=seed, threads=2, validated=False, max_tokens=90)
        made.train()
        found.append(weights(made.network))
    assert all(torch.equal(a, b) for a, b in zip(found[0], found[1], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(found[0], found[2], strict=True))


def test_gradients_are_clipped():
    made = trainer(steps=1, clip=1e-9, learning_rate=0.1, optimizer="adam", validated=False)
    before = weights(made.network)
    made.train()
    after = weights(made.network)
    norm = sum(float(p.grad.square().sum()) for p in made.updater.parameters) ** 0.5
    assert norm == pytest.approx(1e-9, rel=1e-3)
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_it_stops_early_when_nothing_gets_better():
    made = trainer(steps=50, learning_rate=0.0, validate_every=2, patience=2)
    outcome = made.train()
    assert outcome.finished
    assert outcome.step == 6  # the first look is the best, then two are not better


def test_without_patience_it_goes_on():
    assert trainer(steps=8, learning_rate=0.0, validate_every=2).train().step == 8


def test_epochs_and_steps_end_a_run_whichever_is_first():
    assert trainer(max_tokens=90, steps=None, epochs=1.5).train().epochs == 1.5
    assert trainer(max_tokens=90, steps=100, epochs=2.0).train().step == 4


def test_figures_in_files(tmp_path):
    outcome = trainer(tmp_path, steps=4, validate_every=2, shown=4, tensorboard=True).train()
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "dev_loss" in line] == [2, 4]
    assert {"loss", "norm", "rate", "tokens_per_second", "seconds"} <= set(lines[0])
    assert {"dev_bleu", "dev_chrf", "dev_perplexity"} <= set(lines[-1])
    (events,) = (tmp_path / "tensorboard").glob("events*")
    assert b"dev_loss" in events.read_bytes()
    assert outcome.validation["step"] in (2, 4)


def test_figures_are_those_of_the_weights_that_are_kept(tmp_path):
    """With a rate that spoils them, the best weights are not the last, nor are their figures."""
    made = trainer(tmp_path, steps=30, learning_rate=0.3, validate_every=3)
    outcome = made.train()
    looks = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    found = {line["step"]: line["dev_loss"] for line in looks if "dev_loss" in line}
    assert outcome.validation["loss"] == min(found.values())
    kept = load_weights(tmp_path / "model.safetensors")
    for name, weight in made.network.state_dict().items():
        if name in kept:
            assert torch.equal(weight, kept[name])


def test_checkpoints_are_averaged(tmp_path):
    made = trainer(
        tmp_path,
        steps=6,
        validate_every=1,
        average="checkpoints",
        average_last=3,
        learning_rate=1e-2,
    )
    made.train()
    assert steps(tmp_path) == [4, 5, 6]
    files = read_weights(tmp_path, 3)
    assert len(files) == 3
    with made.averaging.averaged():
        for name, parameter in made.network.named_parameters():
            mean = sum(file[name].double() for file in files) / 3
            torch.testing.assert_close(parameter.double(), mean, rtol=1e-6, atol=1e-7)


def test_the_remaining_minutes_go_on(tmp_path):
    first = trainer(tmp_path, steps=2, minutes=10.0)
    assert first.train().seconds < 500
    tensors, state = read_checkpoint(tmp_path)
    late = {**state, "seconds": 589.8}  # of 600; ten are for the end
    write_checkpoint(tmp_path, 2, tensors, late, keep=1)
    again = trainer(tmp_path, steps=None, minutes=10.0)
    assert again.resume(tmp_path)
    assert again.state.seconds == 589.8
    outcome = again.train()
    assert outcome.finished and outcome.step > 2
    assert 590 <= outcome.seconds < 660


@pytest.fixture
def checkpoints(tmp_path):
    for step in (1, 2):
        write_checkpoint(tmp_path, step, {"x": torch.full((3,), float(step))}, {"a": step}, keep=2)
    return tmp_path


def test_only_the_newest_checkpoints_stay(checkpoints):
    write_checkpoint(checkpoints, 3, {"x": torch.zeros(1)}, {}, keep=2)
    assert steps(checkpoints) == [2, 3]
    assert (checkpoints / "latest").read_text() == "step-3\n"
    assert not list((checkpoints / "checkpoints").glob(".*"))


@pytest.mark.parametrize("harm", ["flipped", "short", "no tensors", "no state", "gone"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(checkpoints, harm):
    home = checkpoints / "checkpoints" / "step-2"
    tensors, state = home / "tensors.safetensors", home / "state.json"
    if harm == "flipped":
        data = bytearray(tensors.read_bytes())
        data[-1] ^= 1
        tensors.write_bytes(data)
    elif harm == "short":
        tensors.write_bytes(tensors.read_bytes()[:-2])
    elif harm == "no tensors":
        tensors.unlink()
    elif harm == "no state":
        state.write_text("{")
    else:
        tensors.unlink()
        state.unlink()
        home.rmdir()
    found, state = read_checkpoint(checkpoints)
    assert state["step"] == 1
    assert found["x"].tolist() == [1, 1, 1]


def test_no_whole_checkpoint_is_an_error_and_none_yet_is_not(checkpoints, tmp_path):
    for number in (1, 2):
        (checkpoints / "checkpoints" / f"step-{number}" / "tensors.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match="all checkpoints are damaged"):
        read_checkpoint(checkpoints)
    assert read_checkpoint(tmp_path / "elsewhere") is None


def test_a_kill_while_a_step_is_written_again_loses_nothing(checkpoints):
    """The old one of the same step is gone and the new one has not got its name yet."""
    home = checkpoints / "checkpoints"
    (home / "step-2").rename(home / ".step-2.123.part")
    assert read_checkpoint(checkpoints)[1]["step"] == 2
    write_checkpoint(checkpoints, 3, {"x": torch.zeros(1)}, {}, keep=2)
    assert not list(home.glob(".*"))


def test_a_model_without_a_development_set_is_kept(tmp_path):
    made = trainer(tmp_path, validated=False)
    outcome = made.train()
    assert (tmp_path / "model.safetensors").is_file()
    metrics = describe(made, tmp_path, outcome)
    assert metrics["steps"] == 4 and metrics["dev"] == {}
    assert "| updates | 4" in (tmp_path / "README.md").read_text()


def test_it_stops_at_the_target(tmp_path):
    made = trainer(
        tmp_path, steps=400, learning_rate=1e-2, validate_every=10, target_exact_match=0.9
    )
    outcome = made.train()
    assert outcome.finished and outcome.step < 400
    assert outcome.validation["step"] == outcome.step  # what is kept is what met the target
    assert outcome.validation["exact"] >= 0.9
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    shares = {line["step"]: line["dev_exact"] for line in lines if "dev_exact" in line}
    assert [step for step, share in shares.items() if share >= 0.9] == [outcome.step]
    assert list(shares) == list(range(10, outcome.step + 1, 10))


def test_it_stops_at_the_target_when_the_learning_rate_has_decayed(tmp_path):
    made = trainer(
        tmp_path,
        steps=400,
        schedule_steps=120,
        learning_rate=1e-2,
        schedule="linear",
        validate_every=10,
        target_exact_match=0.5,
    )
    assert made.train().step == 120
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert sum(line.get("dev_exact", 0) >= 0.5 for line in lines) > 1


def test_exact_is_what_greedy_search_writes():
    made = trainer(steps=25, learning_rate=1e-2)
    exact = made.train().validation["exact"]
    sources = [pair.source for pair in PAIRS]
    with WorkerPool(1) as pool:
        texts = greedy_texts(made.network, sources, made.data.tokenizers, made.updater.device, pool)
    assert exact == sum(t == pair.target for t, pair in zip(texts, PAIRS, strict=True)) / 16
    assert 0 < exact < 1


def test_the_schedule_ends_before_the_run():
    made = trainer(
        steps=20, schedule="linear", schedule_steps=10, restart_rate=0.1, validated=False
    )
    made.train()
    assert made.learning_rate() == pytest.approx(0.1 * made.settings.learning_rate)
    made = trainer(steps=5, schedule="linear", schedule_steps=10, validated=False)  # cut short
    made.train()
    assert made.learning_rate() == 0
