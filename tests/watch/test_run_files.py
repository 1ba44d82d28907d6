"""What a run's folder tells: additions to its files, its status, its settings."""

import json
import os
import platform

import pytest

from regard.training.logs.samples import spread_rows
from regard.training.logs.status import StatusFile
from regard.training.report import Log
from regard.watch.run_files import Cursor, describe_run, read_addition, read_status
from trained import taught, trained


def test_a_file_is_read_where_it_has_grown(tmp_path):
    path = tmp_path / "rows.jsonl"
    assert read_addition(path, Cursor()).rows == []
    path.write_text('{"step": 1}\n{"step": 2, "loss": NaN}\nnonsense\n[3]\n{"step"', "utf-8")
    first = read_addition(path, Cursor())
    assert first.rows == [{"step": 1}, {"step": 2, "loss": None}]
    assert first.whole and not first.has_more
    assert read_addition(path, first.cursor).rows == []
    with path.open("a", encoding="utf-8") as file:
        file.write(': 4, "word": "猫"}\n')
    second = read_addition(path, first.cursor)
    assert second.rows == [{"step": 4, "word": "猫"}]
    assert not second.whole


def test_a_resumed_run_begins_anew(tmp_path):
    for step in (0, 2):  # the second time, after update 2
        log = Log(tmp_path, tensorboard=False, step=step)
        if not step:
            for number in (1, 2, 3):
                log.write(number, {"loss": 1.0})
            before = read_addition(tmp_path / "metrics.jsonl", Cursor())
        log.close()
    after = read_addition(tmp_path / "metrics.jsonl", before.cursor)
    assert after.whole
    assert [row["step"] for row in after.rows] == [1, 2]


@pytest.mark.parametrize("ended", ["finished", "stopped", "failed"])
def test_how_a_run_stands(tmp_path, ended):
    assert read_status(tmp_path)["state"] == "waiting"
    try:
        with StatusFile(tmp_path) as status:
            assert read_status(tmp_path)["state"] == "running"
            if ended == "failed":
                raise ValueError("the disk\nis full.")
            status.finished = ended == "finished"
    except ValueError:
        pass
    found = read_status(tmp_path)
    assert (found["state"], found["reason"]) == (
        ended,
        "the disk is full." if ended == "failed" else None,
    )


def test_a_killed_run_is_told_from_a_running_one(tmp_path):
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    for host, state in ((platform.node(), "lost"), ("another machine", "running")):
        status = {"state": "running", "pid": child, "host": host}
        (tmp_path / "status.json").write_text(json.dumps(status))
        assert read_status(tmp_path)["state"] == state


def test_settings_of_a_run(tmp_path, tmp_path_factory):
    about = describe_run(trained("en-zh", tmp_path_factory))
    assert (about["kind"], about["source"], about["target"]) == ("transformer", "en", "zh")
    assert about["size"]["dim"] == 48
    assert describe_run(tmp_path) == {}
    for broken in ("[", "- a", "model: 3\nlanguages: 4"):
        (tmp_path / "config.yaml").write_text(broken)
        assert describe_run(tmp_path).get("size", {}) == {}


@pytest.mark.parametrize("name", ["en-fr", "en-zh", "rnn"])
def test_samples_are_translations_with_links(name, tmp_path_factory):
    folder = trained(name, tmp_path_factory)
    row = json.loads((folder / "samples.jsonl").read_text("utf-8").splitlines()[-1])
    samples, pairs = row["samples"], dict(taught(name))
    assert row["step"] > 0 and row["seconds"] > 0
    assert len(samples) == 12
    assert [len(s["source"].split()) for s in samples[::11]] == sorted(
        len(s["source"].split()) for s in samples[::11]
    )
    for sample in samples:
        assert sample["reference"] == pairs[sample["source"]]
        assert len(sample["confidence"]) == len(sample["words"])
        for source, target in sample["links"]:
            assert 0 <= source < len(sample["source_words"])
            assert 0 <= target < len(sample["words"])
    if name == "en-fr":  # which it knows by heart
        learned = [sample for sample in samples if sample["output"] == sample["reference"]]
        assert len(learned) > 6
        assert all(sample["score"] == 100 for sample in learned)
        assert sum(len(sample["links"]) for sample in learned) > 2 * len(learned)


def test_samples_of_other_kinds(tmp_path_factory):
    folder = trained("lm", tmp_path_factory)
    row = json.loads((folder / "samples.jsonl").read_text("utf-8").splitlines()[-1])
    for sample in row["samples"]:
        assert sample["reference"].startswith(sample["source"])
        assert sample["output"] and not sample["links"]
    assert not (trained("mlm", tmp_path_factory) / "samples.jsonl").exists()


def test_samples_are_of_all_lengths():
    rows = spread_rows(list(range(100)), count=5)
    assert rows == [0, 10, 20, 30, 40]
    assert spread_rows([90, 80]) == [1]
    assert spread_rows([]) == []
