"""`python -m benchmarks decode`: its rows, and one race on a small model; it may miss its bar."""

import pytest

from benchmarks.decode.models import test_sentences as read_sentences
from benchmarks.decode.rows import measurements
from regard.errors import InputError
from trained import taught, trained


@pytest.fixture
def data(tmp_path):
    sources, targets = zip(*taught("en-fr"), strict=True)
    for side, lines in (("en", sources), ("de", targets)):
        path = tmp_path / f"test_2016_flickr.{side}"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(tmp_path)


def test_rows_have_the_bars():
    rows = {row.name: row.bar for row in measurements()}
    assert rows["translate plain over bare CTranslate2 int8, batch 64, greedy"] == 0.95
    assert rows["own engine over bare CTranslate2 fp32, batch 1, beam 5"] == 0.6
    assert rows["recurrent (Bahdanau): prepared over plain network, batch 64, beam 5"] == 3.0


def test_missing_data_is_named(tmp_path):
    with pytest.raises(InputError, match="--data"):
        read_sentences(None, 1)
    with pytest.raises(InputError, match="no such file"):
        read_sentences(str(tmp_path), 1)


def test_a_race_is_measured(data, tmp_path_factory):
    model = str(trained("en-fr", tmp_path_factory))
    rows = measurements(1, model=model, data=data, sentences=4)
    race = next(row for row in rows if "translate with links" in row.name)
    row = race()
    assert row.ours > 0 and row.peer > 0 and row.ratio == pytest.approx(row.ours / row.peer)
