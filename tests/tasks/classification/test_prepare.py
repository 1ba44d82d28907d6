"""A classifier's data: labels keep the given order, channels are matched by name."""

import json
from dataclasses import replace

import numpy as np
import pytest

from regard.config import ClassifierSettings, Run, TrainingSettings
from regard.errors import InputError
from regard.tasks.classification.task import LabeledData, prepare_examples, prepare_files

RUN = Run(
    model=ClassifierSettings(dim=8, num_heads=2, ff=8, num_layers=1),
    training=TrainingSettings(steps=1),
)
LABELS = ["no", "yes"] * 6


def series(channels, labels=LABELS, seed=0):
    """Series in which every channel holds the number of its letter."""
    length = np.random.default_rng(seed).integers(3, 9, len(labels))
    rows = [np.array([[ord(name[-1])] * n for name in channels], np.float32) for n in length]
    return LabeledData(rows, labels, tuple(channels))


def prepared(train, dev, **model):
    run = replace(RUN, model=replace(RUN.model, **model))
    return prepare_examples(train, dev, run, "train.npz", "dev.npz")


def test_the_users_labels_keep_their_order_and_may_be_unseen():
    wanted = ("yes", "perhaps", "no")
    dev = series("ab", ["perhaps", "yes"])
    data = prepared(series("ab"), dev, labels=wanted)
    assert data.run.model.labels == wanted
    assert data.train.labels == [2, 0] * 6
    assert data.dev.examples.labels == [1, 0]
    assert prepared(series("ab"), series("ab")).run.model.labels == ("no", "yes")


def test_labels_that_are_not_known_are_named_with_their_place():
    with pytest.raises(
        InputError,
        match=r"^dev\.npz: the label 'perhaps' is not among those .*"
        r"\(train\.npz\); add examples of it, or take it out\.$",
    ):
        prepared(series("ab"), series("ab", ["perhaps"]))
    with pytest.raises(InputError, match=r"^the development set: the label 'perhaps'"):
        prepare_examples(series("ab"), series("ab", ["perhaps"]), RUN, "here")
    with pytest.raises(InputError, match=r"model\.labels does not name no, which the files have"):
        prepared(series("ab"), series("ab"), labels=("yes", "perhaps"))


def test_a_development_set_in_another_order_is_put_right():
    data = prepared(series(["Ca", "Cb", "Cc"]), series(["Cc", "Ca", "Cb"]))
    assert data.run.model.channels == ("Ca", "Cb", "Cc")
    for part in (data.train, data.dev.examples):
        assert all(row[:, 0].tolist() == [ord(c) for c in "abc"] for row in part.rows)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ("abd", r"dev\.npz: there is no channel 'c' among its channels \(a, b, d\)"),
        ("ab", "there is no channel 'c'"),
        ("abcd", "the channel 'd' is not one of those known"),
        (["ch0", "ch1"], "it has 2 channels, but what is learned from has 3"),
        ("", "it holds text, but series is learned"),
    ],
)
def test_a_development_set_of_other_channels_is_refused(own, message):
    dev = series(own) if own else LabeledData(["a b"] * 12, LABELS)
    with pytest.raises(InputError, match=message):
        prepared(series("abc"), dev)


def test_channels_without_names_are_taken_as_they_stand():
    bare = series(["ch0", "ch1"])
    assert prepared(series("ab"), bare).dev.examples.rows[0][:, 0].tolist() == [48, 49]
    assert prepared(bare, series("ba")).dev.examples.rows[0][:, 0].tolist() == [98, 97]


def test_files_to_learn_from_may_differ_in_order_too(tmp_path):
    one, other = tmp_path / "one.npz", tmp_path / "other.jsonl"
    x = np.random.default_rng(0).standard_normal((12, 2, 5)).astype(np.float32)
    np.savez(one, x=x, y=np.arange(12) % 2)  # no names
    lines = [{"channels": ["Cz", "Fz"]}]
    lines += [{"label": n % 2, "series": (x[n] + 9).tolist()} for n in range(12)]
    other.write_text("\n".join(map(json.dumps, lines)))
    third = tmp_path / "third.npz"
    np.savez(third, x=x[:, ::-1] + 20, y=np.arange(12) % 2, channels=np.array(["Fz", "Cz"]))
    data = prepare_files([one, other, third], [one], RUN)
    assert data.run.model.channels == ("Cz", "Fz")
    rows = np.stack(data.train.rows)
    np.testing.assert_allclose(rows, np.concatenate([x, x + 9, x + 20]), rtol=1e-6)


def test_batches_hold_every_example_once():
    batches = prepared(series("ab"), series("ab")).train
    assert sorted(n for rows in batches.epoch(3) for n in rows) == list(range(12))
    assert sum(len(batch.labels) for batch in batches.every()) == 12
