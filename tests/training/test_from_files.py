"""A new run from files: what is counted, chosen and refused before anything is trained."""

import resource
import shutil
from dataclasses import replace

import pytest
import torch

from regard.config import Run, TrainingSettings, TransformerSettings
from regard.config.kind import SizeOption
from regard.config.settings import resolved
from regard.corpus.grammar import sample
from regard.corpus.pairs import CleaningReport, Pair
from regard.errors import InputError
from regard.folder import save_weights
from regard.tasks import KINDS, find_task
from regard.tasks.text.size import SizeEstimate, SizeSearch, dropout
from regard.tasks.text.task import TextCorpus
from regard.tasks.translation.validation import TranslationResult
from regard.training.run import train_from_files
from regard.training.run_files import check_disk
from regard.training.task import TrainRequest

TASK = find_task("transformer")
SMALL = {
    "languages": "en-fr",
    "model": {
        "kind": "transformer",
        "dim": 16,
        "num_heads": 2,
        "ff": 16,
        "num_encoder_layers": 1,
        "num_decoder_layers": 1,
    },
    "text": {"unit": "word"},
    "training": {"precision": "fp32", "threads": 1, "steps": 2, "tensorboard": False},
}


class Lines:
    """A reporter that keeps what is said."""

    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)

    def update(self, share, seconds_left, figures):
        pass

    def close(self):
        pass


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    rows = [f"{p.source}\t{p.target}\tsomebody" for p in sample("train", 30, max_words=8)]
    path.write_text("\n".join([*rows, "so " * 60 + "\t" + "si " * 60]) + "\n")
    return path


def given(**sections):
    return {**SMALL, **{name: {**SMALL[name], **values} for name, values in sections.items()}}


def test_sentences_of_too_many_tokens_are_in_the_table(pairs, tmp_path):
    """The numbers of the table and of metrics.json agree."""
    said = Lines()
    settings = given(model={"max_length": 40})
    train_from_files(TASK, TrainRequest([pairs], tmp_path / "m", [pairs], settings, "tiny"), said)
    table = next(line for line in said.lines if "to learn from" in line)
    rows = [" ".join(line.split()) for line in table.split("\n")]
    assert {"read 31", "kept 30", "to learn from 30"} <= set(rows)
    assert any(row.startswith("more tokens than model.max_length 1 “so so") for row in rows)
    assert any("--cleaning.truncate" in line for line in said.lines)
    assert '"train_sentences": 30' in (tmp_path / "m" / "metrics.json").read_text()


def test_sentences_can_be_cut(pairs):
    run = resolved(
        {**given(model={"max_length": 40}), "cleaning": {"truncate": True}}, "tiny", KINDS
    )
    texts = TASK.read_corpus([pairs], [pairs], run)
    prepared = TASK.encode_corpus(texts, run)
    assert len(prepared.train) == 31 and max(prepared.train.lengths_tgt) == 40
    assert ("cut to model.max_length tokens", 1, "") in texts.report.rows()


def test_the_longest_sentence_of_the_corpus(pairs):
    run = resolved(given(model={"max_length": "corpus"}), "tiny", KINDS)
    prepared = TASK.encode_corpus(TASK.read_corpus([pairs], [pairs], run), run)
    assert prepared.run.model.max_length == 61 and len(prepared.train) == 31


def test_a_word_too_long_is_dropped_and_counted(pairs):
    """SentencePiece's trainer used to abort the process on such a line."""
    with pairs.open("a") as file:
        file.write("x" * 70_000 + "\tune phrase\n")
    run = resolved(given(text={"unit": "bpe", "vocab_size": 300}), "tiny", KINDS)
    texts = TASK.read_corpus([pairs], [pairs], run)
    assert ("with too long a word", 1, f"{pairs}:32") in texts.report.rows()
    everything = {
        **given(text={"unit": "bpe", "vocab_size": 300}),
        "cleaning": {"max_word_length": 0, "max_ratio": 0.0},
    }
    run = resolved(everything, "tiny", KINDS)
    assert (
        len(TASK.encode_corpus(TASK.read_corpus([pairs], [pairs], run), run).tokenizers.source)
        <= 300
    )


def test_a_folder_that_cannot_be_written_to(tmp_path):
    run = resolved(SMALL, "tiny", KINDS)
    check_disk(tmp_path / "new" / "model", run, TASK)
    many = shutil.disk_usage(tmp_path).free // 10_000  # checkpoints, each larger than that
    with pytest.raises(InputError, match="MB are free there"):
        run = resolved(given(training={"keep": many}), "tiny", KINDS)
        check_disk(tmp_path / "model", run, TASK)


def test_a_disk_that_takes_no_more_is_one_sentence(tmp_path):
    """A limit on the size of files stands for the end of the disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(InputError, match="the weights cannot be written"):
            save_weights(tmp_path / "x.safetensors", {"x": torch.zeros(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


def texts_of(count):
    pairs = [Pair(p.source, p.target) for p in sample("train", 60, max_words=8)]
    many = [pairs[n % 60] for n in range(count)]
    return TextCorpus(many, pairs[:4], CleaningReport())


def test_the_size_follows_the_corpus_and_the_budget():
    small = SizeSearch(TASK, texts_of(600), given()).choose(None)
    assert small.preset == "tiny" and small.run.training.batch_tokens < 2048
    assert small.run.model.dim == 16  # what was given stays
    training = {"precision": "fp32", "threads": 1, "minutes": 60.0, "batch_tokens": 512}
    model = {"dim": 16, "num_heads": 2, "ff": 32}
    settings = {**given(), "model": model, "training": training}
    search = SizeSearch(TASK, texts_of(20_000), settings)
    short, long = search.choose(1.0), search.choose(1e6)
    assert short.line.startswith("tiny: ") and long.line.startswith("tiny with 4+4 layers: ")
    assert short.run.model.num_encoder_layers == 2 and long.run.model.num_encoder_layers == 4
    assert short.run.model.dropout == 0.0 and long.run.model.dropout == 0.3
    assert "4+4 layers would make" in short.line and "updates" in short.line
    assert long.line.endswith(
        "Dropout 0.3, batches of 512 tokens, Muon at 0.004, weight decay 0.1."
    )
    assert short.run.training.weight_decay == 0.0 and short.line.endswith("Muon at 0.002.")
    assert long.run.training.minutes == 60.0 and long.run.training.epochs is None
    assert short.run.training.optimizer == long.run.training.optimizer == "muon"
    many = SizeSearch(TASK, texts_of(100_000), settings)
    assert many.choose(1e6).preset == "small"


def test_a_preset_too_large_for_the_budget_is_warned_of():
    search = SizeSearch(TASK, texts_of(600), given())
    chosen = search.estimate("small", vocabulary=False)
    assert "tiny would make" in search.warning("small", chosen.seconds)
    assert search.warning("small", 100 * chosen.seconds * chosen.epoch_updates) is None


def test_estimates():
    run = Run(model=TransformerSettings(), training=TrainingSettings(steps=1))
    option = SizeOption("small", "small", updates=2_000, per_weight=3)
    one = SizeEstimate(option, run, 0.5, 100.0, 10_000.0, 50_000)
    assert one.updates(60) == 120 and one.epochs(60) == 1.2
    assert not one.fits(60) and one.fits(1100) and not one.fits(900)
    assert not replace(one, weights=100_000).fits(1100)  # it sees too few tokens for its weights
    assert [dropout(e, 29_000, 256) for e in (1, 5, 30)] == [0.0, 0.1, 0.3]


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        (
            TranslationResult(3.79, 44, 0.3, 0.6, 12.0),
            TranslationResult(3.38, 29, 0.3, 0.4, 11.0),
        ),  # BLEU says nothing yet
        (TranslationResult(3.0, 20, 0.4, 4.9, 20.0), TranslationResult(3.1, 22, 0.4, 5.1, 21.0)),
        (TranslationResult(1.9, 6, 0.5, 20.0, 40.0), TranslationResult(2.0, 7, 0.5, 19.0, 41.0)),
        (TranslationResult(2.0, 7, 0.5), TranslationResult(1.9, 6, 0.5)),
    ],
)
def test_what_is_kept_as_best(worse, better):
    assert better.goodness > worse.goodness
