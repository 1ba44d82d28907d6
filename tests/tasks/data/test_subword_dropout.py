"""BPE-dropout: the same sentences in other pieces, the same for a seed, kept over a restart."""

import pytest

import regard
from regard.cli import main
from regard.config import Run, TextSettings
from regard.corpus.pairs import CleaningReport, Pair
from regard.errors import InputError
from regard.tasks import KINDS, load_run
from regard.tasks.text.subword_dropout import NUM_SEGMENTATIONS
from regard.tasks.text.task import TextCorpus
from trained import LAYERS, SMALL, write_corpus

TEXT = "the cat sleeps while animals cross every street because tired children wander"
WORDS = TEXT.split()
PAIRS = [
    Pair(" ".join(WORDS[n % 7 : n % 7 + 3 + n % 3]), " ".join(WORDS[n % 5 : n % 5 + 4]), ("<fr>",))
    for n in range(60)
]


def encoded(dropout):
    kind = KINDS["transformer"]
    run = Run("en-fr", text=TextSettings(vocab_size=330, subword_dropout=dropout))
    corpus = TextCorpus(PAIRS, PAIRS[:4], CleaningReport())
    return kind.task(kind).encode_corpus(corpus, run)


def test_every_segmentation_is_the_same_sentence():
    data = encoded(0.3)
    corpus, source = data.train, data.tokenizers.source
    assert len(corpus) == len(PAIRS) and len(corpus.targets) == NUM_SEGMENTATIONS * len(PAIRS)
    for n, row in enumerate(corpus.sources):
        assert source.decode(row) == PAIRS[n % len(PAIRS)].source
        assert row[0] == source.tags["<fr>"]
    plain = [row.tolist() for row in encoded(0.0).train.sources]
    assert [row.tolist() for row in corpus.sources[: len(PAIRS)]] == plain
    assert [row.tolist() for row in corpus.sources[len(PAIRS) : 2 * len(PAIRS)]] != plain
    assert [row.tolist() for row in encoded(0.3).train.sources] == [
        row.tolist() for row in corpus.sources
    ]


def test_an_epoch_has_each_sentence_once():
    corpus = encoded(0.3).train
    first, second = ([n for rows in corpus.cut(3, epoch) for n in rows] for epoch in (0, 1))
    for rows in first, second:
        assert sorted(row % len(PAIRS) for row in rows) == list(range(len(PAIRS)))
    assert sorted(first) != sorted(second)


def test_a_run_with_segmentations_is_resumed(tmp_path):
    """What was stored is what was trained on."""
    corpus, out = write_corpus("en-fr", tmp_path), tmp_path / "model"
    flags = f"{SMALL}{LAYERS}--text.vocab_size 330 --text.subword_dropout 0.3".split()
    assert main(["train", str(corpus), "--out", str(out), *flags, "--training.steps", "2"]) == 0
    kind, (run, tokenizers) = KINDS["transformer"], (load_run(out), regard.load(out).tokenizers)
    restored = kind.task(kind).restore(out, run, tokenizers).train
    rows = [row.tolist() for row in restored.sources]
    assert len(rows) == NUM_SEGMENTATIONS * len(restored)
    assert len({tokenizers.source.decode(row) for row in rows}) == len(restored)
    assert main(["train", "--resume", str(out), "--training.steps", "4"]) == 0


def test_what_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"set text\.unit to bpe"):
        TextSettings(unit="word", subword_dropout=0.1)
    with pytest.raises(InputError, match="subword_dropout"):
        TextSettings(subword_dropout=1.5)
